"""A program around the example in the header of a model, once every rapt_... that the header names is declared."""

import pathlib
import re
import sys

header = pathlib.Path(sys.argv[1]).read_text()
declared = "".join(path.read_text() for path in pathlib.Path(sys.argv[2]).glob("*.h"))
for name in set(re.findall(r"\brapt_[a-z_]+\b", header)):
    assert re.search(rf"\b{name}\b", declared), f"the header names {name}, which no header of Rapt declares"
lines = re.findall(r"^ \*   (.*)", header, re.MULTILINE)
assert lines, "the header has no example"
print('#include "model.h"', "#include <rapt/rapt.h>", "int main(void) {", *lines, "rapt_module_release(module);", "return status;", "}", sep="\n")
