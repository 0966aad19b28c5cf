#!/usr/bin/env python3
"""The GPU check: runs a bundle of tools/dev/gpu-check on a machine with an NVIDIA driver. It needs Python with numpy, and PyTorch for figures of others; no LLVM.

    python3 run.py [--out FOLDER] [--budget SECONDS] [--parts kernels,models,decode,speed,more] [-- OPTIONS-OF-SPEED.PY...]

Writes results.json and table.md after every part. Exit status 1 if anything failed; all parts are tried before, the most important ones first."""

import argparse
import gzip
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = HERE / "test" / "Perf" / "gpu"
sys.path[:0] = [str(MODULES), str(HERE / "test" / "Execute")]

import table  # noqa: E402

LIMIT = 90  # seconds for a script or a command
PARTS = ("machine", "kernels", "models", "decode", "speed", "more")
FACTS = """
import json, sys
sys.path.insert(0, "test/Execute")
import numpy, device
gpu = device.Device()
print(json.dumps({"device": gpu.name(), "capability": gpu.capability(), "driver": gpu.version(), "numpy": numpy.__version__}))
"""


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return re.sub(r"\s+", " ", lines[-1])[:300] if lines else "no output"


class Check:
    """The parts, and what they found."""

    def __init__(self, options):
        self.options, self.begun = options, time.monotonic()
        self.manifest = json.loads((HERE / "manifest.json").read_text())
        self.results = {"commit": self.manifest["commit"], "host": platform.node(), "machine": {}, "scripts": {}, "models": {}, "decode": {}, "speed": [], "failures": [], "skipped": []}

    def left(self):
        return self.options.budget - (time.monotonic() - self.begun)

    def fail(self, text):
        self.results["failures"].append(text)
        print("FAIL", text, flush=True)

    def skip(self, text):
        self.results["skipped"].append(text)
        print("SKIP", text, flush=True)

    def save(self):
        self.results["seconds"] = round(time.monotonic() - self.begun, 1)
        for name, text in (("results.json", json.dumps(self.results, indent=1)), ("table.md", table.page(self.results))):
            (self.options.out / name).write_text(text, encoding="utf-8")

    def run(self, name, command, limit=LIMIT, **options):
        """Standard output of a command that ends with status 0, or None."""
        limit = min(limit, self.left())
        if limit < 5:
            return self.skip(f"{name}: the time is over")
        with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
            process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=err, stdin=subprocess.DEVNULL, cwd=HERE, start_new_session=True, **options)
            try:
                status = process.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # a process that the driver holds ends later
                return self.fail(f"{name}: stopped after {limit:.0f} s")
            out.seek(0), err.seek(0)
            printed, problems = out.read(), err.read()
        if status == 0:
            return printed
        return self.fail(f"{name}: exit status {status}: {'; '.join(line for line in printed.splitlines() if line.startswith('FAIL'))[:600] or last_line(problems or printed)}")

    def machine(self):
        """Whether there is a GPU at all."""
        facts = self.run("machine", [sys.executable, "-c", FACTS])
        self.results["machine"] = json.loads(facts) if facts else {}
        try:
            query = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit,temperature.gpu"
            smi = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], capture_output=True, text=True, timeout=20)
            self.results["machine"]["nvidia-smi"] = smi.stdout.strip()
        except (OSError, subprocess.TimeoutExpired) as problem:
            self.results["machine"]["nvidia-smi"] = f"none: {problem}"

    def script(self, name, options):
        """One script of test/Execute on its recorded programs."""
        import device  # needs numpy, which the part "machine" asks for
        arch = next(word.removeprefix("gpu-arch=") for word in options if word.startswith("gpu-arch="))
        if not device.fits(arch, self.results["machine"].get("capability", 0)):
            self.skip(f"{name}: {arch} is not for this GPU")
            return
        command = [sys.executable, MODULES / "recorded.py", "replay", HERE / "recorded", HERE / "test" / "Execute" / f"{name}.py", *options]
        begun, failed = time.monotonic(), len(self.results["failures"])
        printed = self.run(f"{name} {' '.join(options)}", command)
        if printed is None and len(self.results["failures"]) == failed:
            return
        self.results["scripts"][f"{name} {' '.join(options)}"] = {"summary": last_line(printed) if printed else "failed", "seconds": round(time.monotonic() - begun, 1)}
        self.save()

    def kernels(self):
        for script in self.manifest["scripts"][:1]:
            self.script(*script)

    def more(self):
        for script in self.manifest["scripts"][1:]:
            self.script(*script)

    def models(self):
        """Whole models by rapt-run, beside what the CPU's code printed."""
        for name, command, expected in self.manifest["models"]:
            printed = self.run(name, [HERE / "models" / "bin" / "rapt-run", *command])
            if printed is None:
                continue
            wrong = difference(printed, expected)
            if wrong:
                self.fail(f"{name}: {wrong}")
            self.results["models"][name] = wrong or "as on the CPU"
            self.save()

    def decode(self):
        """Steps of one token of large models by rapt-bench, whose weights are drawn here."""
        import decode
        import device
        capability = self.results["machine"].get("capability", 0)
        for name, packed in self.manifest["decoders"].items():
            libraries = {arch: path for arch, path in packed["libraries"].items() if device.fits(arch, capability)}
            if not libraries:
                self.skip(f"{name}: the bundle has no code for sm_{capability}")
                continue
            with tempfile.TemporaryDirectory() as scratch:
                weights = Path(scratch) / "weights"
                try:
                    decode.write_weights(weights, packed["interface"], packed["bytes"])
                except OSError as problem:
                    self.skip(f"{name}: its weights: {problem}")
                    continue
                for arch, library in libraries.items():
                    printed = self.run(f"{name} {arch}", [HERE / "models" / "bin" / "rapt-bench", library, "--weights", weights, "--decode", self.options.steps,
                                                          "--past", 16, "--repetitions", 5, "--accept-disturbed", "--output-format", "json"])
                    if printed is not None:
                        self.results["decode"][f"{name} {arch}"] = json.loads(printed)[0]
                        self.save()

    def speed(self):
        """The attention programs, timed."""
        lines = self.options.out / "speed.jsonl"
        lines.unlink(missing_ok=True)
        budget = max(10, min(self.options.speed_budget, self.left() - 5))
        self.run("speed", [sys.executable, MODULES / "speed.py", HERE, lines, "--budget", budget, *self.options.rest], limit=budget + 30)
        records = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
        for record in records:
            if "missing (" in record.get("peers", "") or "has no CUDA" in record.get("peers", ""):
                self.skip(f"speed: {record['peers']}")
            if "failure" in record:
                (self.skip if "the time is over" in record["failure"] else self.fail)(f"speed: {record['program']}: {record['failure']}")
            for name, wrong in record.get("wrong", {}).items():
                self.fail(f"speed: {record['program']} at {record['tokens']} tokens, {name}: {wrong}")
        timed = [record for record in records if "times" in record]
        for peer in dict.fromkeys(name for record in timed for name in record["missing"]):
            reasons = [record["missing"][peer] for record in timed if peer in record["missing"]]
            self.skip(f"speed: {peer} does not run in {len(reasons)} of {len(timed)} measurements: {reasons[0]}")
        self.results["speed"] = records


