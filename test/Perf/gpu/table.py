"""The page that run.py writes of its results."""


def copy_speed(record):
    """Bytes per second that a copy reads and writes."""
    return 2 * record["copy_bytes"] / max(record["times"]["copy"]["ms"] / 1e3, 1e-9)  # a simulated one takes no time


def figure(record, name):
    """TFLOP/s or GB/s of an operation in a record, and its share of the measured limit."""
    timed = record["times"].get(name)
    if not timed:
        return "-"
    seconds = timed["ms"] / 1e3
    wrong = " !" if name in record["wrong"] else ""
    copied = copy_speed(record)
    if name == "copy":
        return f"{copied / 1e9:,.0f} GB/s"
    if record["program"].endswith("decode") and name != "matmul":
        rate = record["bytes"] / seconds
        return f"{rate / 1e9:,.0f} GB/s ({100 * rate / copied:.0f} %){wrong}"
    done = 2 * record["matmul"] ** 3 if name == "matmul" else record["operations"]
    rate = done / seconds
    if "matmul" not in record["times"] or name == "matmul":
        return f"{rate / 1e12:,.1f}{wrong}"
    peak = 2 * record["matmul"] ** 3 / (record["times"]["matmul"]["ms"] / 1e3)
    return f"{rate / 1e12:,.1f} ({100 * rate / peak:.0f} %){wrong}"


def speed_table(program, records):
    """One program: a row for each operation, a column for each length."""
    records = sorted(records, key=lambda record: record["tokens"])
    names = list(dict.fromkeys(name for record in records for name in record["times"]))
    ordered = [name for name in names if name not in ("matmul", "copy")] + [name for name in ("matmul", "copy") if name in names]
    lines = [f"### {program}", "", "| tokens | " + " | ".join(str(record["tokens"]) for record in records) + " |", "|---|" + "---|" * len(records)]
    for name in ordered:
        label = f"{name} {records[0]['matmul']}^3" if name == "matmul" else name
        lines.append(f"| {label} | " + " | ".join(figure(record, name) for record in records) + " |")
    missing = {name: why for record in records for name, why in record["missing"].items()}
    lines += [""] + [f"- {name} does not run: {why}" for name, why in missing.items()]
    seen = [record["clocks"] for record in records if record["clocks"]]
    return lines + ([f"- SM and memory clocks, temperature, power: {'; '.join(seen)}"] if seen else []) + [""]


def decode_table(results):
    """A row for each model and architecture. Every step reads the weights."""
    copies = [copy_speed(record) for record in results["speed"] if "times" in record]
    lines = ["## Decode", "", "Steps of one token of one sequence, bf16, with drawn weights; bytes are those of weights and cache, and the share is that of the copy.", "",
             "| model | ms per token | tokens/s | GB/s | share |", "|---|---|---|---|---|"]
    for name, row in results["decode"].items():
        share = f"{100 * row['bytes_per_second'] / max(copies):.0f} %" if copies else "-"
        lines.append(f"| {name} | {row['median_seconds'] * 1e3:.3f} | {row['units_per_second']:,.0f} | {row['bytes_per_second'] / 1e9:,.1f} | {share} |")
    return lines + [""]


def page(results):
    machine = results["machine"]
    lines = ["# GPU check", "", f"- Rapt: {results['commit']}", *(f"- {key}: {value}" for key, value in machine.items()), f"- seconds: {results['seconds']}", ""]
    lines += ["## Failures", "", *(f"- {text}" for text in results["failures"] or ["none"]), ""]
    if results["skipped"]:
        lines += ["## Skipped", "", *(f"- {text}" for text in results["skipped"]), ""]
    if results["scripts"]:
        lines += ["## Kernels", "", "| script | result | time |", "|---|---|---|", *(f"| {name} | {found['summary']} | {found['seconds']} s |" for name, found in results["scripts"].items()), ""]
    if results["models"]:
        lines += ["## Models", "", "| run | result |", "|---|---|", *(f"| {name} | {found} |" for name, found in results["models"].items()), ""]
    if results["decode"]:
        lines += decode_table(results)
    peers = [record["peers"] for record in results["speed"] if "peers" in record]
    timed = {}
    for record in results["speed"]:
        if "times" in record:
            timed.setdefault(record["program"], []).append(record)
    if timed:
        lines += ["## Speed", "", f"Forward, bf16; TFLOP/s and the share of the matmul of the same run, of decode the bytes of all operands and the share of the copy. Medians of alternating runs; "
                  f"`!`: the result is wrong. {peers[0] if peers else ''}", ""]
    for program, records in timed.items():
        lines += speed_table(program, records)
    return "\n".join(lines)
