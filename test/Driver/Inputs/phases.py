"""phases.py LOG COMMAND...: the phases that `raptc -v` prints, but for the indented ones, which are parts of others, add up to its total, and the total is the
time that the process takes. LOG becomes what is printed."""

import re
import subprocess
import sys
import time


def measure(command):
    begin = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wall = time.monotonic() - begin
    phases = re.findall(r"^raptc: (\S.*): (\d+\.\d{3}) s$", done.stderr, re.MULTILINE)
    assert len(phases) > 3 and phases[-1][0] == "total", done.stderr
    with open(sys.argv[1], "w") as log:
        log.write(done.stderr)
    return wall, sum(float(seconds) for _, seconds in phases[:-1]), float(phases[-1][1]), done.stderr


def outside():
    """The seconds that a process which does nothing takes, as the machine may do something else first."""
    begin = time.monotonic()
    subprocess.run(["true"], check=True)
    return time.monotonic() - begin


for attempt in range(5):
    wall, parts, total, text = measure(sys.argv[2:])
    assert abs(parts - total) <= 0.02 * total + 0.01, f"the phases take {parts:.3f} s, the total is {total} s:\n{text}"
    assert total <= wall + 0.001, f"the total is {total} s, the process took {wall:.3f} s"
    if wall - total <= 0.05 * wall + 0.03 + 2 * outside():
        sys.exit()
sys.exit(f"the total is {total} s, the process took {wall:.3f} s:\n{text}")
