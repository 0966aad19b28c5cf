"""The programs that a file of the checkout can reach, by the links of CMake, and the tests, by their folder's layer, their text and their name:
used by changed.py."""

import functools
import re
from pathlib import Path

import passes
from layers import ALLOWED, layer, permitted

COMMAND = re.compile(r"\b(rapt_add_(?!fuzzer)\w+|add_executable|add_library|add_custom_target|target_link_libraries|add_dependencies|add_test)\(\s*(?:NAME\s+)?([\w-]+)(.*?)\)", re.DOTALL)
# Programs of which a test of a layer's folder uses that layer alone, and those below it.
OF_PARTS = {"rapt-opt", "print-imported"}
USUAL = {"raptc", "rapt-opt", "rapt-reference", "rapt-run"}
# Test folders of no layer, in the order in which a change is likely to show there; others come last.
WHOLE = ["Execute", "Examples", "Reference", "Driver", "Runtime", "Fuzz", "Simulator", "Bench", "Tools", "Packaging"]


def words(name):
    """A file's or test's name as words: "ClassifyMasks" and "attn-classify_masks" end with the same two."""
    return re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "-", name).lower())


def contains(whole, part):
    return any(whole[at:at + len(part)] == part for at in range(len(whole) - len(part) + 1))


class Programs:
    """The targets of the CMakeLists.txt files of a checkout, and which of them contain a file."""

    def __init__(self, checkout):
        self.folders, self.kinds, bodies = {}, {}, {}
        for path in checkout.files(("dialect", "lib", "tools", "test"), {".txt"}):
            if path.name == "CMakeLists.txt" and "Inputs" not in path.parts:
                for kind, name, body in COMMAND.findall(re.sub(r"#.*", "", checkout.text(path))):
                    bodies.setdefault(name, set()).update(re.findall(r"[\w.+/-]+", body))
                    if kind not in ("target_link_libraries", "add_dependencies", "add_test"):
                        self.folders[name] = path.parent
                        self.kinds[name] = kind
        self.bodies = bodies
        self.parts = {name: {word for word in bodies[name] if word in self.folders} for name in self.folders}

    def of_file(self, path):
        """The targets that have the file among their sources; of a file that none names, all of its folder's CMakeLists.txt."""
        for folder in path.parents:
            own = [name for name in self.folders if self.folders[name] == folder]
            if own:
                relative = str(path.relative_to(folder))
                return {name for name in own if relative in self.bodies[name]} or set(own)
        return set()

    def containing(self, targets):
        """All targets that contain or need one of `targets`, and those themselves."""
        found = set(targets)
        while more := {name for name, parts in self.parts.items() if name not in found and parts & found}:
            found |= more
        return found

    def named_in_tests(self):
        """The targets that the text of a test may name: no library that other targets have inside."""
        return frozenset(name for name in self.folders if not name.startswith("Rapt"))

    def unit_tests(self):
        return [name for name, kind in self.kinds.items() if kind == "rapt_add_unittest"]


def distances(source):
    """{layer: number of includes that lead from it to the layer `source`}."""
    found, front = {source: 0}, [source]
    while front:
        nearest = front.pop(0)
        for name in ALLOWED:
            if name not in found and permitted(name, nearest):
                found[name] = found[nearest] + 1
                front.append(name)
    return found


def names_of(checkout, path):
    """(names by which a test of the file may be called, those of passes or families that tests mention)."""
    text = checkout.text(path) if (checkout.root / path).is_file() else ""
    classes = set(re.findall(r"\bimpl::(Attn\w+)Base<", text))
    mentioned = {name for cls, name, *_ in passes.definitions(checkout) if cls in classes}
    if "lib/Import/Families/" in str(path):
        functions = {path.stem.lower(), *(name.lower() for name in re.findall(r"\b(?:import|DecoderFamily importing::)(\w+)(?:\(| =)", text))}
        definitions = Path("lib/Import/Families/Families.def")
        table = checkout.text(definitions) if (checkout.root / definitions).is_file() else ""
        mentioned |= {name for name, function in re.findall(r'^RAPT_(?:FAMILY|DECODER)\("([^"]+)",\s*(?:import)?(\w+)', table, re.MULTILINE) if function.lower() in functions}
    return {path.stem, *mentioned}, mentioned


