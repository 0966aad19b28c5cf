"""The cases of this folder: functions, each with the column of a target that it runs in, and when. caseformat.py makes tests of them for lit, run.py runs them by hand.

Columns: `evaluated` (rapt-reference runs the model), `cpu`, `generic`, `cuda` (the simulated GPU) and `numpy` (no program runs). A case is named SCRIPT/CASE.COLUMN, or
SCRIPT/COLUMN where the script has one. Cases that are not daily run with `check --full`."""

import ctypes
import dataclasses
import importlib
import os
import re
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy reads it once; its threads would spin beside the other tests
sys.path[:0] = [str(HERE), str(HERE.parent / "Reference" / "numpy"), str(HERE.parent / "Reference" / "transformers")]
for path in HERE.glob("*.py"):  # lit's process may have imported modules of these names from other folders
    if getattr(sys.modules.get(path.stem), "__file__", str(path)) != str(path):
        del sys.modules[path.stem]

import level  # noqa: E402
import processor  # noqa: E402
from rows import ANY, CALLS, HOST, MODELS, scripts  # noqa: E402
from tools import CUDA, Tools  # noqa: E402, F401


TYPE = re.compile(r"(?<![A-Za-z0-9])(?:b?f16|f32|3?x?tf32|fp8|u?int8|w\d\w*|mxfp4)(?![A-Za-z0-9])", re.IGNORECASE)  # of numbers, in a case's name


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    column: str
    isDaily: bool
    requires: tuple  # lit's features
    function: object = None  # of Tools; None: the script runs, with these arguments
    arguments: tuple = ()  # names of Tools.values, each an option with that value; "=TEXT" is TEXT, with values for {NAME}
    isForTarget: bool = False  # the column's target is not in the arguments: raptc is told
    isNoted: bool = True  # what it shows is evidence for docs/generated/Support.md (passed.py)
    environment: dict = dataclasses.field(default_factory=dict)
    level: str = "shipped"  # of the code that raptc generates (level.py)
    cost: float = 0  # about how many seconds it takes, where that is long: such cases begin first
    cpu: str = ""  # that code is compiled for in the place of this machine's

    @property
    def path(self):
        return str(HERE / (self.name.split("/")[0] + ".py"))

    def run(self, tools):
        """Runs in this process, which ends or fails as the case does."""
        if self.column == CUDA:  # code of this process that asks for a driver finds this one
            ctypes.CDLL(str(tools.driver()))
        if self.cpu:
            processor.see_avx2()
        sys.argv = [self.path, *self.command_line(tools)]
        if self.function:
            self.function(tools)
        else:
            runpy.run_path(self.path, run_name="__main__")

    def command_line(self, tools):
        words = []
        for argument in self.arguments:
            words += [argument[1:].format_map(tools.values)] if argument.startswith("=") else ["--" + argument, tools.values[argument]]
        return words

    def command(self, python, build, isFull):
        """The command that repeats it alone."""
        return f"RAPT_SEED={level.seed_of_run()} {python} {HERE / 'run.py'} {self.name} --build {build}" + (" --full" if isFull else "")


def of_models(script):
    models = importlib.import_module(script).MODELS
    for column in ("evaluated", *models.daily):
        names, daily = (models.evaluated,) * 2 if column == "evaluated" else (models.names, models.daily[column])
        isNative = column in ("evaluated", "cpu")
        for name in names:
            yield Case(f"{script}/{name}.{column}", column, name in daily, ANY if isNative else HOST, function=lambda tools, name=name: models.run(name, tools),
                       isForTarget=not isNative, isNoted=isNative)


def of_script(row):
    for daily, specs in ((True, row.daily), (False, row.full)):
        for spec in specs:
            column, *options = spec.split(":")
            label = ".".join([*filter(None, [row.label]), *(option.split("=")[-1] for option in options), column])
            yield Case(f"{row.script}/{label}", column, daily, row.requires, **row.how(column, options))


def of_call(script, name, function):
    return Case(f"{script}/{name}.numpy", "numpy", True, (), function=lambda tools: getattr(importlib.import_module(script), function)())


def of_avx2(cases):
    """The cases that run compiled code of this machine, compiled for AVX2. A fifth of those that are daily for this machine are daily."""
    listed = {case.name for case in cases}
    own = [(case, re.sub(r"([/.])cpu$", rf"\1{processor.AVX2}.cpu", case.name)) for case in cases if case.column == "cpu" and "mcpu=" not in " ".join(case.arguments)]
    own = [(case, name) for case, name in own if name not in listed]
    daily = level.drawn([name for case, name in own if case.isDaily])
    return [dataclasses.replace(case, name=name, cpu=processor.AVX2, isDaily=name in daily, isNoted=False, requires=(*case.requires, "x86_64", "avx2")) for case, name in own]


def made():
    found = [case for script in MODELS for case in of_models(script)]
    found += [case for row in scripts() for case in of_script(row)]
    found += [of_call(*call) for call in CALLS]
    names = [case.name for case in found]
    assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
    found += of_avx2(found)
    levels = level.levels_of({case.name: (case.name.split("/")[0], case.column, case.cpu, *TYPE.findall(case.name)) for case in found if case.isDaily})
    return {case.name: dataclasses.replace(case, level=levels.get(case.name, "shipped")) for case in found}


CASES = made()


def cases(isFull):
    """Those of a run of the tests. Where this machine's own code is for AVX2, no case runs a second time for it."""
    return [case for case in CASES.values() if (case.isDaily or isFull) and not (case.cpu and processor.IS_AVX2)]
