#!/usr/bin/env python3
r"""Runs the cases of a test: a model directory with a small change each, and what a program says of it.

cases.py BUILD TEST SCRATCH [--only LINE]. TEST has these lines, and others that say what and why, up to the first of its files:

  COMMAND: PROGRAM ARGUMENTS   what the cases below run, all in one process by its --batch; {model} is the directory of a case, {out} an
                               empty one beside it, {source} the checkout, {build} its build
  MAKE: NAME SCRIPT [...]      the directory NAME is what this script writes, given the directory and these arguments; one of test/Reference/numpy, or
                               @FILE of TEST
  CASE: NAME [{...}] [...]     one case: a copy of the directory NAME, with these members in its config.json; the arguments behind follow COMMAND's.
                               NAME is models/M for that folder of test/models, and - for a config.json with these members alone
  //--- NAME/FILE              a file of the directory NAME, up to the next such line

Below CASE, the other changes of the copy:

  REMOVE: FILE                 removes a file; KEY of config.json where it is FILE#KEY
  CHANGE: FILE {...}           the JSON file gets these members, as config.json by CASE
  WRITE: FILE TEXT             makes or replaces a file; the file of TEST is copied where TEXT is @NAME
  EDIT: FILE: OLD => NEW       replaces OLD, which is there, everywhere in a file
  SCRIPT: SCRIPT [...]         runs a script as MAKE does

and what comes of it. {{...}} in a text is a regular expression.

  ERROR: TEXT, WARNING: TEXT   the lines on stderr, each as a whole, all of them in this order, without the program's name and the directory
  SAME: TEXT                   also stands in the line above, behind its text, with anything between and behind
  STATUS: N                    the exit status; otherwise 1 where there is an ERROR, and 0 where not
  PRINTS: TEXT                 stdout has this text; several in this order
  FILECHECK: PREFIX [-DX=Y]    FileCheck finds the lines of TEST with this prefix in stdout, or with several: A,B
  EQUAL: NAME                  stdout is that of an earlier case, which has the line NAMED: NAME

An ERROR leaves nothing in {out}. A case that fails keeps its directory and is shown with the command that repeats it."""

import argparse
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys

import batch

HERE = os.path.dirname(os.path.abspath(__file__))
KEYWORD = re.compile(r"([A-Z]+(?:-[A-Z]+)*): ?(.*)")
PREFIX = re.compile(r"(?:--check-prefix(?:es)?|%\{\w+\})=([\w,-]+)|^FILECHECK: (\S+)")
SUFFIX = re.compile(r"-(NEXT|SAME|NOT|DAG|LABEL|EMPTY)$")
EXPECTATIONS = ("ERROR", "WARNING", "PRINTS", "FILECHECK", "EQUAL")
CHANGES = ("REMOVE", "CHANGE", "WRITE", "EDIT", "SCRIPT")


class Wrong(Exception):
    """A fault of the test itself."""


