"""A command on a pseudo-terminal, and what a person would see there."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time


class Terminal:
    """Runs a command whose stdin, stdout and stderr are a terminal of `columns`. All that it writes is `text`; `modes` are the terminal's before it begins."""

    def __init__(self, command, columns=80, term="xterm"):
        self.begin, self.columns, self.text, self.first = time.monotonic(), columns, "", None
        self.expected = 0  # as far as expect() has come in `text`
        awaited, told = os.pipe()
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.read(awaited, 1)  # the command may change the modes at once
            fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.execvpe(command[0], command, {**os.environ, "TERM": term})
        self.modes = termios.tcgetattr(self.file)
        os.write(told, b"x")
        os.close(told)
        os.close(awaited)

    def read(self, seconds):
        """Reads for so long; False when the command has closed the terminal."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self.file], [], [], left)[0]:
                continue
            try:
                data = os.read(self.file, 1 << 16)
            except OSError:  # EIO: no one has the other end open
                data = b""
            if not data:
                return False
            self.first = self.first or time.monotonic() - self.begin
            self.text += data.decode()
        return True

    def wait(self):
        """The exit status, negative for a signal."""
        if self.read(60):
            os.kill(self.pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def type(self, text):
        os.write(self.file, text.encode())

    def interrupt(self):
        self.type("\x03")

    def expect(self, text, seconds=60):
        """Reads until there is `text` behind what was expected before; what came ahead of it."""
        deadline = time.monotonic() + seconds
        while (at := self.text.find(text, self.expected)) < 0:
            if time.monotonic() > deadline or not self.read(0.01):
                raise AssertionError(f"{text!r} is not in {self.text[self.expected:]!r}")
        before, self.expected = self.text[self.expected:at], at + len(text)
        return before

    def drawn(self):
        """The progress lines, in their order."""
        return re.findall(r"\r([^\r\n\x1b]+)\x1b\[K", self.text)

    def screen(self):
        """The lines that are left, as a terminal shows them; a line that is too long is an error."""
        lines, column = [""], 0
        for part in re.findall(r"\x1b\[K|\r|\n|[^\x1b\r\n]+", self.text):
            if part == "\x1b[K":
                lines[-1] = lines[-1][:column]
            elif part == "\r":
                column = 0
            elif part == "\n":
                lines.append("")
            else:
                lines[-1] = lines[-1][:column] + part + lines[-1][column + len(part):]
                column += len(part)
        for line in self.drawn():
            assert len(line) < self.columns, f"'{line}' fills {self.columns} columns"
        return [line for line in lines if line]
