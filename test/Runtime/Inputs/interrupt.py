"""Interrupts a command while it writes."""
import signal
import sys
import time

from paused import Paused

command = Paused(sys.argv[1:])
command.process.send_signal(signal.SIGINT)
time.sleep(0.1)
text, _, status = command.resume()
text.decode()  # whole characters
assert text.endswith(b"\n"), text
print("bytes", "64 to 90" if 64 <= len(text) <= 90 else len(text), "status", status)
