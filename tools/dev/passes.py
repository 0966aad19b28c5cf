"""Reads from the sources on which stage each pass runs (checkStage) and after which passes (the pipelines): used by
generate-docs and check-docs."""

import re

STAGES = ("imported", "canonical", "laid-out", "tiled", "backend", "llvm-dialect")
DEFINITION = re.compile(r'^def (\w+) : Pass<"([\w-]+)"(.*?)(?=^def |\Z)', re.DOTALL | re.MULTILINE)
CONTRACT = re.compile(r"^( *)void (?:rapt::)?addContract\(.*?^\1}", re.DOTALL | re.MULTILINE)
PIPELINES = ("lib/Driver/Compile.cpp", "lib/Pipelines/Pipelines.cpp")


def definitions(checkout):
    """(class, name on the command line, definition, .td path) of every pass."""
    for path in checkout.files(("lib",), {".td"}):
        if path.name == "Passes.td":
            for match in DEFINITION.finditer(checkout.text(path)):
                yield match[1], match[2], match[3], path


def stage_named(enumerator):
    return "llvm-dialect" if enumerator == "LLVMDialect" else re.sub(r"(?<=[a-z])(?=[A-Z])", "-", enumerator).lower()


def stages(checkout):
    """Class of a pass -> stages on whose text it runs, in order; nothing for a pass that runs on each."""
    result = {}
    for path in checkout.files(("lib",), {".cpp"}):
        text = checkout.text(path)
        for cls, body in re.findall(r"impl::(Attn\w+)Base<.*?runOnOperation\(\) override \{(.*?checkStage\(\*this, .*?\)\)\))", text, re.DOTALL):
            found = {stage_named(stage) for stage in re.findall(r"Stage::(\w+)", body)}
            result[cls] = [stage for stage in STAGES if stage in found]
    return result


def targets(checkout):
    """The names of the targets, whose classes are in files of these names."""
    text = "".join(checkout.text(path) for path in checkout.files(("lib",), {".def"}) if path.name == "Targets.def")
    return re.findall(r"^RAPT_TARGET\((\w+)\)", text, re.MULTILINE)


def order(checkout):
    """[(target or None, passes in their order)]: of the driver and the common pipeline, and of each target."""
    on = stages(checkout)
    result = []
    sources, known = [(None, PIPELINES)], targets(checkout)
    sources += sorted((path.stem.lower(), (str(path),)) for path in checkout.files(("lib",), {".cpp"})
                      if path.parts[:2] == ("lib", "Target") and path.stem.lower() in known)
    for target, paths in sources:
        names = [name for path in paths if (checkout.root / path).exists()
                 for name in re.findall(r"addPass\(create(Attn\w+)\(", CONTRACT.sub("", (checkout.root / path).read_text()))]
        # A target's functions come in any order, but a pass runs on the stage before the one that it leads to.
        key = lambda name: STAGES.index((on.get(name) or STAGES)[0])
        result.append((target, sorted(names, key=key) if target else names))
    return result


def lines(checkout):
    """Name of a pass -> the line on its stage and its predecessors."""
    on = stages(checkout)
    names = {cls: name for cls, name, *_ in definitions(checkout)}
    before = {}
    last = None
    for target, passes in order(checkout):
        previous = last if target else None
        for cls in passes:
            if cls == "AttnSetStage":
                continue
            if previous and cls in names:
                before.setdefault(cls, {}).setdefault(names[previous], []).append(target)
            previous = cls
        last = last if target else previous
    result = {}
    for cls, name in names.items():
        found = on.get(cls)
        stage = ", ".join(found) if found else "any"
        if cls.startswith("AttnVerify") and cls != "AttnVerifyImported":
            after = "all passes that lead to its stage"
        elif cls == "AttnSetStage":
            after = "the contract of each stage"
        else:
            after = ", ".join(f"`{previous}`" + (f" ({', '.join(targets)})" if None not in targets else "")
                              for previous, targets in before.get(cls, {}).items()) or "none"
        result[name] = f"Stage: {stage}; runs after: {after}."
    return result
