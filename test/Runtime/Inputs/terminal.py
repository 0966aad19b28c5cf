"""Runs a command whose standard output is a terminal, and prints what came there."""
import os
import pty
import subprocess
import sys

master, slave = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stdout=slave, stderr=subprocess.DEVNULL)
os.close(slave)
seen = b""
while True:
    try:
        piece = os.read(master, 4096)
    except OSError:  # the other side is closed
        break
    if not piece:
        break
    seen += piece
process.wait()
assert b"\x1b" not in seen and b"\x7f" not in seen, seen
sys.stdout.buffer.write(seen)
