"""Whether worked examples fit the sources: examples.py FOLDER SOURCE BUILD COPIES

Each FOLDER/*.patch begins with a line `At most N files: what it adds`. It must apply to a copy of the folders that it changes, touch no more than N files, and the
sources that it changes or adds, or whose tables (.def) it changes, must compile in the copy, by the commands of BUILD/compile_commands.json."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

examples, source, build, copies = (Path(word) for word in sys.argv[1:])
SUFFIXES = (".cpp", ".def", ".h", ".td", ".txt", ".md", ".test", ".mlir", ".py")


def touched(patch):
    """The files that a patch changes, adds or removes."""
    names = re.findall(r"^(?:---|\+\+\+) (?:a|b)/(\S+)", patch, re.M)
    return sorted(set(names))


def copy(files, folder):
    """Copies the top folders of the files."""
    shutil.rmtree(folder, ignore_errors=True)
    for top in {name.split("/")[0] for name in files}:
        shutil.copytree(source / top, folder / top, ignore=lambda at, names: [name for name in names if not (name.endswith(SUFFIXES) or os.path.isdir(os.path.join(at, name)))])


def apply(patch, folder):
    """Applies a patch; returns the message of git where that fails."""
    environment = dict(os.environ, GIT_CEILING_DIRECTORIES=str(folder.parent))  # else it looks for the repository that the copy is in
    return subprocess.run(["git", "apply", str(patch)], cwd=folder, env=environment, capture_output=True, text=True, check=False).stderr


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


def compile_file(name, folder, commands):
    """Compiles a file; returns the messages of the compiler where that fails."""
    found = words_for(name, commands)
    if not found:
        return "no file of its folder is compiled"
    words, directory, file = found
    compiler = 1 if words[0].endswith("ccache") else 0
    line, rest = [words[compiler], f"-I{folder}"], iter(words[compiler + 1 :])
    for word in rest:
        if word == "-o":
            next(rest)
        elif word == "-include-pch":  # made of headers that the copy has, too
            header = re.sub(r"CMakeFiles/[^/]*[.]dir/", "", next(rest).removesuffix(".pch").removesuffix(".o"))
            line += ["-include", header if os.path.exists(os.path.join(directory, header)) else "/" + header]
        elif word == "-c":
            line += ["-fsyntax-only", "-ferror-limit=3"]
        else:
            line.append(str(folder / name) if word == file else word)
    done = subprocess.run(line, cwd=directory, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def problem(patch, commands):
    """Returns the fault of an example; empty if there is none."""
    text = patch.read_text()
    head = re.match(r"At most (\d+) files?: .", text)
    if not head:
        return "the first line is not `At most N files: what it adds`"
    files, folder = touched(text), copies / patch.stem
    if len(files) > int(head[1]):
        return f"touches {len(files)} files: {', '.join(files)}"
    copy(files, folder)
    if said := apply(patch.resolve(), folder):
        return f"does not apply: make it anew for the files as they are\n{said}"
    for name in sources(files, folder):
        if said := compile_file(name, folder, commands):
            return f"{name} does not compile\n{said}"
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
