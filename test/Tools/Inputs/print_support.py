"""Prints the page and the README's part for a tree and its build folder."""

import sys

import support

facts = support.merged(*sys.argv[1:])
print(support.page(facts, ["norm", "other"]))
print(support.readme("before." + "\n".join(("", "old")).join(support.MARKS) + "after", facts).replace(support.MARKS[0], "").replace(support.MARKS[1], ""))
print(support.readme("no marks", facts))