def pattern(text):
    """The regular expression of a text with {{...}}."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(part if i % 2 else re.escape(part) for i, part in enumerate(parts))


class Case:
    def __init__(self, number, text, command):
        self.number, self.command, self.changes, self.status, self.name = number, command, [], None, None
        self.said = []  # [kind, pattern, text] of the lines of stderr
        self.prints, self.checks, self.equal, self.expectations = [], [], None, 0
        self.base, _, rest = text.partition(" ")
        self.config = {}
        if re.match(r'\{["}]', rest):
            self.config, end = json.JSONDecoder().raw_decode(rest)
            rest = rest[end:]
        self.arguments = shlex.split(rest)

    def add(self, keyword, text):
        self.expectations += keyword in EXPECTATIONS
        if keyword in CHANGES:
            self.changes.append((keyword, text))
        elif keyword in ("ERROR", "WARNING"):
            self.said.append([keyword.lower(), pattern(text), text])
        elif keyword == "SAME" and self.said:
            self.said[-1][1] = self.said[-1][1].removesuffix(".*") + ".*" + pattern(text) + ".*"
        elif keyword == "STATUS":
            self.status = int(text)
        elif keyword == "PRINTS":
            self.prints.append(text)
        elif keyword == "FILECHECK":
            self.checks.append(shlex.split(text))
        elif keyword == "EQUAL":
            self.equal = text
        elif keyword == "NAMED":
            self.name = text
        else:
            raise Wrong(f"{keyword} has no place there")

    def isRefused(self):
        return any(kind == "error" for kind, _, _ in self.said)


class Test:
    """The cases of a file, the scripts that make directories, and its own files."""

    def __init__(self, path):
        self.path, self.cases, self.makes, self.files = path, [], {}, {}
        with open(path, encoding="utf-8") as file:
            whole = file.read()
        text, *files = re.split(r"^//--- (.*)\n", whole, flags=re.MULTILINE)
        self.lines, self.files = whole.splitlines(), dict(zip(files[::2], files[1::2]))
        self.command = None
        lines = text.splitlines()
        named = [match[1] or match[2] for line in lines if line.startswith(("RUN: ", "FILECHECK: ")) for match in PREFIX.finditer(line)]
        others = {"RUN", "REQUIRES", "DEFINE", "CHECK", *",".join(named).split(",")}
        for number, line in enumerate(lines, 1):
            match = KEYWORD.fullmatch(line)
            if match and SUFFIX.sub("", match[1]) not in others:
                try:
                    self.add(number, match[1], match[2])
                except (Wrong, ValueError) as error:
                    raise Wrong(f"{path}:{number}: {error}") from error
        for case in self.cases:
            if not case.expectations:
                raise Wrong(f"{path}:{case.number}: the case expects nothing")
        if not self.cases:
            raise Wrong(f"{path}: has no CASE")

    def add(self, number, keyword, text):
        if keyword == "COMMAND":
            self.command = text.split()
        elif keyword == "MAKE":
            name, *words = shlex.split(text)
            self.makes[name] = words
        elif keyword == "CASE":
            if not self.command:
                raise Wrong("no COMMAND is above")
            self.cases.append(Case(number, text, self.command))
        elif not self.cases:
            raise Wrong("no CASE is above")
        else:
            self.cases[-1].add(keyword, text)


def run_script(script, arguments):
    """Runs a Python script in this process, with the modules of test/Reference/numpy."""
    saved = sys.argv, sys.path[:]
    sys.argv, sys.path[0:0] = [script, *arguments], [os.path.join(HERE, "Reference", "numpy")]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise Wrong(f"{script} exits with {end.code}") from end
    finally:
        sys.argv, sys.path[:] = saved


class Runner:
    def __init__(self, test, build, scratch):
        self.test, self.build, self.scratch = test, build, scratch
        self.failures, self.printed = 0, {}

    def base(self, name):
        """The directory NAME, made where it is asked for first."""
        directory = os.path.join(self.scratch, "bases", name)
        if os.path.isdir(directory):
            return directory
        if name.startswith("models/"):
            shutil.copytree(os.path.join(HERE, name), directory)
        elif name in self.test.makes:
            self.make(directory, self.test.makes[name])
        else:
            own = {path: text for path, text in self.test.files.items() if path.startswith(name + "/")}
            if not own:
                raise Wrong(f"no directory '{name}': a MAKE line or a file //--- {name}/config.json gives it")
            for path, text in own.items():
                write(os.path.join(self.scratch, "bases", path), text)
        return directory

    def make(self, directory, words):
        """Runs a script of a MAKE or SCRIPT line."""
        script = os.path.join(HERE, "Reference", "numpy", words[0])
        if words[0].startswith("@"):
            script = write(os.path.join(self.scratch, words[0][1:]), self.test.files[words[0][1:]])
        run_script(script, [directory, *words[1:]])

    def prepare(self, case):
        """Makes the directories of a case; returns the program's arguments."""
        place = os.path.join(self.scratch, str(case.number))
        model, out = os.path.join(place, "model"), os.path.join(place, "out")
        if case.base == "-":
            write(os.path.join(model, "config.json"), "{}")
        else:
            isWritten = any(keyword == "SCRIPT" for keyword, _ in case.changes)  # a link is a file of other cases, too
            shutil.copytree(self.base(case.base), model, copy_function=shutil.copyfile if isWritten else os.link)
        os.mkdir(out)
        if case.config:
            change_json(os.path.join(model, "config.json"), lambda config: {**config, **case.config})
        for keyword, text in case.changes:
            self.change(model, keyword, text)
        case.model, case.out = model, out
        return [word.replace("{model}", model).replace("{out}", out).replace("{source}", os.path.dirname(HERE)).replace("{build}", self.build)
                for word in case.command[1:] + case.arguments]

    def change(self, model, keyword, text):
        name, _, rest = text.partition(" ")
        if keyword == "REMOVE" and "#" in name:
            path, key = name.split("#")
            change_json(os.path.join(model, path), lambda members: {name: value for name, value in members.items() if name != key}, key)
        elif keyword == "CHANGE":
            change_json(os.path.join(model, name), lambda members: {**members, **json.loads(rest)})
        elif keyword == "REMOVE":
            os.remove(os.path.join(model, name))
        elif keyword == "SCRIPT":
            self.make(model, shlex.split(text))
        elif keyword == "WRITE":
            write(os.path.join(model, name), self.test.files[rest[1:]] if rest.startswith("@") else rest + "\n")
        else:
            path = os.path.join(model, name.removesuffix(":"))
            old, _, new = rest.partition(" => ")
            with open(path, encoding="utf-8") as file:
                content = file.read()
            if not old or old not in content:
                raise Wrong(f"EDIT: {name} '{old}' is not in the file")
            write(path, content.replace(old, new))

    def problem(self, case, answer):
        """The first thing that is wrong with an answer, or None."""
        status = case.status if case.status is not None else int(case.isRefused())
        if answer["status"] != status:
            return f"exit status {answer['status']}, must be {status}"
        said = [plain(line, case.model) for line in answer["stderr"].splitlines()]
        for (kind, expression, text), (ownKind, line) in zip(case.said, said):
            if kind != ownKind or not re.fullmatch(expression, line):
                return f"expected {kind}: {text}"
        if len(case.said) != len(said):
            return f"{len(said)} lines on stderr, must be {len(case.said)}"
        if case.isRefused() and os.listdir(case.out):
            return f"left {os.listdir(case.out)}"
        return self.printing(case, answer["stdout"])

    def printing(self, case, text):
        if case.name:
            self.printed[case.name] = text
        at = 0
        for wanted in case.prints:
            found = re.compile(pattern(wanted)).search(text, at)
            if not found:
                return f"stdout has no '{wanted}'" + (" behind the text before" if at else "")
            at = found.end()
        if case.equal and case.equal not in self.printed:
            if any(other.name == case.equal for other in self.test.cases if other.number < case.number):
                return f"the case {case.equal} failed"
            raise Wrong(f"no case above has NAMED: {case.equal}")
        if case.equal and text != self.printed[case.equal]:
            return f"stdout is not that of the case {case.equal}"
        return None

    def fail(self, case, program, arguments, answer, problem):
        self.failures += 1
        print(f"{self.test.path}:{case.number}: {problem}")
        for stream in ("stderr", "stdout"):
            if answer[stream]:
                print("".join(f"  {stream}: {line}\n" for line in answer[stream][:4000].splitlines()[:20]), end="")
        print(f"  again: {shlex.join([program, *arguments])}")

    def run(self, cases):
        done = [(case, self.find(case.command[0]), self.prepare(case)) for case in cases]
        answers = {}
        for program in dict.fromkeys(program for _, program, _ in done):
            own = [(case, arguments) for case, used, arguments in done if used == program]
            for (case, _), answer in zip(own, batch.run(program, [arguments for _, arguments in own])):
                answers[case] = answer
        problems = {case: self.problem(case, answers[case]) for case in cases}
        problems |= self.file_check([(case, answers[case]["stdout"]) for case in cases if case.checks and not problems[case]])
        for case, program, arguments in done:
            if problems[case]:
                self.fail(case, program, arguments, answers[case], problems[case])
            else:
                shutil.rmtree(os.path.dirname(case.model))
        if not self.failures:
            shutil.rmtree(self.scratch)
        print(f"{len(cases) - self.failures} of {len(cases)} cases passed")

    def file_check(self, printed):
        """The complaints of FileCheck about [case, stdout]: one process reads all, each behind a line that labels it; where it fails, one for each."""
        checks, texts = [], []
        for case, text in printed:
            for number, (prefixes, *options) in enumerate(case.checks):
                label = f"==== case {case.number}.{number} ===="
                checks += [f"CASE-LABEL: {label}", *self.check_lines(case, prefixes, options)]
                texts += [label, text]
        if not printed or not check_file(write(os.path.join(self.scratch, "checks"), "\n".join(checks) + "\n"), "CASE", [], "\n".join(texts)):
            return {}
        alone = [(case, check_file(self.test.path, prefixes, options, text)) for case, text in printed for prefixes, *options in case.checks]
        if not any(complaint for _, complaint in alone):
            raise Wrong(f"{self.test.path}: FileCheck fails on all cases together, though on none alone")
        return {case: complaint for case, complaint in alone if complaint}

    def check_lines(self, case, prefixes, options):
        """The lines of the test with these prefixes, for the prefix CASE and without the variables that the options give."""
        form = re.compile(rf"(?:{prefixes.replace(',', '|')})((?:-[A-Z]+(?:-\d+)?)?:.*)")
        found = [f"CASE{match[1]}" for match in map(form.match, self.test.lines) if match]
        if not found:
            raise Wrong(f"{self.test.path}:{case.number}: no line is for {prefixes}")
        for option in options:
            match = re.fullmatch(r"-D(\w+)=(.*)", option)
            if not match:
                raise Wrong(f"{self.test.path}:{case.number}: FILECHECK: has -DNAME=VALUE, not {option}")
            found = [line.replace(f"[[{match[1]}]]", match[2]) for line in found]
        return found

    def find(self, program):
        """The path of a program of the build."""
        return next((path for path in (os.path.join(self.build, folder, program) for folder in ("bin", "test")) if os.path.exists(path)), program)


