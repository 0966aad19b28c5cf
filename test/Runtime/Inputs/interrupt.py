"""Interrupts a command while it writes: its pipe is nearly full, so that it waits in the middle of its text."""
import fcntl
import os
import signal
import subprocess
import sys
import time

read, write = os.pipe()
size = fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
os.write(write, b"." * (size - 64))
process = subprocess.Popen(sys.argv[1:], stdout=write, stderr=subprocess.DEVNULL)
os.close(write)
deadline = time.time() + 20
while time.time() < deadline:  # until it sleeps in write
    with open(f"/proc/{process.pid}/stat") as file:
        state = file.read().rsplit(")", 1)[1].split()[0]
    with open(f"/proc/{process.pid}/io") as file:
        written = int(file.read().split("wchar: ")[1].split()[0])
    if state == "S" and written >= 60:
        break
    time.sleep(0.01)
time.sleep(0.1)
process.send_signal(signal.SIGINT)
time.sleep(0.1)
text = b""
while piece := os.read(read, 65536):
    text += piece
text = text[size - 64:]
text.decode()  # whole characters
assert text.endswith(b"\n"), text
print("bytes", "64 to 90" if 64 <= len(text) <= 90 else len(text), "status", process.wait())
