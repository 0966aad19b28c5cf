"""The random draws of the tests: how many cases docs/Reliability.md promises, how many the tests ask for, and how many they told that they drew.

A draw tells one line: `generated: NAME: COUNT[ s][ of TOTAL][, seed SEED]: OUTCOME`; COUNT is of cases, or of seconds where cases are drawn as
long as there is time. Rows of the page's table of counts whose name ends with ", each" stand for all draws whose names begin so.
"""

import re
from pathlib import Path

PAGE = "docs/Reliability.md"
TOLD = re.compile(r"^(?:# \| )?(generated: .*)$", re.MULTILINE)
SHAPE = re.compile(r"generated: ([^:]+): ([\d,]+)( s)?(?: of ([\d,]+))?(?:, seed (\d+))?: .+")
ROW = re.compile(r"^\| ([^|]+) \| ([\d,]+)( s| min)? \| ([\d,]+)( s| min)? \| (test/\S+) \|$")
ASKED = re.compile(r"--count[ =]%quick:(\d+)%full:(\d+)")
# The seconds of fuzz targets are asked for by two files.
DEFAULT, PASSED = re.compile(r'"--seconds", type=int, default=(\d+)'), re.compile(r'"--seconds", "(\d+)"')
RUNNER, COMMAND = "test/Fuzz/run.py", "tools/dev/run_checks.py"


def number(text, unit=None):
    return int(text.replace(",", "")) * (60 if unit == " min" else 1)


def told(output):
    """The lines of all draws in a test's output."""
    return TOLD.findall(output or "")


def read(line):
    """{"name", "count", "unit" ("s" or None), "of" (or None), "seed" (or None)} of such a line; None if it has another shape."""
    found = SHAPE.fullmatch(line)
    if not found:
        return None
    name, count, unit, total, seed = found.groups()
    return {"name": name, "count": number(count), "unit": unit and unit.strip(), "of": total and number(total), "seed": seed and int(seed)}


class Row:
    """A row of the page's table: a name, the counts of `check` and `check --full`, the file that asks for them."""

    def __init__(self, line, match):
        name, quick, quick_unit, full, full_unit, self.file = match.groups()
        self.name, self.line, self.isPrefix = name.removesuffix(", each"), line, name.endswith(", each")
        self.counts = (number(quick, quick_unit), number(full, full_unit))

    def covers(self, draw):
        return draw["name"].startswith(self.name + " ") if self.isPrefix else draw["name"] == self.name


def rows(root):
    """The rows of the page's table that have numbers and a file."""
    page = Path(root) / PAGE
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    return [Row(line, match) for line, content in enumerate(text.splitlines(), 1) if (match := ROW.match(content))]


def asked(root, name):
    """[(line, (count of check, count of check --full))] that a file asks for."""
    text = (Path(root) / name).read_text(encoding="utf-8")
    if name != RUNNER:
        return [(line, (int(match[1]), int(match[2]))) for line, content in enumerate(text.splitlines(), 1) for match in ASKED.finditer(content)]
    command = Path(root) / COMMAND
    default, passed = DEFAULT.search(text), PASSED.search(command.read_text(encoding="utf-8") if command.exists() else "")
    return [(text.count("\n", 0, default.start()) + 1, (int(default[1]), int(passed[1])))] if default and passed else []


def problems_of_files(table, files):
    """Where files ({name: what it asks for}) ask for other counts than the page's rows say, or for draws that it does not have."""
    expected = {}
    for row in table:
        expected.setdefault(row.file, []).append(row)
    for name, own in expected.items():
        if name not in files:
            yield f"{PAGE}:{own[0].line}: there is no {name}"
    for name, found in files.items():
        own = expected.get(name, [])
        for (line, counts), row in zip(found, own):
            if counts != row.counts:
                yield f"{name}:{line}: draws {counts[0]} and with --full {counts[1]}; {PAGE}:{row.line} says {row.counts[0]} and {row.counts[1]} ({row.name})"
        for line, _ in found[len(own):]:
            yield f"{name}:{line}: draws cases that the table of counts in {PAGE} does not have"
        for row in own[len(found):]:
            yield f"{PAGE}:{row.line}: {name} does not ask for {row.name}"


def problems_of_lines(table, lines, isFull):
    """Where lines of draws have another shape, or another count than the page's table says."""
    for line in lines:
        draw = read(line)
        if not draw:
            yield f"'{line}' is not 'generated: NAME: COUNT, seed SEED: OUTCOME'"
            continue
        for row in table:
            if row.covers(draw) and draw["count"] != row.counts[isFull]:
                yield f"{draw['name']}: {draw['count']} were drawn; {PAGE}:{row.line} says {row.counts[isFull]}"


def problems_of_test(table, test, isFull):
    """The same for a test of lit's report, and where it passed without a line of each draw that the table says is its own."""
    lines = told(test["output"])
    yield from problems_of_lines(table, lines, isFull)
    drawn = [draw for draw in map(read, lines) if draw]
    for row in table:
        if test["code"] == "PASS" and test["name"].endswith(f" :: {row.file.removeprefix('test/')}") and not any(map(row.covers, drawn)):
            yield f"{row.file} passed and told no draw of {row.name}"
