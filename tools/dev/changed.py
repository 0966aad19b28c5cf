"""`tools/dev/check --changed`: chooses the tests and lints that a change can reach, those nearest to it first, until the seconds that they took
last fill what is left of a minute, and runs them. It says what it leaves out; `tools/dev/check` runs all."""

import json
import os
import re
import subprocess
import time
from pathlib import Path

from reach import WHOLE, Programs, Tests, contains, words
from repository import CODE, Checkout
from stamps import MADE

SECONDS = 55  # of all, by default: the goal is a minute
SHARE = 0.6  # of the seconds that tests near to the change get, if the others fill the rest
UNKNOWN = {"Execute": 15, "Fuzz": 30, "Tools": 15, "Packaging": 15, "Target": 3, "Driver": 4, "Runtime": 4}  # seconds of a test that never ran; else 1
RECORD = "check/seconds.json"
RECORD_OF_FAMILY = re.compile(r"Execute/recorded_models/([\w-]+)\.\w+")
RARE = {"rapt-lsp-server", "rapt-reduce", "survive"}  # programs of few tests, with all of MLIR inside: each takes seconds to link
SKIPPED = "skipped"  # instead of the seconds of a test that could not run here
# Lints by the files that they read; a script or module of tools/dev is its own users' as well.
TEXT = CODE | {".td", ".def", ".mlir", ".test", ".py", ".md", ".txt", ".cmake", ".in", ".json", ""}
LINTS = {
    "check-layering": lambda path: path.parts[0] in ("dialect", "lib", "tools") and path.suffix in CODE | {".td", ".txt", ".def"},
    "check-sizes": lambda path: path.parts[0] in ("dialect", "lib", "tools", "test") and path.suffix in CODE | {".td", ".py", ""},
    "check-house": lambda path: path.parts[0] in ("dialect", "lib", "tools") and path.suffix in CODE | {".td", ".def"},
    "check-style": lambda path: path.suffix in TEXT,
    "check-words": lambda path: path.suffix in TEXT | {".js", ".mjs", ".cfg"},
    "check-keys": lambda path: path.name == "DirectoryKeys.def" or (path.suffix in CODE and path.parts[0] == "lib" and path.parts[1] in ("Audio", "Formats", "Generation", "Image", "Import", "Tokenizer")),
    "check-python": lambda path: path.suffix in (".py", "") and path.parts[0] in ("dialect", "docs", "lib", "tools", "test"),
    "check-semantics": lambda path: path == Path("docs/Semantics.md") or (path.parts[0] in ("dialect", "lib", "test") and path.suffix in CODE | {".td", ".py", ".mlir", ".test"}),
    "check-coverage": lambda path: path.parts[0] in ("dialect", "lib", "test") and path.suffix in CODE | {".td", ".py", ".mlir", ".test"},
    "check-draws": lambda path: path == Path("docs/Reliability.md") or (path.parts[0] == "test" and path.suffix in (".test", ".py")),
    "check-faults": lambda path: path.parts[:3] == ("test", "Import", "Faults") or path.suffix == ".test",
    "check-docs": lambda path: path.suffix in (".md", ".td"),
    "check-generated": lambda path: path.suffix in (".td", ".def") or path.parts[:2] == ("docs", "generated"),
}
OF_FILES = {"check-sizes", "check-style", "check-words"}  # they look at each file alone


def git(root, *words_):
    done = subprocess.run(["git", "-C", str(root), *words_], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"git {words_[0]}: {done.stderr.strip()}")
    return done.stdout


def files_since(root, revision=None):
    """(what they are compared with, paths that differ from it, sorted; files that git ignores are none). Without a revision: what is not
    committed or, where nothing is, what the last commit changed."""
    def differing(base):
        return {name for name in git(root, "diff", "--name-only", "--no-renames", "-z", base, "--").split("\0") if name}

    if not (Path(root) / ".git").exists():
        raise ValueError("--changed needs a git work tree")
    fresh = {name for name in git(root, "ls-files", "-z", "--others", "--exclude-standard").split("\0") if name}
    base = revision or "HEAD"
    found = differing(git(root, "rev-parse", "--verify", "--end-of-options", f"{base}^{{commit}}").strip()) | fresh
    if not found and not revision:
        base = "HEAD^"
        found = differing(base)
    return base, sorted(map(Path, found))


