"""conversation.py MODEL FOLDER TERMINAL_PY_FOLDER: a conversation on a pseudo-terminal with the model in C, whose weight file gets a chat template."""

import fcntl
import json
import os
import signal
import stat
import struct
import subprocess
import sys
import termios
from pathlib import Path

import fake_weights

model, folder = sys.argv[1], Path(sys.argv[2])
sys.path.insert(0, sys.argv[3])  # ahead of this folder, which has a module of the same name
from terminal import Terminal

JINJA = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>{% endfor %}<|assistant|>"
PASTES, NO_PASTES = "\x1b[?2004h", "\x1b[?2004l"
weights = fake_weights.write_weights(model, folder / "chat.weights", {"chat_template.jinja": JINJA})
command = ["rapt-run", model, "--weights", str(weights), "--any-weights", "--temperature", "0", "-n", "9", "--chat"]
os.environ["XDG_STATE_HOME"] = str(folder / "state")


def answer_of(message, command):
    """What a command that holds no conversation answers."""
    return subprocess.run([*command, "-p", message], capture_output=True, check=True).stdout.decode()[:-1]


def alone(message, command=command):
    """The same as a terminal shows it."""
    text = answer_of(message, command)
    return "".join(c if c in "\n\t" or ord(c) >= 0xa0 or 0x20 <= ord(c) < 0x7f else f"\\x{ord(c):02X}" for c in text)


class Chat(Terminal):
    def __init__(self, *options, command=command, **environment):
        os.environ.update(environment)
        super().__init__([*command, *options])
        for name in environment:
            del os.environ[name]
        self.expect("/help lists the commands")
        self.ready()

    def ready(self):
        """Reads to the next prompt; what came ahead of it."""
        before = self.expect(">>> ")
        return before.replace("\r\n", "\n").removesuffix(PASTES)

    def say(self, text):
        """Types a line; what is shown up to the next prompt."""
        self.type(text + "\r")
        self.expect(NO_PASTES)
        return self.ready()

    def resize(self, rows, columns):
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def saved(self):
        path = folder / "saved.json"
        self.say(f"/save {path}")
        return [(one["role"], one["content"]) for one in json.loads(path.read_text())["messages"]]

    def last_message(self):
        return self.saved()[-2][1]

    def finish(self, status):
        """Checks the exit status, and that the terminal is as it was."""
        assert self.wait() == status, self.text
        assert termios.tcgetattr(self.file) == self.modes, "the terminal's modes have changed"
        assert self.text.rindex(NO_PASTES) > self.text.rindex(PASTES)


def talks():
    chat = Chat()
    ended = "\nstopped after 9 new tokens, the limit of an answer (max-new-tokens)\n"
    assert chat.say("hello") == alone("hello") + ended, chat.text
    assert [role for role, _ in chat.saved()] == ["user", "assistant"]
    # A paste is one message: its newlines end no line.
    chat.type("\x1b[200~one\rtwo\r\nthree\x1b[201~")
    assert chat.read(0.2) and chat.text.endswith("three"), chat.text
    chat.say("!")
    assert chat.last_message() == "one\ntwo\n\nthree!"
    chat.type('"""first line\r')
    chat.expect("... ")
    chat.type('/second\r')
    chat.expect("... ")
    chat.say('"""')
    assert chat.last_message() == "first line\n/second"
    # Quotes may be pasted, too. A paste that merely begins with quotes is a message as it is.
    chat.say('\x1b[200~"""\rpasted\r"""\x1b[201~')
    assert chat.last_message() == "pasted"
    chat.say('\x1b[200~"""Doc."""\rcode\x1b[201~')
    assert chat.last_message() == '"""Doc."""\ncode'
    # Editing, characters of several bytes, and history: two lines up is the message above.
    chat.say("aé漢b\x1b[D\x1b[D\x7f😀\x1b[Hx")
    assert chat.last_message() == "xa😀漢b", chat.last_message()
    chat.say("\x1b[A\x1b[A")
    assert chat.last_message() == "xa😀漢b"
    # Ctrl-C drops the line; Ctrl-Z, which stops nothing here, and another size of the terminal keep it.
    chat.type("dropped")
    chat.expect("dropped")
    chat.interrupt()
    assert "Ctrl-D" not in chat.ready()
    chat.interrupt()
    assert "Ctrl-D or /exit ends the conversation" in chat.ready()
    chat.type("ke")
    chat.expect("ke")
    chat.type("\x1a")
    chat.expect("ke")  # is drawn again
    chat.resize(10, 40)
    chat.expect("\r\x1b[J")  # where it stood
    chat.expect("ke")
    chat.say("pt")
    assert chat.last_message() == "kept"
    # Lines of several rows: the cursor is in the third of 40 columns, and in the second one of 80.
    chat.type("y" * 80)
    chat.expect("y" * 36)
    chat.resize(10, 80)
    chat.expect("\r\x1b[1A\x1b[J")
    chat.resize(10, 40)
    chat.expect("\r\x1b[1A\x1b[J")
    chat.interrupt()
    chat.expect(NO_PASTES)
    chat.ready()
    messages = len(chat.saved())
    assert chat.say("x" * 300).startswith("the prompt has ")
    assert "there is no command /undoo; did you mean /undo?" in chat.say("/undoo")
    assert " of 256 tokens are in the cache" in chat.say("/undo")
    assert len(chat.saved()) == messages - 2
    # A paste beyond the limit is left out, and the line goes on.
    chat.type("be\x1b[200~" + "x" * ((1 << 22) + 1) + "\x1b[201~")
    chat.expect("the paste has more than 4194304 characters: it is left out")
    chat.say("hind")
    assert chat.last_message() == "behind"
    chat.type("/exit\r")
    chat.finish(0)
    file = folder / "state" / "rapt" / "chat-history"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "one\ntwo\n\nthree!" in map(json.loads, file.read_text().splitlines())


