"""Whether worked examples fit the sources: examples.py FOLDER SOURCE BUILD COPIES [--full]

Each FOLDER/*.patch begins with a line `At most N files: what it adds`. It must apply to a copy of the sources and touch no more than N files. The copy is of links but for the files that the patch
changes and the folders they are in. The sources that the patch changes or adds, or whose tables (.def) it changes, must compile in the copy, by the commands of BUILD/compile_commands.json; of a definition
(.td) the headers are generated anew before. A precompiled header that has a file of the patch inside is left out, and the one that it builds upon is taken.

With --full a patch whose second line is `Built: TARGETS; tested: FILTER` is built in a copy of its own, and the lit tests that match are run there."""

import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

examples, source, build, copies = (Path(word).resolve() for word in sys.argv[1:5])
is_full = "--full" in sys.argv[5:]
INCLUDE = re.compile(r'^include "([^"]+)"', re.M)


def touched(patch):
    """The files that a patch changes, adds or removes."""
    names = re.findall(r"^(?:---|\+\+\+) (?:a|b)/(\S+)", patch, re.M)
    return sorted(set(names))


def is_within(path, folder):
    return Path(path).is_relative_to(folder)


def link(files, folder, at=""):
    """Fills a folder with links to what SOURCE/at has, and copies of `files`, with the folders that they are in."""
    folder.mkdir(parents=True)
    for entry in os.scandir(source / at):
        name = os.path.join(at, entry.name)
        if name in files:
            shutil.copy(entry.path, folder / entry.name)
        elif any(is_within(file, name) for file in files):
            link(files, folder / entry.name, name)
        elif Path(entry.path) != build and not entry.name.startswith("."):
            (folder / entry.name).symlink_to(entry.path)


def apply(patch, folder):
    """Applies a patch; returns the message of git where that fails."""
    environment = dict(os.environ, GIT_CEILING_DIRECTORIES=str(folder.parent))  # else it looks for the repository that the copy is in
    return subprocess.run(["git", "apply", str(patch)], cwd=folder, env=environment, capture_output=True, text=True, check=False).stderr


def definitions(name, folder):
    """A definition (.td) of the copy and all that it includes."""
    found, left = set(), [name]
    while left:
        name = left.pop()
        if name not in found and (folder / name).exists():
            found.add(name)
            left += INCLUDE.findall((folder / name).read_text())
    return found


@functools.cache
def build_commands():
    """The lines of the build."""
    return subprocess.run(["ninja", "-t", "commands"], cwd=build, capture_output=True, text=True, check=True).stdout.splitlines()


@functools.cache
def launcher():
    """The words of the compiler cache, which the build puts ahead of the compiler's; none without a cache."""
    return next((found[1].split() for line in build_commands() if (found := re.match(r"(/usr/bin/env CCACHE_.*?/ccache) ", line))), [])


def generate(files, folder, made):
    """Generates into `made` what the build generates of the changed definitions; returns (paths in BUILD, the messages where that fails)."""
    changed = {name for name in files if name.endswith(".td")}
    if not changed:
        return [], ""
    outputs = []
    for _, at, _, *words in map(shlex.split, sorted({line for line in build_commands() if re.match(r"cd \S+ && \S+-tblgen -gen-", line)})):
        name = next((os.path.relpath(word, source) for word in words if word.endswith(".td") and is_within(word, source)), None)
        if not name or not changed & definitions(name, folder):
            continue
        output = os.path.relpath(os.path.join(at, words[words.index("-o") + 1]), build)
        (made / output).parent.mkdir(parents=True, exist_ok=True)
        # Definitions are looked for where the command runs, then in the folders of -I.
        line = [str(folder / name) if word == str(source / name) else word for word in words[: words.index("-o")]] + ["-o", str(made / output)]
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            return outputs, f"{name} is not well-formed\n{done.stderr}"
        outputs.append(output)
    return outputs, ""


def sources(files, folder):
    """The sources to compile."""
    wanted = {name for name in files if name.endswith(".cpp") and (folder / name).exists()}
    for table in (name for name in files if name.endswith(".def")):
        for path in (folder / table).parent.glob("*.cpp"):
            if f'#include "{table}"' in path.read_text():
                wanted.add(str(path.relative_to(folder)))
    return sorted(wanted)


def words_for(name, commands):
    """The compiler's words for a file, of a neighbor where it is new; None where there is no neighbor."""
    near = [entry for file, entry in sorted(commands.items()) if file == name or file.rsplit("/", 1)[0] == name.rsplit("/", 1)[0]]
    entry = commands.get(name) or (near[0] if near else None)
    return entry and (shlex.split(entry["command"]), entry["directory"], entry["file"])