class Seconds:
    """How long each test took when it last ran, in BUILD/check/seconds.json: {lit test or unit test program: seconds, or SKIPPED}."""

    def __init__(self, build):
        self.file = build / RECORD
        try:
            self.known = json.loads(self.file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.known = {}

    def of(self, name):
        known = self.known.get(name)
        return known if isinstance(known, (int, float)) else UNKNOWN.get(name.split("/")[0], 1)

    def skipped(self, name):
        return self.known.get(name) == SKIPPED

    def add(self, found):
        self.known.update(found)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.file.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(self.known, indent=0, sort_keys=True), encoding="utf-8")
        fresh.replace(self.file)


def short(name):
    """A lit test's name without its suite's."""
    return name.split(" :: ", 1)[-1]


def record(build, tests):
    """Notes the seconds of `tests` of a JSON file that lit has written."""
    ran = {short(test["name"]): SKIPPED if test["code"] == "UNSUPPORTED" else round(test["elapsed"] or 0, 2)
           for test in tests if test["code"] not in ("EXCLUDED", "SKIPPED")}
    Seconds(build).add(ran)


class Choice:
    """Lit tests, unit test programs and lints with their options; `ranks` has all lit tests that the change may reach."""

    def __init__(self, ranks, lints):
        self.ranks, self.lints, self.tests, self.units = ranks, lints, [], []


