"""prose.py PAGE...: wraps the prose of pages in Markdown at 120 columns. Tables, code, headings, quotes and HTML stay as they are, and so does a
paragraph without longer lines."""

import re
import sys
from pathlib import Path

COLUMNS = 120
FENCE = re.compile(r"[ \t]*(```|~~~)")
ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+")
# Lines that stay as they are: blank ones, headings, tables, quotes, HTML.
VERBATIM = re.compile(r"\s*$|[ \t]*(?:#|\||>|<)")
# Words of prose with what may not be torn from them: code, and links up to the end of their address.
WORD = re.compile(r"(?:`+[^`]*`+|\]\([^)\s]*\)|\S)+")
# Words that would begin something else at the beginning of a line.
MARKER = re.compile(r"(?:[-*+#>|]+|\d+[.)]|=+|<.*)$")


def paragraphs(text):
    """(index of the first line, lines, whether they are prose) of each part of a page; an item of a list is a paragraph."""
    lines, fence, first, found = text.split("\n"), None, None, []

    def close(end):
        if first is not None:
            found.append((first, lines[first:end], True))

    for index, line in enumerate(lines):
        mark = FENCE.match(line)
        code = not fence and first is None and line.startswith("    ") and not (ITEM.match(line) or in_list(lines, index))
        if fence or mark or code or VERBATIM.match(line):
            close(index)
            first = None
            found.append((index, [line], False))
            if mark and not fence:
                fence = mark[1]
            elif mark and mark[1] == fence:
                fence = None
        elif first is None or ITEM.match(line):
            close(index)
            first = index
    close(len(lines))
    return found


def in_list(lines, index):
    """Whether an indented line continues an item of a list, rather than being code: the last line before it with less indentation is in one."""
    indent = len(lines[index]) - len(lines[index].lstrip())
    for line in reversed(lines[:index]):
        if line.strip() and len(line) - len(line.lstrip()) < indent:
            return bool(ITEM.match(line)) or line.startswith(" ")
    return False


def words(text):
    """The words of a paragraph, each with the markers behind it. Only code that fills a line is torn."""
    joined = []
    for word in (part for word in WORD.findall(text) for part in (word.split() if len(word) > COLUMNS else [word])):
        if joined and MARKER.match(word):
            joined[-1] += " " + word
        else:
            joined.append(word)
    return joined


def wrap(lines):
    """A paragraph in lines of at most 120 columns, as far as its words allow it."""
    item = ITEM.match(lines[0])
    start = item[0] if item else re.match(r"[ \t]*", lines[0])[0]
    rest = re.match(r"[ \t]*", lines[1])[0] if len(lines) > 1 else " " * len(start)
    wrapped, line = [], start
    for word in words(" ".join([lines[0][len(start):], *lines[1:]])):
        if line.strip() and line != start and len(line) + 1 + len(word) > COLUMNS:
            wrapped.append(line)
            line = rest + word
        else:
            line += word if line == start else " " + word
    return [*wrapped, line]


def is_wide(lines):
    return any(len(line) > COLUMNS for line in lines) and wrap(lines) != lines


def wrapped(text):
    """The page with its wide paragraphs wrapped."""
    parts = [wrap(lines) if prose and is_wide(lines) else lines for _, lines, prose in paragraphs(text)]
    return "\n".join(line for lines in parts for line in lines)


def wide_lines(text):
    """The numbers of the lines of prose that have more than 120 columns and need not."""
    for first, lines, prose in paragraphs(text):
        if prose and is_wide(lines):
            yield from (first + 1 + index for index, line in enumerate(lines) if len(line) > COLUMNS)


def main():
    for path in map(Path, sys.argv[1:]):
        text = path.read_text(encoding="utf-8")
        if (changed := wrapped(text)) != text:
            path.write_text(changed, encoding="utf-8")


if __name__ == "__main__":
    main()
