"""Runs a command whose standard output nobody reads, and prints its exit status."""
import os
import subprocess
import sys

read, write = os.pipe()
os.close(read)
result = subprocess.run(sys.argv[1:], stdout=write, stderr=subprocess.PIPE, text=True)
print("error" if "error" in result.stderr else "quiet", "status", result.returncode)