def is_stopped():
    """Ctrl-C stops an answer, and what was written stays; the next conversation knows the lines of the one before."""
    chat = Chat("-n", "150", FAKE_DELAY="1")
    chat.type("\x1b[A")
    chat.expect("/exit")
    chat.type("\x15hello\r")
    chat.expect(NO_PASTES)
    chat.read(0.3)
    chat.interrupt()
    assert chat.ready().endswith("stopped\n"), chat.text
    assert 0 < len(chat.saved()[-1][1]) < 100
    chat.say("/set n 2")
    chat.say("more")
    assert len(chat.saved()) == 4
    assert "max-new-tokens 2" in chat.say("\x1b[A" * 3)  # "more" and "/save" are behind "/set n 2"
    chat.type("\x04")
    chat.finish(0)


def reasons():
    """The template opens the reasoning, which the model does not end: it is dim, or folded to a line."""
    thinking = fake_weights.write_weights(model, folder / "thinking.weights", {"chat_template.jinja": JINJA + "<think>"})
    words = [str(thinking) if word == str(weights) else word for word in command]
    text = "<think>" + alone("hello", command=words)
    for environment, options, shown in (({}, (), f"\x1b[2m{text}\x1b[22m"), ({"NO_COLOR": "1"}, (), text),
                                        ({"NO_COLOR": ""}, ("--think", "hide"), "\x1b[2m<think>...\x1b[22m")):
        chat = Chat(*options, command=words, **environment)
        assert chat.say("hello").replace("\x1b[22m\x1b[2m", "").startswith(shown + "\nstopped"), chat.text
        assert chat.saved()[-1][1] == answer_of("hello", words), "the conversation has all of it"
        chat.say("/set think hide")
        assert "<think>..." in chat.say("/retry")
        chat.type("\x04")
        chat.finish(0)


def ends_by_a_signal():
    chat = Chat()
    os.kill(chat.pid, signal.SIGTERM)
    chat.finish(-signal.SIGTERM)


def writes_to_a_file():
    out = folder / "answers"
    chat = Chat(command=["sh", "-c", 'out=$1; shift; exec "$@" > "$out"', "sh", out, *command])
    chat.say("hello")
    chat.type("\x04")
    chat.finish(0)
    done = subprocess.run([*command, "-p", "hello"], capture_output=True, check=True)
    assert out.read_bytes() == done.stdout


def is_refused(message, status, *arguments):
    terminal = Terminal(list(arguments))
    code = terminal.wait()
    assert code == status and message in terminal.text, (code, terminal.text)


talks()
is_stopped()
reasons()
ends_by_a_signal()
writes_to_a_file()
is_refused("a conversation takes no --json; give a message: --prompt or --file", 2, *command, "--json")
is_refused("a conversation takes no --beams; give a message: --prompt or --file", 2, *command, "--beams", "2")
is_refused("--context is 300; the model's positions hold 256 tokens", 1, *command, "--context", "300")
is_refused("fake has no chat template: leave out --chat", 1, "rapt-run", model, "--chat")
beams = fake_weights.write_weights(model, folder / "beams.weights", {"chat_template.jinja": JINJA, "generation_config.json": '{"num_beams": 2}'})
is_refused("a conversation has no beams, but generation_config.json asks for 2; --temperature 0 takes the most likely token", 1,
           "rapt-run", model, "--weights", str(beams), "--any-weights", "--chat")
is_refused("a conversation needs a terminal as its standard output or error: give a message with --prompt", 0,
           "sh", "-c", '"$@" > /dev/null 2> errors; cat errors', "sh", *command)

# Without a terminal the standard input is one message.
piped = subprocess.run(command, input=b"one\ntwo\n", capture_output=True, check=True).stdout
assert piped == subprocess.run([*command, "-p", "one\ntwo"], capture_output=True, check=True).stdout
done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
assert done.returncode == 2 and "--chat needs a message: --prompt, --file or the standard input; on a terminal it needs none" in done.stderr
