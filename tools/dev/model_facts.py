"""The table of the facts about a model (lib/Support/ModelFacts.def) as a page."""

import re

HEAD = """# Facts about a model

The facts that the compiler, its libraries and the runtime share about a model. Each has one name in C++ (`ModelFacts` of lib/Support/ModelFacts.h), one in the
module attribute `attn.model` and the object `model` of the manifest, and one in `rapt_module_info` where applications get it. Both leave out a fact that
a model does not have, but for those that the manifest always has. Adding one: [add-fact](../HowTo/add-fact.md).

| in C++ | in `attn.model` | in the manifest | in C | type | says |
|---|---|---|---|---|---|
"""
ROW = re.compile(r'^RAPT_(MODEL_FACT|INFO_FACT|INFO_LIST)\((\w+), (\w+), "(\w+)", (\w+), (?:(\w+), )?(?:(\w+), )?"([^"]*)"\)$', re.MULTILINE)
TYPES = {
    "Text": "text; none: empty",
    "Number": "number; none: 0",
    "Id": "id of a token; none in C: -1",
    "Numbers": "list of numbers",
    "Names": "list of names",
}
WHEN = {"Always": "always", "WhereGiven": "where given", "Never": "never"}


def page(text):
    rows = [f"| `{member}` | `{key}` | {WHEN[when]} | {' and '.join(f'`{name}`' for name in (field, count) if name)} | {TYPES[kind]} | {says} |"
            for _, kind, member, key, when, field, count, says in ROW.findall(text)]
    return HEAD + "\n".join(rows) + "\n"
