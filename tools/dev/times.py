"""The time table of the test command: where the time of a run went, what it started, and what it drew.

run_checks.py writes it at the end of each run to BUILD/check/times.json, or to times-partial.json where only a part of the checks was asked
for; `tools/dev/check --times` prints it, and with --write puts it into docs/Reliability.md.
"""

import collections
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

import cpu_features
import draws
import prose

GOAL, CORES = 420, 2  # seconds of a whole run with daily counts, and on how many cores
SLOWEST = 30
PROGRAMS = 25  # in the table; the record has all
MARKS = ("<!-- times: tools/dev/check --times --write writes this table -->", "<!-- end of times -->")
STARTED, PHASES = "started.txt", "raptc-phases.txt"


def environment(build):
    """That of lit in a run whose times are recorded: where the tests' programs and raptc's phases are noted. Earlier notes are gone."""
    files = {"RAPT_STARTED": build / "check" / STARTED, "RAPT_PHASES": build / "check" / PHASES}
    for file in files.values():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    return dict(os.environ, **{name: str(file) for name, file in files.items()})


def lines_of(file):
    return file.read_text(errors="replace").splitlines() if file.exists() else []


def folders(tests):
    """{folder below test: its tests, and the sums of their wall and processor seconds}"""
    found = {}
    for test in tests:
        folder = found.setdefault(test["name"].split("/")[0], {"tests": 0, "wall": 0.0, "processor": 0.0})
        folder["tests"] += 1
        folder["wall"] += test["wall"]
        folder["processor"] += test["processor"]
    return dict(sorted(found.items(), key=lambda item: -item[1]["processor"]))


def tests_of(report):
    """The tests that lit has run, by its report."""
    return [{"name": test["name"].split(" :: ")[-1], "wall": test["elapsed"] or 0.0, "processor": test.get("metrics", {}).get("processor", 0.0)}
            for test in report if test["code"] not in ("EXCLUDED", "SKIPPED", "UNSUPPORTED")]


def compilations(lines):
    """The phases of all runs of raptc; those of several processors ("optimization for x86-64-v3") are one."""
    runs, total, phases = 0, 0.0, collections.Counter()
    for line in lines:
        try:
            seconds = json.loads(line)
            total += seconds.pop("total")
        except (ValueError, KeyError, AttributeError):  # a process that was killed while it wrote
            continue
        runs += 1
        for name, value in seconds.items():
            phases[name.split(" for ")[0]] += value
    return {"runs": runs, "total": total, "phases": dict(phases.most_common())}


def started(lines):
    return dict(collections.Counter(name for name in lines if name.isprintable()).most_common())


def commit(root):
    """(the abbreviated commit of the checkout or None, whether its files differ from it)"""
    def git(*arguments):
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    try:
        return git("rev-parse", "--short=8", "HEAD"), bool(git("status", "--porcelain"))
    except OSError:  # no git
        return None, False


def collect(root, build, rows, phases, run):
    """The record of a run. `rows`: (phase, wall seconds, processor seconds); `phases`: the tests that were asked for; `run`: {"covers": "whole"
    or which part, "full": whether with full counts, "seed"}."""
    folder = build / "check"
    name, isModified = commit(root)
    record = {"when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "commit": name, "modified": isModified,
              "cores": len(os.sched_getaffinity(0)), "features": cpu_features.features(), **run,
              "wall": sum(row[1] for row in rows), "processor": sum(row[2] for row in rows),
              "phases": {phase: {"wall": wall, "processor": used} for phase, wall, used in rows}}
    told = []
    if "lit" in phases and (folder / "lit.json").exists():
        report = json.loads((folder / "lit.json").read_text())["tests"]
        tests = sorted(tests_of(report), key=lambda test: -test["processor"])
        record |= {"folders": folders(tests), "slowest": tests[:SLOWEST], "programs": started(lines_of(folder / STARTED)),
                   "raptc": compilations(lines_of(folder / PHASES))}
        told += [line for test in report for line in draws.told(test["output"])]
    if "fuzz" in phases:
        told += draws.told("\n".join(lines_of(folder / "fuzz.log")))
    record["draws"] = [draw for draw in map(draws.read, told) if draw]
    return record


def write(build, record):
    """The file of the record; a whole run's stays where a part is run."""
    file = build / "check" / ("times.json" if record["covers"] == "whole" else "times-partial.json")
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(record, indent=1) + "\n")
    fresh.replace(file)
    return file


def verdict(record):
    """How far a run is from the goal, which is one of whole runs with daily counts; else None."""
    if record["covers"] != "whole" or record["full"]:
        return None
    over = record["wall"] - GOAL
    where = "" if record["cores"] == CORES else f"; this run had {record['cores']}"
    return f"{record['wall']:.0f} s, {abs(over):.0f} s {'over' if over > 0 else 'under'} the goal of {GOAL} s on {CORES} cores{where}"


