"""run_chat.py PAGE WORK: types on a terminal what the ```text block of PAGE shows behind `>>> `, in WORK, and compares the screen with the block.
Numbers with a point may differ, as times and sizes do between machines."""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "Driver" / "Inputs"))
from terminal import Terminal

page, work = Path(sys.argv[1]), sys.argv[2]
block = re.search(r"^```text\n\$ (.*?)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
command, shown = block[1], block[2]
os.chdir(work)
os.environ["XDG_STATE_HOME"] = os.getcwd()
terminal = Terminal(command.split())
for line in re.findall(r"^>>> (.+)$", shown, re.MULTILINE):
    terminal.expect(">>> ")
    terminal.type(line + "\r")
status = terminal.wait()
screen = re.sub(r"\x1b\[\?2004[hl]", "", terminal.text).replace("\r\n", "\n")
pattern = re.sub(r"\d+\\\.\d+", r"\\d+[.]\\d+", re.escape(shown))
if status or not re.fullmatch(pattern, screen):
    sys.exit(f"status {status}; {page.name} shows\n{shown}\nfor\n{screen}")