def header_of(compiled):
    """The header that a precompiled header is made of."""
    header = re.sub(r"CMakeFiles/[^/]*[.]dir/", "", compiled.removesuffix(".pch").removesuffix(".o"))
    return header if (build / header).exists() else "/" + header


def has_inside(compiled, changed):
    """Whether a precompiled header is not there, or has a file inside that changed."""
    listed = subprocess.run(["ninja", "-t", "deps", compiled.removesuffix(".pch")], cwd=build, capture_output=True, text=True, check=False).stdout
    return not (build / compiled).exists() or any((build / line.strip()).resolve() in changed for line in listed.splitlines()[1:])


def including(compiled, changed, commands):
    """The words that include a precompiled header; those of its header, if it is not as the copy has it."""
    if not has_inside(compiled, changed):
        return ["-include-pch", compiled]
    header = header_of(compiled)
    words = commands.get(os.path.relpath(build / header, source), {}).get("command", "")
    base = re.search(r"-include-pch (\S+)", words)
    return (including(base[1], changed, commands) if base else []) + ["-include", header]


def compile_file(name, folder, made, changed, commands):
    """Compiles a file; returns the messages of the compiler where that fails."""
    found = words_for(name, commands)
    if not found:
        return "no file of its folder is compiled"
    words, directory, file = found
    line, rest = [*launcher(), words[0], f"-I{made}", f"-I{folder}"], iter(words[1:])
    made.mkdir(exist_ok=True)
    for word in rest:
        if word == "-o":
            line += ["-o", str(made / next(rest).replace("/", "."))]
        elif word == "-include-pch":
            line += including(next(rest), changed, commands)
        elif word == "-c":
            line += ["-emit-llvm", "-Xclang", "-disable-llvm-passes", "-ferror-limit=3", "-c"]  # checks everything and generates no code
        elif word == file:
            line.append(str(folder / name))
        elif word.startswith("-I") and is_within(word[2:], source) and not is_within(word[2:], build):
            line.append(f"-I{folder / os.path.relpath(word[2:], source)}")
        else:
            line.append(word)
    done = subprocess.run(line, cwd=directory, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def build_copy(patch, targets, tests):
    """Builds targets in a copy of the sources with a patch, and runs tests; returns the messages where that fails."""
    folder = copies / (patch.stem + ".built")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder, symlinks=True, ignore=shutil.ignore_patterns("build*", ".git", "Output"))
    apply(patch, folder)
    lit = next(line.partition("=")[2].strip() for line in (build / "CMakeCache.txt").read_text().splitlines() if line.startswith("RAPT_LIT:"))
    environment = {name: value for name, value in os.environ.items() if name not in ("RAPT_PASSED", "RAPT_COMPILED", "RAPT_BUILD")}
    for command in (["cmake", "--preset", "dev"], ["cmake", "--build", "build", "-j2", "--target", *targets], [lit, "-s", "-j2", "build/test", "--filter", tests]):
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{shlex.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    shutil.rmtree(folder)
    return ""


def problem(patch, commands):
    """Returns the fault of an example; empty if there is none."""
    text = patch.read_text()
    head = re.match(r"At most (\d+) files?: .*\n(?:Built: (.*); tested: (.*)\n)?", text)
    if not head:
        return "the first line is not `At most N files: what it adds`"
    files, folder, made = touched(text), copies / patch.stem, copies / (patch.stem + ".made")
    if len(files) > int(head[1]):
        return f"touches {len(files)} files: {', '.join(files)}"
    for old in (folder, made):
        shutil.rmtree(old, ignore_errors=True)
    link(set(files), folder)
    if said := apply(patch, folder):
        return f"does not apply: make it anew for the files as they are\n{said}"
    outputs, said = generate(files, folder, made)
    if said:
        return said
    changed = {source / name for name in files} | {build / name for name in outputs}
    for name in sources(files, folder):
        if said := compile_file(name, folder, made, changed, commands):
            return f"{name} does not compile\n{said}"
    if is_full and head[2] and (said := build_copy(patch, head[2].split(), head[3])):
        return f"does not pass its tests\n{said}"
    return ""


with open(build / "compile_commands.json") as opened:
    known = {os.path.relpath(entry["file"], source): entry for entry in json.load(opened)}
problems = 0
patches = sorted(examples.glob("*.patch"))
for one in patches:
    if wrong := problem(one, known):
        problems += 1
        print(f"{one.name}: {wrong}")
print(f"examples: {len(patches)} patches, {problems} problems")
sys.exit(1 if problems else 0)
