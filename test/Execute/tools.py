"""The programs that a case of registry.py runs, and the environment that it runs in."""

import os
import shlex
from pathlib import Path

import resident

SOURCE = Path(__file__).resolve().parents[2]
CUDA = "cuda"  # the column of the simulated GPU


def raptc_flags(case):
    """The flags of each call of raptc that this case makes, behind the case's own."""
    return [f"--target={case.column}"] if case.isForTarget else []


def words_for(cpu, words):
    """Arguments of raptc by which code for this machine becomes code for `cpu`."""
    words = [f"--mcpu={cpu}" if word == "--mcpu=native" else word for word in words]
    told = [word for word in words if word.startswith(("--mcpu=", "--mtriple=", "--target=")) and word != "--target=cpu"]
    return words if told else [*words, f"--mcpu={cpu}"]


def for_cpu(cpu):
    """A line of the shell that does what words_for does."""
    return f"""for word; do
  shift
  case $word in
  --mcpu=native) word=--mcpu={cpu} ;;
  esac
  case $word in
  --target=cpu) ;;
  --mcpu=* | --mtriple=* | --target=*) told=1 ;;
  esac
  set -- "$@" "$word"
done
[ "$told" ] || set -- "$@" --mcpu={cpu}
"""


class Tools:
    """Paths by the names that scripts give them, as attributes. In the column `evaluated` a model is run by rapt_reference and there is no rapt_run; in the others it is the
    other way round. `evaluator` is there in all."""

    def __init__(self, case, build, scratch, clang="clang", **replaced):
        """`scratch`: a folder of the case's own. `replaced`: paths of programs that take the place of the build folder's."""
        self.column, self.scratch, self.clang, self.case = case.column, str(scratch), clang, case
        self.build, programs = Path(build), {name: str(Path(build) / "bin" / name) for name in ("raptc", "rapt-run", "rapt-reference", "rapt-opt")}
        programs.update(replaced)
        self.raptc, self.rapt_opt, self.evaluator = self.with_flags(programs["raptc"], raptc_flags(case), case.cpu), programs["rapt-opt"], programs["rapt-reference"]
        isEvaluated = case.column == "evaluated"
        self.rapt_run, self.rapt_reference = (None, self.evaluator) if isEvaluated else (programs["rapt-run"], None)
        self.values = {"raptc": self.raptc, "rapt-run": programs["rapt-run"], "rapt-reference": self.evaluator, "reference": self.evaluator, "rapt-opt": self.rapt_opt,
                       "clang": clang, "runtime": str(self.build / "lib" / "librapt_runtime.so"), "scratch": self.scratch,
                       "models": str(SOURCE / "test" / "models"), "inputs": str(SOURCE / "test" / "Execute" / "Inputs")}

    def with_flags(self, raptc, flags, cpu):
        """A program that is raptc with these flags, or for this CPU where it would be for this machine: one file of the build folder for all cases, so that
        they share compiled models (compiled.py)."""
        if not flags and not cpu:
            return raptc
        folder = self.build / "test" / "programs" / "".join([*flags, cpu]).replace("/", "_")
        made = folder / "raptc"
        resident.wrapped[str(made)] = lambda words: [raptc, *(words_for(cpu, words) if cpu else words), *flags]
        text = f'#!/bin/sh\n{for_cpu(cpu) if cpu else ""}exec {shlex.quote(raptc)} "$@" {shlex.join(flags)}\n'
        if not made.exists() or made.read_text() != text:
            folder.mkdir(parents=True, exist_ok=True)
            own = folder / f"raptc.{os.getpid()}"
            own.write_text(text)
            own.chmod(0o755)
            own.replace(made)
        for name in ("rapt-opt", "rapt-run", "rapt-reference"):  # which scripts look for beside raptc
            program = self.build.resolve() / "bin" / name
            if (folder / name).resolve() != program.resolve():
                own = folder / f"{name}.{os.getpid()}"
                own.symlink_to(program)
                own.replace(folder / name)
        return str(made)

    def environment(self, given):
        """`given` with what belongs to the column. Notes of passed.py are of the case."""
        environment = dict(given) | {"RAPT_CASE": self.case.name.split("/", 1)[1], "RAPT_CODEGEN": self.case.level} | self.case.environment
        if not self.case.isNoted:
            environment.pop("RAPT_PASSED", None)
        if self.case.cpu:
            environment |= {"RAPT_CASE_CPU": self.case.cpu, "PATH": os.path.dirname(self.raptc) + os.pathsep + given.get("PATH", "")}
        if self.column == CUDA:
            environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(self.driver().parent), given.get("LD_LIBRARY_PATH")]))
        return environment

    def driver(self):
        return self.build / "test" / "simulated-cuda" / "libcuda.so.1"
