#!/usr/bin/env python3
"""The text tiny-gpt is trained on: the King James Bible from Debian's packages bible-kjv and bible-kjv-text.

    text.py --train train.txt --heldout heldout.txt

Every 40th chapter (counted over the whole work, starting with the 20th) is held out; the rest is training text. A
chapter is its heading ("Genesis 1") and one verse a line; chapters are joined by an empty line. The text is pure
ASCII. Prints the SHA-256 of both parts, which must equal those in README.md.
"""

import argparse
import hashlib
import re
import subprocess

BOOKS = """Genesis;Exodus;Leviticus;Numbers;Deuteronomy;Joshua;Judges;Ruth;1 Samuel;2 Samuel;1 Kings;2 Kings
1 Chronicles;2 Chronicles;Ezra;Nehemiah;Esther;Job;Psalm;Proverbs;Ecclesiastes;Song of Solomon;Isaiah;Jeremiah
Lamentations;Ezekiel;Daniel;Hosea;Joel;Amos;Obadiah;Jonah;Micah;Nahum;Habakkuk;Zephaniah;Haggai;Zechariah;Malachi
Matthew;Mark;Luke;John;Acts;Romans;1 Corinthians;2 Corinthians;Galatians;Ephesians;Philippians;Colossians
1 Thessalonians;2 Thessalonians;1 Timothy;2 Timothy;Titus;Philemon;Hebrews;James;1 Peter;2 Peter;1 John;2 John
3 John;Jude;Revelation""".replace("\n", ";").split(";")
CHAPTERS = 1189
HELD_OUT_PERIOD = 40
HELD_OUT_FIRST = 19

REFERENCE = re.compile(r"^\d?[A-Za-z]+(\d+):(\d+) (.*)$")


def chapters():
    """The chapters in order, each a string that ends with one newline."""
    command = "gen1:1-rev22:21\n"
    dump = subprocess.run(["bible", "-f", "-l0"], input=command, capture_output=True, text=True, check=True).stdout
    result, book, last = [], -1, (None, 0)
    for line in dump[dump.index(command) :].splitlines():  # a greeting and the command's echo come before
        match = REFERENCE.match(line)
        if not match:
            continue
        chapter, verse = int(match.group(1)), int(match.group(2))
        if verse == 1:
            book += chapter == 1
            result.append(f"{BOOKS[book]} {chapter}\n")
            last = (chapter, 0)
        if (chapter, verse) != (last[0], last[1] + 1):
            raise SystemExit(f"text.py: '{line[:40]}' does not follow verse {last[0]}:{last[1]} of {BOOKS[book]}")
        last = (chapter, verse)
        result[-1] += match.group(3).strip() + "\n"
    if book != len(BOOKS) - 1 or len(result) != CHAPTERS:
        raise SystemExit(f"text.py: {book + 1} books and {len(result)} chapters, expected {len(BOOKS)} and {CHAPTERS}")
    return result


def split(everything):
    """(training chapters, held-out chapters)"""
    held = [c for i, c in enumerate(everything) if i % HELD_OUT_PERIOD == HELD_OUT_FIRST]
    kept = [c for i, c in enumerate(everything) if i % HELD_OUT_PERIOD != HELD_OUT_FIRST]
    return kept, held


def join(parts):
    return "\n".join(parts).encode("ascii")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True)
    parser.add_argument("--heldout", required=True)
    options = parser.parse_args()
    for path, part in zip((options.train, options.heldout), split(chapters())):
        data = join(part)
        with open(path, "wb") as file:
            file.write(data)
        print(f"{hashlib.sha256(data).hexdigest()}  {path}: {len(part)} chapters, {len(data)} bytes")


if __name__ == "__main__":
    main()
