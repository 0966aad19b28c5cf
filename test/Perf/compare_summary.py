"""The table of quiet and shared medians in docs/Performance.md."""

from pathlib import Path

HEAD = "| what, quiet / shared | threads | Rapt | of the limit | fastest peer | times faster |\n|---|---|---|---|---|---|"
BEGIN, END = "<!-- avx2: test/Perf/compare --write writes these rows -->", "<!-- end of avx2 -->"


def key(line):
    """A row's name and threads."""
    return tuple(cell.strip() for cell in line.split("|")[1:3])


def text(lines):
    return "\n".join([HEAD, *lines])


def write(page, lines):
    """Puts the lines into the page's table, in the place of rows of the same name and threads or behind all."""
    before, rest = Path(page).read_text(encoding="utf-8").split(BEGIN)
    table, after = rest.split(END)
    rows = {key(line): line for line in table.strip().splitlines()[2:]}
    rows.update((key(line), line) for line in lines)
    Path(page).write_text(f"{before}{BEGIN}\n{text(rows.values())}\n{END}{after}", encoding="utf-8")
