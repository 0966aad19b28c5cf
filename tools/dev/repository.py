"""The parts that checks of the sources share: the files of a checkout, and how a check reports."""

import argparse
import functools
import shutil
import subprocess
import sys
from pathlib import Path

CODE = {".cpp", ".h", ".c", ".hpp"}


class Checkout:
    """A source tree: a git work tree, or any folder (then every file in it counts). With `only`, paths relative to the root, it has no other
    files."""

    def __init__(self, root, only=()):
        self.root, self.only = Path(root).resolve(), {Path(path) for path in only}

    def files(self, folders=("dialect", "lib", "tools", "test"), suffixes=None):
        """Files of the given top folders, sorted, as paths relative to the root. Files not yet committed count, ignored
        ones do not."""
        return sorted({path for path in self.listing()
                       if (path.parts[0] in folders or (len(path.parts) == 1 and "." in folders))
                       and (not suffixes or path.suffix in suffixes) and (not self.only or path in self.only) and (self.root / path).is_file()})

    @functools.cache
    def listing(self):
        """All files, as paths relative to the root."""
        paths = self.tracked()
        if paths is None:  # an unpacked archive: what .gitignore says, in short
            paths = [path.relative_to(self.root) for path in self.root.rglob("*") if path.is_file()]
            paths = [path for path in paths if not path.parts[0].startswith("build") and path.suffix != ".pyc"]
        return paths

    def tracked(self):
        """The files that git lists, or None where there is no work tree or no git."""
        if not (self.root / ".git").exists() or not shutil.which("git"):
            return None
        command = ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listing = subprocess.run(command, capture_output=True, check=True).stdout.decode()
        return [Path(name) for name in listing.split("\0") if name]

    @functools.cache
    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")


def arguments(description):
    """The command line of every check: which tree, and which build of it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", default=Path(__file__).resolve().parents[2], help="source tree to check")
    parser.add_argument("--build", default=None, help="build folder whose tools to use (default: ROOT/build)")
    parser.add_argument("--only", action="append", default=[], metavar="PATH", help="check-sizes, check-style, check-words: of the files of the tree, this one")
    args = parser.parse_args()
    args.build = Path(args.build or Path(args.root) / "build").resolve()
    return args


def finish(name, checked, problems):
    """Prints the problems (each `file:line: what`) and one line of counts; exits 1 if there are problems."""
    for line in problems:
        print(line)
    print(f"{name}: {checked}, {len(problems)} problem{'s' * (len(problems) != 1)}")
    sys.exit(1 if problems else 0)


def skip(name, reason):
    """Says why a check cannot run here; the test command counts it as skipped."""
    print(f"{name}: skipped: {reason}")
    sys.exit(77)
