"""The tests that `check` leaves to `check --full`: rows of a table of docs/Reliability.md, each with the daily test of the same path of the code."""

import re
from pathlib import Path

PAGE, MOST = "docs/Reliability.md", 20
TITLE = "| test of `check --full` alone | daily test of the same path | what it has beyond |"
ROW = re.compile(r"^\| (\S+) \| (\S+) \| ([^|]+) \|$")


def rows(root):
    """{test: (line of the page, daily test)}, by the names that lit gives tests."""
    page = Path(root) / PAGE
    lines = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
    if TITLE not in lines:
        return {}
    found = {}
    for number, line in enumerate(lines[(begin := lines.index(TITLE) + 2):], begin + 1):
        if not (match := ROW.match(line)):
            break
        found[match[1]] = (number, match[2])
    return found


def is_file(name):
    return name.endswith((".test", ".mlir"))


def problems(root, files):
    """Faults of the table. `files`: the names of all tests that are files; test/Execute/registry.py knows the names of cases."""
    table = rows(root)
    for number, (test, (line, daily)) in enumerate(table.items(), 1):
        if number > MOST:
            yield f"{PAGE}:{line}: more than {MOST} tests of check --full alone"
        if not test.startswith(("Execute/", "Fuzz/")):
            yield f"{PAGE}:{line}: '{test}' is no case of test/Execute and no draw of test/Fuzz"
        for name in (test, daily):
            if is_file(name) and name not in files:
                yield f"{PAGE}:{line}: there is no test '{name}'"
        if daily in table:
            yield f"{PAGE}:{line}: '{daily}' is no daily test"
