"""The table of the buffers of entries (lib/Support/EntryRoles.def) as a page."""

import csv
import re

HEAD = """# The buffers of entries

The entries around which the runtime keeps sequences have these buffers: `step`, `encode`, and `best_token` and `top_tokens`, which find likely tokens by
a step's logits. [Semantics](../Semantics.md) says what the entries do. A buffer is in the entries named with it; in parentheses are the parts of a model
without which it is not there. Shapes name dims; `...` are numbers of the model. `tokens` of a step that takes one token of each sequence is `[rows]`, and
outputs of an encoder of sound or images are `[rows, positions, ...]` in place of `[tokens, ...]`.
"""
CALLERS = """`rapt_run` has an entry `forward` for a model whose sequences the runtime keeps, on whole texts. Callers have these inputs in place of buffers; other
inputs and outputs have the names of buffers, and [batch, length, ...] in place of [tokens, ...]."""
ENTRIES = ("`step`", "`encode`", "`best_token`, `top_tokens`")


def page(text):
    def rows(macro):
        return [next(csv.reader([row], skipinitialspace=True)) for row in re.findall(rf"^RAPT_{macro}\((.*)\)$", text, re.MULTILINE)]

    def table(head, lines):
        return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *lines))

    def code(name):
        return f"`{name}`" if name else ""

    def entries(columns):
        given = [(entry, parts.replace(" | ", ", ")) for entry, parts in zip(ENTRIES, columns) if parts != "Never"]
        return ", ".join(entry if parts == "Always" else f"{entry} ({parts})" for entry, parts in given)

    roles = [(code(name), kind.lower(), element, code(shape), entries(columns), says)
             for _, name, kind, element, shape, *columns, says in rows("ENTRY_ROLE")]
    return (HEAD + table(("buffer", "kind", "type", "shape", "entries", "says"), roles)
            + "\n## Parts of a model\n" + table(("part", "says"), [row for row in rows("MODEL_PART") if row[0] != "Always"])
            + "\n## Dims\n" + table(("dim", "says"), [(code(name), says) for _, name, says in rows("ENTRY_DIM")])
            + "\n## Inputs of callers\n\n" + CALLERS + "\n"
            + table(("tensor", "shape", "says"), [(code(name), code(shape), says) for _, name, shape, says in rows("CALLER_TENSOR")]))
