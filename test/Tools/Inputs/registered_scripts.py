"""Names each script of test/Execute that no case, no test and no other script uses."""

import re
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS / "Execute"))

import registry  # noqa: E402

used = {case.name.split("/")[0] for case in registry.CASES.values()} | {"caseformat"}  # which lit.local.cfg imports
for path in [*TESTS.rglob("*.test"), *TESTS.rglob("*.py")]:
    text = path.read_text(encoding="utf-8", errors="replace")
    found = re.findall(r"([\w-]+)\.py\b", text) if path.suffix == ".test" else re.findall(r"^\s*(?:from|import) ([\w, ]+)", text, re.MULTILINE)
    used |= {name for line in found for name in re.split(r"[, ]+", line)}
print(*sorted(path.name for path in (TESTS / "Execute").glob("*.py") if path.stem not in used), "unused:", len(registry.CASES), "cases")