def plain(line, model):
    """(kind, text) of a line on stderr, without the program's name and the directory of the model."""
    match = re.fullmatch(r"(?:[\w-]+: )?(error|warning|note): (.*)", line)
    kind, text = match.groups() if match else ("", line)
    return kind, text.replace(model + "/", "").replace(model, "{model}")


def check_file(checks, prefixes, options, text):
    """The complaint of FileCheck about a text, or nothing."""
    done = subprocess.run(["FileCheck", checks, f"--check-prefixes={prefixes}", *options], input=text, capture_output=True, text=True,
                          env={**os.environ, "FILECHECK_OPTS": "-enable-var-scope"})
    return done.stderr if done.returncode != 0 else ""


def change_json(path, change, key=None):
    """Makes a file hold change(its members); KEY is among them."""
    with open(path, encoding="utf-8") as file:
        members = json.load(file)
    if key is not None and key not in members:
        raise Wrong(f"REMOVE: {os.path.basename(path)} has no {key}")
    write(path, json.dumps(change(members)))


def write(path, text):
    """Makes or replaces a file; returns its path."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.remove(path)  # it may be a link to the file of another case
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("test")
    parser.add_argument("scratch")
    parser.add_argument("--only", type=int, metavar="LINE", help="the case of this line alone")
    o = parser.parse_args()
    shutil.rmtree(o.scratch, ignore_errors=True)
    try:
        test = Test(o.test)
        runner = Runner(test, o.build, o.scratch)
        cases = [case for case in test.cases if o.only in (None, case.number)]
        compared = {case.equal for case in cases}
        cases = [case for case in test.cases if case in cases or case.name and case.name in compared]
        runner.run(cases)
    except (Wrong, RuntimeError) as error:
        sys.exit(f"error: {error}")
    sys.exit(runner.failures != 0 or not cases)


if __name__ == "__main__":
    main()