def title(record):
    code = f"{record['commit'] or 'no commit'}{', modified' if record['modified'] else ''}"
    counts = "full" if record["full"] else "daily"
    covers = "" if record["covers"] == "whole" else f"; a part: {record['covers']}"
    return f"{record['when'][:16].replace('T', ' ')} UTC, {code}, {record['cores']} cores ({' '.join(record['features'])}), {counts} counts, seed {record['seed']}{covers}"


def phase_rows(record):
    """The phases and their sum, with the columns of the first table."""
    rows = [*record["phases"].items(), ("all", record)]
    return [(name, f"{row['wall']:.1f}", f"{row['processor']:.1f}") for name, row in rows]


def tables(record):
    """(columns, rows of cells) of every table that the record has."""
    yield ("phase", "wall s", "processor s"), phase_rows(record)
    if "folders" in record:
        yield ("folder of test", "tests", "wall s", "processor s"), [
            (name, str(row["tests"]), f"{row['wall']:.1f}", f"{row['processor']:.1f}") for name, row in record["folders"].items()]
        yield ("slowest tests", "wall s", "processor s"), [(test["name"], f"{test['wall']:.1f}", f"{test['processor']:.1f}") for test in record["slowest"]]
        programs = list(record["programs"].items())
        others = sum(count for _, count in programs[PROGRAMS:])
        yield ("started by tests", "times"), [*((name, f"{count:,}") for name, count in programs[:PROGRAMS]), *([("others", f"{others:,}")] if others else [])]
        raptc = record["raptc"]
        yield (f"phases of raptc, {raptc['runs']:,} runs", "wall s"), [(name, f"{value:.1f}") for name, value in [*raptc["phases"].items(), ("all", raptc["total"])]]
    if record["draws"]:
        yield ("drawn", "count", "seed"), [(draw["name"], f"{draw['count']:,}" + (" s" if draw["unit"] else "") + (f" of {draw['of']:,}" if draw["of"] else ""),
                                           "-" if draw["seed"] is None else str(draw["seed"])) for draw in record["draws"]]


def as_text(columns, rows):
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    return [f"{row[0]:<{widths[0]}}" + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:])) for row in [columns, *rows]]


def as_markdown(columns, rows):
    return ["| " + " | ".join(row) + " |" for row in [columns, ("---",) + ("---:",) * (len(columns) - 1), *rows]]


def page(record):
    """The lines of the record in Markdown."""
    lines = [title(record) + (f": {verdict(record)}." if verdict(record) else "."), ""]
    for columns, rows in tables(record):
        lines += [*as_markdown(columns, rows), ""]
    return lines[:-1]


def put(root, record):
    """Writes the record into the page; exits where it has no marks."""
    file = Path(root) / draws.PAGE
    text = file.read_text(encoding="utf-8")
    begin, end = (text.find(mark) for mark in MARKS)
    if begin < 0 or end < begin:
        sys.exit(f"tools/dev/check --times --write: {draws.PAGE} has no lines '{MARKS[0]}' and '{MARKS[1]}'")
    fresh = file.with_suffix(".new")
    text = text[:begin + len(MARKS[0])] + "\n" + "\n".join(page(record)) + "\n" + text[end:]
    fresh.write_text(prose.wrapped(text), encoding="utf-8")
    fresh.replace(file)


def show(root, build, isPartial=False, writes=False):
    """Prints the last record of a build folder, and puts it into the page where asked for."""
    file = build / "check" / ("times-partial.json" if isPartial else "times.json")
    try:
        record = json.loads(file.read_text())
    except FileNotFoundError:
        sys.exit(f"tools/dev/check --times: no {'part of the checks' if isPartial else 'whole run'} is recorded in {file}; run tools/dev/check first")
    except ValueError as error:
        sys.exit(f"tools/dev/check --times: {file} is damaged ({error}); run tools/dev/check again")
    print(title(record))
    for columns, rows in tables(record):
        print("\n" + "\n".join(as_text(columns, rows)))
    if verdict(record):
        print("\n" + verdict(record))
    if writes:
        put(root, record)


def finish(root, build, rows, phases, run):
    """Records a run and prints its phases and how far it is from the goal; arguments are those of collect."""
    record = collect(root, build, rows, phases, run)
    file = write(build, record)
    columns = next(tables(record))[0]
    print("\n" + "\n".join([*as_text(columns, phase_rows(record)), *([verdict(record)] if verdict(record) else []), f"times: {file}"]))