class Chooser:
    def __init__(self, root, names, seconds):
        self.checkout = Checkout(root)
        self.programs, self.tests, self.seconds = Programs(self.checkout), Tests(self.checkout, names), seconds
        self.known = self.programs.named_in_tests()

    def ranks_of(self, path):
        """{lit test: how near it is to the changed file}: 0 the test itself, 1 and 2 tests of the same name, 3 of the same folder, 4 of layers
        above, 5 of whole programs."""
        in_tests = path.parts[0] == "test"
        name = str(path.relative_to("test")) if in_tests else str(path)
        if in_tests and name in self.tests.names:
            return {name: (0, 0)}
        if path.parts[0] in ("lib", "dialect", "tools") and path.suffix not in (".py", "") and path.parts[:2] != ("tools", "cmake"):
            return self.of_code(path)
        if path.name == "lit.local.cfg" or path == Path("test/lit.cfg.py"):
            return self.of_folder(path.parent)
        if path.name in ("CMakeLists.txt", "CMakePresets.json") or path.parts[:2] == ("tools", "cmake"):
            return self.of_folder(Path("test"))
        if in_tests and path.suffix in CODE and self.programs.of_file(path):
            reached = self.programs.containing(self.programs.of_file(path))
            return {name: (1, 0) for name in self.tests.names if self.tests.programs(name, self.known) & reached}
        return self.of_mentioned(path)

    def of_code(self, path):
        reached = self.programs.containing(self.programs.of_file(path))
        ranks = {name: self.tests.rank(name, path, reached, self.known) for name in self.tests.names}
        return {name: rank for name, rank in ranks.items() if rank}

    def of_folder(self, folder):
        inside = [name for name in self.tests.names if (Path("test") / name).is_relative_to(folder)]
        return {name: (5, WHOLE.index(name.split("/")[0]) if name.split("/")[0] in WHOLE else len(WHOLE)) for name in inside}

    def of_mentioned(self, path):
        """For pages, scripts, inputs and models: tests whose text names the file, or a script that imports it."""
        is_model = path.parts[:2] == ("test", "models") and len(path.parts) > 3
        own = path.parts[2] if is_model else path.name if path.suffix else f"{path.parent.name}/{path.name}"
        of_tools = path.parts[:2] == ("tools", "dev")
        scripts = self.tests.importing(path.stem) if path.suffix == ".py" and not of_tools else set()
        users = {f"dev/{stem}" for stem in self.users(path.stem)} if of_tools else {f"{stem}.py" for stem in scripts}
        found = {}
        for name in self.tests.names:
            source, named = self.tests.source(name), self.tests.file_names(name)
            if source == path or own in named or (of_tools and f"import {path.stem}" in self.tests.own_text(name)):
                found[name] = (1, 0)
            elif users & named or (source and source.suffix == ".py" and source.stem in scripts):
                found[name] = (2, 0)
        return found

    def ranks(self, paths):
        found = {}
        for path in paths:
            for name, rank in self.ranks_of(path).items():
                found[name] = min(rank, found.get(name, rank))
        return found

    def lints(self, paths):
        chosen = {name for name, reads in LINTS.items() for path in paths if reads(path)}
        own = set().union(*(self.users(path.stem) for path in paths if path.parts[:2] == ("tools", "dev")))
        chosen |= {stem for stem in own if stem in LINTS}
        present = [path for path in paths if (self.checkout.root / path).is_file()]
        of_files = OF_FILES - own if present else set()
        return {name: [f"--only={path}" for path in present] if name in of_files else [] for name in sorted(chosen) if present or name not in OF_FILES - own}

    def users(self, stem):
        """The scripts of tools/dev that import a module there or run a script, directly or not, and itself."""
        scripts = [path for path in self.checkout.files(("tools",)) if path.parts[:2] == ("tools", "dev")]
        found, front = {stem}, [stem]
        while front:
            name = re.escape(front.pop())
            uses = re.compile(rf'^(?:import|from) (?:.*, )?{name}\b|/{name}"', re.MULTILINE)
            more = {path.stem for path in scripts if path.stem not in found and uses.search(self.checkout.text(path))}
            found |= more
            front += more
        return found

    def units(self, paths):
        """(rank, name) of unit test programs that contain a changed file, nearest first."""
        found = {}
        for path in paths:
            reached = self.programs.containing(self.programs.of_file(path))
            for name in self.programs.unit_tests():
                if name in reached:
                    folder = self.programs.folders[name].name
                    near = path.parts[0] == "test" or folder in path.parts or contains(words(name), words(path.stem))
                    found[name] = min(found.get(name, 5), 1 if near else 5)
        return sorted((rank, self.seconds.of(name), name) for name, rank in found.items())

    def installs(self, name):
        """Whether a test needs everything built: what is installed."""
        return "cmake --install" in self.tests.own_text(name) or "docs/HowTo/extend-from-outside.md" in self.tests.own_text(name)

    def choose(self, paths, budget):
        """As much of what the change may reach as `budget` seconds of one processor hold; changed tests in any case."""
        ranks = self.ranks(paths)
        choice, spent = Choice(ranks, self.lints(paths)), 0.0
        for rank, seconds, name in self.units(paths):
            if rank == 1 or spent + seconds <= budget * SHARE / 2:
                choice.units.append(name)
                spent += seconds
        able = [name for name in ranks if ranks[name][0] == 0 or not (self.seconds.skipped(name) or self.installs(name)
                                                                      or (ranks[name][0] > 2 and self.tests.programs(name, self.known) & RARE))]
        cheaper = self.cheaper(able, any(path.parts[:2] in (("lib", "Formats"), ("lib", "Import")) for path in paths))
        order = sorted(able, key=lambda name: (ranks[name], cheaper[name], self.seconds.of(name), name))
        near, far = [name for name in order if ranks[name][0] < 5], [name for name in order if ranks[name][0] == 5]
        for names, limit in ((near, budget * SHARE), (far, budget), (near, budget)):
            for name in [name for name in names if name not in set(choice.tests)]:
                seconds = self.seconds.of(name)
                if ranks[name][0] == 0 or spent + seconds <= limit:
                    choice.tests.append(name)
                    spent += seconds
        return choice

    def cheaper(self, names, is_by_family):
        """{name: how many cases of the same script take less time}: in this order the sample has a case of each script before it has two. Where an
        importer has changed, the cheapest case of each family that is held against its original's numbers comes before: importers make one program or
        another by the family."""
        found, count = {}, {}
        for name in sorted(names, key=lambda name: (self.seconds.of(name), name)):
            source = self.tests.source(name)
            script = source if source and source.suffix == ".py" else name
            family = is_by_family and RECORD_OF_FAMILY.fullmatch(name)
            script = family[1] if family else script
            found[name] = count[script] = count.get(script, -1 if family or not is_by_family else 0) + 1
        return found

    def targets(self, choice):
        """The targets that must be built for it."""
        named = set(choice.units).union(*(self.tests.programs(name, self.known) for name in choice.tests))
        named |= {"rapt-opt"} & self.known if {"check-docs", "check-coverage"} & set(choice.lints) else set()
        if any("build/aarch64" in self.tests.own_text(name) for name in choice.tests):
            named.add("aarch64-runtime")
        return {"all"} if any(self.installs(name) for name in choice.tests) else named


