"""The features that tests have shown to work: used by generate-docs and check-coverage.

Comparisons note what they have shown when they pass (test/Execute/passed.py). docs/generated/Support.json keeps the notes of
each script and way of running it, of all its cases. Notes of `check --full` take the place of what it has; those of a daily run, which compares less, are
added. The tables are made from it alone, so that a cell stands for a comparison that passed.
"""

import json
from pathlib import Path

FILE = "docs/generated/Support.json"
INTRODUCTION = """# Support

Models may have any width, depth and vocabulary. Every `yes` is backed by a passing test that compares numbers with an
independent implementation: `import` is tested with the reference evaluator, all other columns with compiled code.
Quantized weights, attention weights and some of bf16 and f16 are compared with the evaluator, which runs the same
program on the same rounded weights; `-` means there that no comparison has been run. The ids of a tokenizer are compared
with those of Hugging Face's library; the name in parentheses is the file of test/Tokenizer/vectors that has the same
stages and flags as the family's tokenizers.

## Families
"""
COLUMNS = ("import", "f32", "bf16", "f16", "quantize", "attention-weights", "prefill", "decode", "tokenizer", "head")


def committed(root):
    path = Path(root) / FILE
    return json.loads(path.read_text()) if path.exists() else {}


def noted(folder, known):
    """{script and way: facts} of the files of a folder that are newer than the time `known`; each case of a script may have one."""
    found = {}
    for path in folder.glob("* *"):
        if path.stat().st_mtime > known:
            found.setdefault(" ".join(path.name.split(" ")[:2]), set()).update(path.read_text().splitlines())
    return {name: sorted(lines) for name, lines in found.items()}


def merged(root, build):
    """{script and way: facts}: what is committed, with the results of this build's tests. Results older than the
    committed file say nothing: it may know more."""
    facts, folder = committed(root), Path(build) / "test" / "passed"
    file = Path(root) / FILE
    known = file.stat().st_mtime if file.exists() else 0
    facts |= noted(folder / "full", known)
    for name, lines in noted(folder, known).items():
        facts[name] = sorted({*facts.get(name, []), *lines})
    scripts = {path.name for path in (Path(root) / "test").rglob("*.py")}
    return {name: facts[name] for name in sorted(facts) if name.split()[0] in scripts}


def as_json(facts):
    return json.dumps(facts, indent=1) + "\n"


def words(facts, kind):
    """The words behind `kind` of every fact, with the script that noted it."""
    for name, lines in facts.items():
        for line in lines:
            first, *rest = line.split(" ")
            if first == kind:
                yield rest, name.split()[0].removesuffix(".py")


def families(facts):
    """The table's lines."""
    cells = {}
    for (family, column, *detail), _ in words(facts, "family"):
        cells.setdefault(family, {}).setdefault(column, set()).add(" ".join(detail))

    def show(column, found):
        if column == "head":
            names = {name.rsplit("For", 1)[1] if "For" in name else "base" for name in found if not name.endswith("LMHeadModel")}
            return ", ".join(sorted(names - {"CausalLM", "ConditionalGeneration"}, key=lambda name: (name == "base", name)))
        # "WordPiece (bert)" says more than "WordPiece": which form of a family's was compared.
        names = {name for name in found if not any(other.startswith(name + " (") for other in found)}
        return ", ".join(sorted(names)) or "yes"

    rows = ["| family | " + " | ".join(COLUMNS) + " |", "| --- |" + " --- |" * len(COLUMNS)]
    for family, own in sorted(cells.items()):
        shown = [show(column, own[column]) if column in own else "" for column in COLUMNS]
        rows.append(f"| {family} | " + " | ".join(cell or "-" for cell in shown) + " |")
    return rows


def ops(facts):
    """{op: {"reference" or "compiled": scripts}}"""
    found = {}
    for (op, way), script in words(facts, "op"):
        found.setdefault(op, {}).setdefault(way, set()).add(script)
    return found


def page(facts, names):
    lines = [INTRODUCTION, *families(facts), "", "## Ops", "", "| op | reference | CPU | tests |", "| --- | --- | --- | --- |"]
    found = ops(facts)
    for name in names:
        own = found.get(name, {})
        tests = sorted(set().union(*own.values())) if own else []
        yes = ["yes" if way in own else "-" for way in ("reference", "compiled")]
        lines.append(f"| `attn.{name}` | {yes[0]} | {yes[1]} | {', '.join(tests) or '-'} |")
    return "\n".join(lines)
