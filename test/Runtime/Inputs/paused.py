"""A command that waits in the middle of its text, because its pipe is nearly full."""
import fcntl
import os
import subprocess
import time

ROOM = 64


class Paused:
    def __init__(self, command):
        self.read, write = os.pipe()
        self.size = fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        os.write(write, b"." * (self.size - ROOM))
        self.process = subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE)
        os.close(write)
        deadline = time.time() + 20
        while time.time() < deadline and not self.sleepsInWrite():
            time.sleep(0.01)
        time.sleep(0.1)

    def sleepsInWrite(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            state = file.read().rsplit(")", 1)[1].split()[0]
        with open(f"/proc/{self.process.pid}/io") as file:
            written = int(file.read().split("wchar: ")[1].split()[0])
        return state == "S" and written >= ROOM - 4

    def resume(self):
        """The rest of the text, what was told on the standard error, and the exit status."""
        text = b""
        while piece := os.read(self.read, 65536):
            text += piece
        told = self.process.stderr.read().decode()
        return text[self.size - ROOM:], told, self.process.wait()