def pattern(name):
    return re.escape(name).replace(r"\-", "-")


def show_tests(lit, build):
    """The names of all tests, as lit lists them. ValueError where it cannot."""
    done = subprocess.run([lit, "--show-tests", str(build / "test")], capture_output=True, text=True, check=False)
    names = [short(line.strip()) for line in done.stdout.splitlines() if line.startswith("  ") and " :: " in line]
    if done.returncode or not names:
        raise ValueError(f"lit lists no tests:\n{done.stderr.strip()}")
    return names


def buildable(build, names):
    """Those of the targets that the build folder has."""
    listing = subprocess.run(["ninja", "-C", str(build), "-t", "targets", "all"], capture_output=True, text=True, check=False).stdout
    known = {line.rsplit(":", 1)[0] for line in listing.splitlines()}
    return sorted(name for name in names if name in known)


def run(args, build, checks):
    """Runs what the change can reach; `checks` is the module run_checks. The exit status."""
    begin = time.monotonic()
    try:
        base, paths = files_since(checks.ROOT, args.changed or None)
    except ValueError as error:
        print(f"tools/dev/check: {error}")
        return 1
    print(f"{len(paths)} files differ from {base}" + (f": {', '.join(map(str, paths[:5]))}{', ...' if len(paths) > 5 else ''}" if paths else ""), flush=True)
    if not (build / "build.ninja").exists() and checks.configure(build, args.preset):
        return 1
    try:
        names = show_tests(checks.lit_program(build), build)
    except ValueError as error:
        print(f"tools/dev/check: {error}")
        return 1
    chooser = Chooser(checks.ROOT, names, Seconds(build))
    first = chooser.choose(paths, args.changed_seconds * args.jobs)
    targets = buildable(build, chooser.targets(first))
    if targets and checks.compile_all(build, args.jobs, "--target", *targets):
        print(f"build failed (see {build}/check/build.log)")
        return 1
    built = time.monotonic() - begin
    print(f"== build of {len(targets)} targets: {built:.1f} s", flush=True)
    lints = sum(chooser.seconds.of(name) if not options else 0.5 for name, options in first.lints.items()) / args.jobs
    choice = chooser.choose(paths, max(0.0, args.changed_seconds - built - lints) * args.jobs)
    choice.tests = [name for name in choice.tests if name in set(first.tests)]  # no other program is built
    tallies = {}
    if choice.units:
        tallies["unit"] = checks.unit(build, args.jobs, choice.units)
    if choice.tests:
        tallies["lit"] = checks.lit(build, args.jobs, f":: ({'|'.join(pattern(name) for name in choice.tests)})$")
    if choice.lints:
        tallies["lint"] = checks.lint(build, args.jobs, choice.lints)
    for phase, tally in tallies.items():
        print("\n".join([*tally.details, f"{phase}: {tally}"]), flush=True)
    passed, failed, skipped = (sum(getattr(tally, key) for tally in tallies.values()) for key in ("passed", "failed", "skipped"))
    left = [name for name in choice.ranks.keys() - set(choice.tests) if not chooser.seconds.skipped(name)]
    targets = " and the fuzz targets" if any(MADE["fuzz"].covers(path) for path in paths) else ""
    print(f"left out {len(left)} tests that the change may reach, {sum(map(chooser.seconds.of, left)):,.0f} s by their last runs,{targets and f'{targets},'} "
          "which tools/dev/check runs")
    print(f"{passed} passed, {failed} failed, {skipped} skipped in {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0