def difference(printed, expected):
    """Why the output of a command is another one; empty: it is not. Numbers may differ by the tolerance, where there is one."""
    if "nats_per_token" in expected:
        got = json.loads(printed)["nats_per_token"]
        return "" if abs(got - expected["nats_per_token"]) <= expected["tolerance"] else f"{got:.6f} nats per token, expected {expected['nats_per_token']:.6f}"
    return "" if printed == expected["text"] else f"{printed!r}, expected {expected['text']!r}"


def unpack():
    """Libraries as the loader reads them."""
    for path in list(HERE.rglob("*.so.gz")):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path.cwd(), help="folder of results.json and table.md")
    parser.add_argument("--budget", type=float, default=540, help="seconds for all parts")
    parser.add_argument("--speed-budget", type=float, default=330, help="seconds for the part speed")
    parser.add_argument("--steps", type=int, default=64, help="tokens of the part decode")
    parser.add_argument("--parts", type=lambda text: text.split(","), default=PARTS, help="machine is always among them")
    parser.add_argument("rest", nargs="*", help="options of speed.py, behind --")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"unknown part '{unknown[0]}'; expected {', '.join(PARTS)}")
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    unpack()
    check = Check(options)
    for part in PARTS:
        if part not in options.parts and part != "machine":
            continue
        getattr(check, part)()
        check.save()
        if part == "machine" and check.results["failures"]:
            break
    print(table.page(check.results))
    sys.exit(bool(check.results["failures"]))


if __name__ == "__main__":
    main()
