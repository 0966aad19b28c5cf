"""fail_calls.py SHIM FOLDER COUNT COMMAND...: fails, shortens, or is killed at the k-th file call of a command that replaces files
of FOLDER; for COUNT k's over the range, or all (COUNT 0).

Each file is as before or as the whole command makes it, never anything else. A command that fails says so in one line and leaves no
other files; after a killed one, the next that runs to its end leaves none.
"""
import collections
import os
import shutil
import subprocess
import sys

shim, folder, some, command = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
counter = folder + ".count"
os.environ.pop("RAPT_PHASES", None)  # a note of the test command, not an output


def contents():
    return {name: open(os.path.join(folder, name), "rb").read() for name in os.listdir(folder)}


def restore(files):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


def run(at, how):
    with open(counter, "wb") as file:
        file.write(bytes(8))
    environment = dict(os.environ, LD_PRELOAD=shim, FAIL_AT=str(at), FAIL_HOW=how, COUNT_FILE=counter)
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
    return done, int.from_bytes(open(counter, "rb").read(), "little")


def check(at, how):
    restore(old)
    done, _ = run(at, how)
    found = contents()
    where = f"{how} at call {at} of {total}: exit status {done.returncode}, {done.stderr.strip()!r}, {sorted(found)}"
    for name, data in found.items():
        known = [files[name] for files in (old, new) if name in files]
        assert how == "kill" and not known or data in known, f"{name} is neither old nor new: {where}"
    if how != "kill":
        complete = all(found.get(name) == data for name, data in new.items())  # an old file that is not used may stay
        assert done.returncode == 0 and complete or done.returncode == 1, where
        assert how == "error" or done.returncode == 0, where
        assert set(found) <= set(old) | set(new), f"files are left: {where}"
        assert done.returncode == 0 or len(done.stderr.splitlines()) == 1, where
    elif set(found) - set(old) - set(new):
        assert run(-1, "error")[0].returncode == 0 and contents() == new, f"files are left by the next command: {where}: {sorted(contents())}"
    ends[how, done.returncode] += 1


old = contents()
result, total = run(-1, "error")
assert result.returncode == 0, result
new = contents()
assert {name for name in old if new.get(name) != old[name]}, "the command replaces a file"
ends = collections.Counter()
for how in ("error", "kill", "short"):
    for at in range(0, total, max(total // some, 1) if some else 1):
        check(at, how)
print(f"generated: failing file calls of {os.path.basename(command[0])}: {sum(ends.values())} of {3 * total}: {dict(ends)}")
print("each file old or new")
