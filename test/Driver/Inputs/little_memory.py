"""little_memory.py COMMAND...: the command with less and less of an address space ends with 0, or with 1 and one line about memory; never as a bug."""

import resource
import subprocess
import sys

STEP = 1536 << 10


def run(command, most):
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))


least = 32 << 20
while run([sys.argv[1], "--version"], least).returncode != 0:  # the program itself
    least += STEP
told = 0
for most in range(least, least + (1 << 30), STEP):
    done = run(sys.argv[1:], most)
    if done.returncode == 0:
        break
    lines = done.stderr.splitlines()
    if done.returncode != 1 or len(lines) != 1 or "out of memory" not in lines[0] or "MB of addresses (ulimit -v)" not in lines[0]:
        sys.exit(f"with {most} bytes exit status {done.returncode} and\n{done.stderr}")
    told += 1
print("told" if told >= 3 else f"only {told} runs had too little")
