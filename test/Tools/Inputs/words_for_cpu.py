"""Cases for another CPU pass raptc the same arguments whether they start it or ask a process that stays: words_for_cpu.py BUILD"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Execute"))

import registry  # noqa: E402
import resident  # noqa: E402

LINES = ("a.mlir -o a.so", "--mcpu=native a.mlir", "a.mlir --mcpu=znver3", "--target=cpu 'a b'", "--target=cuda a.mlir", "--mtriple=aarch64-linux-gnu --mcpu=native", "", "--mcpu= native")
case = next(case for case in registry.CASES.values() if case.cpu)
program = registry.Tools(case, sys.argv[1], "none", raptc="/bin/echo").raptc
for line in LINES:
    words = line.split(" ")
    started = subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
    command = resident.wrapped[program](words)
    assert command[0] == "/bin/echo" and " ".join(command[1:]) + "\n" == started, (line, command, started)
print(f"{len(LINES)} lines, for {case.cpu}")
