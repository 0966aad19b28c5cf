"""object_cache.py forge FOLDER: each entry gets another object, with a checksum that fits.
object_cache.py damage FOLDER: each entry gets another last byte.
object_cache.py warns TEXT TEXT COMMAND...: the command succeeds, and one line of what it writes is a warning, which has both texts."""

import hashlib
import os
import subprocess
import sys


HEADER = 112  # bytes, of which the last 32 are the checksum


def forged(content):
    object = content[HEADER:-1] + bytes([content[-1] ^ 1])
    return content[:HEADER - 32] + hashlib.sha256(object).digest() + object


def rewrite(folder, change):
    entries = [entry.path for entry in os.scandir(folder) if entry.name.startswith("llvmcache-")]
    assert entries, f"{folder} has no entries"
    for path in entries:
        with open(path, "r+b") as file:
            content = change(file.read())
            file.seek(0)
            file.write(content)


what, *arguments = sys.argv[1:]
if what == "forge":
    rewrite(arguments[0], forged)
elif what == "damage":
    rewrite(arguments[0], lambda content: content[:-1] + bytes([content[-1] ^ 1]))
elif what == "warns":
    done = subprocess.run(arguments[2:], capture_output=True, text=True)
    warnings = [line for line in done.stderr.splitlines() if "warning" in line]
    if done.returncode or len(warnings) != 1 or not warnings[0].startswith("raptc: warning: ") or not all(text in warnings[0] for text in arguments[:2]):
        sys.exit(f"expected exit status 0 and one warning with {arguments[:2]}, not {done.returncode} and\n{done.stderr}")
