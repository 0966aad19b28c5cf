"""write_wide_page.py PAGE: writes a page whose lines are wider than 120 columns: two of prose, and those that stay."""

import sys

words = " ".join(["word"] * 24)
with open(sys.argv[1], "w", encoding="utf-8") as page:
    page.write("# Wide " + words + "\n\n" + words + " `code code code` [link](address)\n\n- " + words + " 1 - 2\n\n")
    page.write("| " + words + " |\n| --- |\n\n```\n" + words + " more\n```\n")
