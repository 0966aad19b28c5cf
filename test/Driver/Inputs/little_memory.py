"""little_memory.py COMMAND...: with less and less of an address space, down to where the loader cannot start the program, the command ends with 0, or
with 1 and one line about memory; never as a bug."""

import resource
import shutil
import subprocess
import sys

STEP = 768 << 10
# The last one is what the loader says of a compiled library that it has no addresses for.
CAUSES = ("MB of addresses (ulimit -v)", "no memory for ", "Cannot allocate memory", "threads could be started: Resource temporarily unavailable",
          "failed to map segment from shared object")


def run(command, most):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))


def isLoaded(done):
    """The loader ends with 127; without memory for the program's segments the kernel ends the process."""
    return done.returncode >= 0 and done.returncode != 127


command = sys.argv[1:]
command[0] = shutil.which(command[0])
least = STEP
while not isLoaded(run([command[0], "--version"], least)):
    least += STEP
told = 0
for most in range(least, least + (1 << 30), STEP):
    done = run(command, most)
    if done.returncode == 0:
        break
    lines = [line for line in done.stderr.splitlines() if not line.startswith(("tiny_gpt: ", "loc("))]  # what rapt-run does, and rapt-reduce tries
    if done.returncode != 1 or len(lines) != 1 or not any(map(lines[0].__contains__, CAUSES)):
        sys.exit(f"with {most} bytes exit status {done.returncode} and\n{done.stderr}")
    told += 1
print("told" if told else "no run had too little")
