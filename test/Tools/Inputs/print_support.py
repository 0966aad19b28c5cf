"""Prints the page for a tree and its build folder."""

import sys

import support

facts = support.merged(*sys.argv[1:])
print(support.page(facts, ["norm", "other"]))
