"""run_readme.py SOURCE BUILD WORK [PAGE...]: runs the commands of each PAGE, README.md by default, in WORK and compares what they
print with what it shows. In the place of pages, --all means README.md, the pages that docs/HowTo/README.md and docs/Tutorial.md list, in
their order, docs/Generation.md and docs/Captioner.md: as a reader who has one folder for all of them.

Commands are the lines of ```console blocks that begin with `$ `; the lines after one are all of its output, but for blank
ones. Numbers of seconds, bytes and CPU features may differ, as they do between machines; `...` stands for any text in a
line. A ```c or ```cpp block whose first line is `/* NAME */` is the file NAME, and so are a
```mlir block whose first line is `// NAME` and a ```python block whose first line is `# NAME`. A block that begins with ```LANGUAGE PATH must be a
part of the file PATH. `tools/dev/demo` and `tools/dev/check` are not run:
this test runs as part of them, or does the same.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(console|c|cpp|mlir|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"(?:/\* (\S+) \*/|// (\S+)|# (\S+))\n")
LISTED = re.compile(r"^\| \[[^\]]*\]\(([\w./-]+\.md)\)", re.MULTILINE)
QUOTE = re.compile(r"^```\w+ (\S+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
NUMBER = r"\d+(?:[.,]\d+)*"
ELSEWHERE = ("tools/dev/demo", "tools/dev/check", "git clone")


def pattern(line):
    """A regular expression for a line of output as the README shows it."""
    parts = re.split(r"(\.\.\.|\d+(?:[.,]\d+)*(?= (?:(?:s|seconds|features|[kMG]?B)\b|bytes\)))|\s+)", line.strip())
    return "".join(re.escape(part) if index % 2 == 0 else ".*" if part == "..." else r"\s+" if part.isspace() else NUMBER
                   for index, part in enumerate(parts))


def commands(text):
    """(command, lines of its output) in order; files come as ("", (name, content))."""
    for kind, body in BLOCK.findall(text):
        if kind != "console":
            if name := NAMED.match(body):
                yield "", (name[name.lastindex], body)
            continue
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, output = part.replace("\\\n", " ").partition("\n")
            yield command, [line for line in output.splitlines() if line.strip()]


def mismatch(expected, printed):
    """How what the README shows differs from what the command printed; None if it does not."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    for wanted, line in zip(expected, lines):
        if not re.fullmatch(pattern(wanted), line):
            return f"shows '{wanted}' for '{line}'"
    if len(lines) > len(expected):
        return f"leaves out '{lines[len(expected)]}'"
    return f"shows '{expected[len(lines)]}', which is not printed" if len(lines) < len(expected) else None


def all_pages(source):
    """README.md, those that the two lists of pages have, Generation.md and Captioner.md."""
    listed = [str(Path(page).parent / name) for page in ("docs/HowTo/README.md", "docs/Tutorial.md")
              for name in LISTED.findall((source / page).read_text(encoding="utf-8"))]
    return ["README.md", *listed, "docs/Generation.md", "docs/Captioner.md"]


def run_page(source, page, work):
    text = (source / page).read_text(encoding="utf-8")
    for path, part in QUOTE.findall(text):
        if part not in (source / path).read_text(encoding="utf-8"):
            sys.exit(f"{page} shows what is not in {path}:\n{part}")
    ran = 0
    for command, output in commands(text):
        if not command:
            (work / output[0]).write_text(output[1])
            continue
        if command.startswith(ELSEWHERE):
            if command.startswith("tools/") and not os.access(source / command.split()[0], os.X_OK):
                sys.exit(f"{command}: there is no such script")
            continue
        done = subprocess.run(command, shell=True, cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300)
        wrong = f"hides exit status {done.returncode}" if done.returncode else mismatch(output, done.stdout)
        if wrong:
            sys.exit(f"$ {command}\n{done.stdout}\n{page} {wrong}")
        ran += 1
    print(f"{ran} commands of {page} run", flush=True)


def main():
    source, build, work = (Path(path).resolve() for path in sys.argv[1:4])
    pages = sys.argv[4:] or ["README.md"]
    work.mkdir(parents=True, exist_ok=True)
    if shutil.which("ccache"):  # projects of CMake reuse what an earlier run compiled
        os.environ |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": str(work), "CCACHE_NOHASHDIR": "1"}
    for name, target in (("build", build), ("test", source / "test"), ("tools", source / "tools"), ("lib", source / "lib")):
        if target.exists() and not (work / name).is_symlink():
            (work / name).symlink_to(target)
    for page in all_pages(source) if pages == ["--all"] else pages:
        run_page(source, page, work)


main()
