"""progress.py MODEL: the line on how far raptc is appears on terminals, after a second, and is gone before anything else is written."""

import atexit
import re
import subprocess
import sys
import time

from terminal import Terminal

model = sys.argv[1]


def require(isTrue, what, terminal):
    if not isTrue:
        sys.exit(f"{what}:\n{terminal.text!r}")


def waits_for_a_second():
    """A compilation that hangs behind the packing, on a terminal and where no line may appear."""
    command = ["raptc", model, "-o", "auto.so", "--inject-fault=wait@object"]
    terminal = Terminal(command)
    silent = [Terminal([*command, "--progress=never"]), Terminal(command, term="dumb")]
    piped = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    atexit.register(piped.kill)  # whoever waits for the output of this test would wait for it, too
    packed = re.compile(r"packing weights: 3\.6 MB of 3\.6 MB \(100 %\), [0-9.]+ .?B/s")
    while not any(map(packed.fullmatch, terminal.drawn())) and time.monotonic() < terminal.begin + 60:
        terminal.read(0.1)
    require(terminal.first and terminal.first >= 1, "nothing may appear in the first second", terminal)
    require(any(map(packed.fullmatch, terminal.drawn())), "a line about packing is expected", terminal)
    before = len(terminal.drawn())
    terminal.read(1)
    require(len(terminal.drawn()) <= before + 12, "more than 10 lines a second", terminal)
    for one in silent:
        one.read(0.1)
        require(one.text == "", "nothing may appear", one)
    for one in [terminal, *silent]:
        one.interrupt()
        require(one.wait() == -2, "not ended by SIGINT", one)
    require(terminal.screen() in ([], ["^C"]), "the line must go when the process does", terminal)
    piped.terminate()
    written = piped.communicate()[1]
    assert written == b"", f"nothing may go into a pipe: {written}"


def shows_phases():
    """The report is what it is without the line, whatever the terminal's width; counts never fall."""
    for columns, cpus in ((200, "x86-64-v3,x86-64-v4"), (24, "x86-64-v3")):
        terminal = Terminal(["raptc", model, "-o", "always.so", "--progress=always", "--mtriple=x86_64-linux-gnu", f"--mcpu={cpus}"], columns)
        require(terminal.wait() == 0, "raptc failed", terminal)
        screen, drawn = terminal.screen(), terminal.drawn()
        require(len(screen) == 5 and re.match("always: gpt2", screen[0]) and re.match("(try|run): ", screen[-1]), "another report is expected", terminal)
        require(any(line.startswith("code generation") for line in drawn), "no line about code generation", terminal)
        require(terminal.text.rindex("\x1b[K") < terminal.text.index("always: gpt2"), "drawn after the report", terminal)
        counts = [int(line.split(": ")[1].split()[0]) for line in drawn if re.match(r"code generation for several CPUs: \d+ of 6 steps \(\d+ %\), \d+ s$", line)]
        require(counts == sorted(counts) and bool(counts) == ("," in cpus), "counts are missing or fall", terminal)


def keeps_diagnostics_whole():
    """Errors, and a text on stdout, stand alone on their lines."""
    terminal = Terminal(["raptc", model, "-o", "bad.so", "--progress=always", "--inject-fault=fail@backend"], 400)
    require(terminal.wait() == 3, "another exit status is expected", terminal)
    require([re.sub(":.*", "", line) for line in terminal.screen()] == ["raptc", "raptc"], "two lines are expected", terminal)
    terminal = Terminal(["raptc", model, "-o", "bad.so", "--progress=always", "--inject-fault=abort@object"], 400)
    require(terminal.wait() == 3, "another exit status is expected", terminal)
    require(len(terminal.screen()) == 1 and terminal.screen()[0].startswith("raptc: error: internal error: SIGABRT"), "one line is expected", terminal)
    terminal = Terminal(["raptc", model, "--emit=tiled", "--progress=always"])
    require(terminal.wait() == 0 and terminal.screen()[-1] == "}", "the text is expected", terminal)
    expected = subprocess.run(["raptc", model, "--emit=tiled"], capture_output=True, text=True, check=True).stdout
    require("\n".join(terminal.screen()) == "\n".join(line for line in expected.splitlines() if line), "another text", terminal)


def is_forced_into_a_pipe():
    done = subprocess.run(["raptc", model, "-o", "piped.so", "--progress=always"], capture_output=True, check=True)
    assert b"\rcode generation: " in done.stderr, done.stderr


waits_for_a_second()
shows_phases()
keeps_diagnostics_whole()
is_forced_into_a_pipe()