class Tests:
    """The lit tests of a checkout by name, which is a path below `test` or, for a case of a script, one that begins with the script's."""

    def __init__(self, checkout, names):
        self.checkout, self.names = checkout, names
        self.scripts = {path.stem: path for path in checkout.files(("test",), {".py"})}

    @functools.cache
    def source(self, name):
        """The file that a test is in; of a case, the script that its name begins with; or None."""
        path = Path("test") / name
        if (self.checkout.root / path).is_file():
            return path
        for parent in path.parents[:-2]:  # below test
            for script in (parent.with_suffix(".py"), parent.with_suffix(".test")):
                if (self.checkout.root / script).is_file():
                    return script
        return None

    @functools.cache
    def own_text(self, name):
        source = self.source(name)
        if not source:
            return ""
        configs = (folder / "lit.local.cfg" for folder in source.parents if folder != Path("."))
        return "\n".join(self.checkout.text(path) for path in (source, *configs) if (self.checkout.root / path).is_file())

    @functools.cache
    def file_names(self, name):
        """The names of files and folders in a test's text, alone and with the folder before them."""
        found = set()
        for path in re.findall(r"[\w./-]+", self.own_text(name)):
            parts = path.split("/")
            found.update(parts, map("/".join, zip(parts, parts[1:])))
        return found

    @functools.cache
    def text(self, name):
        """The test's text and that of the scripts that it names."""
        own = self.own_text(name)
        named = sorted({stem for stem in re.findall(r"([\w-]+)\.py\b", own) if stem in self.scripts})
        return "\n".join([own, *(self.checkout.text(self.scripts[stem]) for stem in named)])

    @functools.cache
    def importing(self, stem):
        """Stems of scripts that import the module `stem`, and its own."""
        found = {stem}
        while more := {other for other, modules in self.imported().items() if other not in found and modules & found}:
            found |= more
        return found

    @functools.cache
    def imported(self):
        """{stem of a script: names that it imports}."""
        lines = re.compile(r"^[ \t]*(?:import|from) (.*)", re.MULTILINE)
        return {stem: set(re.findall(r"\w+", " ".join(lines.findall(self.checkout.text(path))))) for stem, path in self.scripts.items()}

    @functools.cache
    def programs(self, name, known):
        """Targets, of the frozen set `known`, that a test names; also USUAL of a page's commands and of a script's cases, which do not."""
        source = self.source(name)
        found = set(re.findall(r"[\w-]+", self.own_text(name))) & known
        names_all = source and source.suffix != ".py" and "run_readme.py" not in self.file_names(name)
        return found if names_all else found | (USUAL & known)

    @functools.cache
    def layer(self, name):
        name = name.replace("Target/CUDA/", "Target/GPU/NVIDIA/", 1)  # called by what a user asks for
        return layer(f"dialect/{name[8:]}" if name.startswith("Dialect/") else f"lib/{name}")

    def rank(self, name, path, reached, known):
        """How near a test is to the changed code file `path`: a sorted-by pair, or None where the change cannot reach it. `reached` are
        the targets that contain the file."""
        named, mentioned = self.calling(path)
        own, source = self.layer(name), layer(str(path))
        around = distances(source) if source else {}
        programs = self.programs(name, known)
        if own not in around and not (programs & reached) - OF_PARTS:
            return None
        if any(contains(words(name), words(other)) for other in named):
            return (1, around.get(own, 9))
        if not name.startswith("Tools/") and any(re.search(rf"(?<!\w)(?<!\w-){re.escape(other)}(?![\w-])", self.text(name)) for other in mentioned):
            return (2, around.get(own, 9))
        if own == source:  # and there the folder of the same name
            return (3, 0 if str(Path("test") / name).startswith(str(path.parent).replace("lib/", "test/", 1).replace("dialect/", "test/Dialect/", 1) + "/") else 1)
        if own in around:
            return (4, around[own])
        folder = name.split("/")[0]
        return (5, WHOLE.index(folder) if folder in WHOLE else len(WHOLE))

    @functools.cache
    def calling(self, path):
        return names_of(self.checkout, path)
