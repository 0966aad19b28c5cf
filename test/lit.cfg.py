"""How the tests below this folder run: what a RUN line may name, and which features a test may require."""

import os
import platform
import shutil
import sys

sys.path += [os.path.join(os.path.dirname(__file__), "Timing"), os.path.join(config.rapt_source_dir, "tools", "dev")]
import cpu_features  # noqa: E402
import daily  # noqa: E402
import measured_tests  # noqa: E402

config.name = "Rapt"
config.test_format = measured_tests.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Unit", "Perf", "models", "data"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.rapt_binary_dir, "test")

config.environment["FILECHECK_OPTS"] = "-enable-var-scope"
full = os.environ.get("RAPT_FULL") == "1"
config.environment["RAPT_PASSED"] = os.path.join(config.test_exec_root, "passed", *(["full"] if full else []))  # see Execute/passed.py
config.environment["RAPT_COMPILED"] = os.path.join(config.test_exec_root, "compiled")  # see Execute/compiled.py
shutil.rmtree(config.environment["RAPT_COMPILED"], ignore_errors=True)
# The interpreter of the build goes before others: a version manager's `python3` is a shell script that takes longer than most tests.
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.rapt_binary_dir, "bin"), config.llvm_tools_dir, os.path.dirname(config.python), os.environ["PATH"]])
config.environment["OPENBLAS_NUM_THREADS"] = "1"  # numpy's threads would spin beside the other tests
for name in ("HOME", "TERM", "RAPT_CACHE", "RAPT_FULL", "UBSAN_OPTIONS", "RAPT_STARTED", "RAPT_PHASES"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
if "RAPT_STARTED" in os.environ:
    config.environment["PYTHONPATH"] = os.path.join(os.path.dirname(__file__), "Timing")  # see Timing/sitecustomize.py


def object_cache():
    """The folder for objects that LLVM generates (docs/HowTo/object-cache.md), which runs and checkouts share; empty where there can be none."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.environ.get("RAPT_OBJECT_CACHE", os.path.join(cache, "rapt", "objects"))
    folder = folder and os.path.abspath(folder)
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        status = os.stat(folder)
    except OSError:
        return ""
    isOwn = status.st_uid == os.geteuid() and not status.st_mode & 0o022 and os.access(folder, os.W_OK)
    return folder if isOwn else ""


config.environment["RAPT_OBJECT_CACHE"] = object_cache()

shared = os.environ.get("RAPT_SHARED_DATA", os.path.join(config.rapt_source_dir, "..", "shared"))
config.substitutions += [
    ("%python", config.python),
    ("%clang", config.clang),
    ("%llvm_include", os.path.join(os.path.dirname(config.llvm_tools_dir), "include")),
    ("%models", os.path.join(config.test_source_root, "models")),
    ("%source", config.rapt_source_dir),
    ("%build", config.rapt_binary_dir),
    ("%cases", f"{config.python} {config.rapt_source_dir}/test/cases.py {config.rapt_binary_dir}"),
    ("%shared", os.path.realpath(shared)),
]

# Tests that generate their cases: `--count=%quick:150%full:3000` asks for 150 in `tools/dev/check` and for 3000 in `tools/dev/check
# --full`; `%seed` is RAPT_SEED, else the day of the last commit (tools/dev/daily.py). (Lit expands no groups: either number is deleted.)
# Scripts read RAPT_FULL=1 and RAPT_SEED.
config.environment["RAPT_SEED"] = str(daily.seed(config.rapt_source_dir))
config.environment["RAPT_CHECK_OBJECT_CACHE"] = f"20:{config.environment['RAPT_SEED']}"  # one hit in twenty is generated again and compared
config.substitutions += [
    (r"%quick:[\w.]+" if full else "%quick:", ""),
    ("%full:" if full else r"%full:[\w.]+", ""),
    ("%seed", config.environment["RAPT_SEED"]),
]
if full:
    config.available_features.add("full")

config.available_features.add(platform.machine())
config.available_features.update(cpu_features.features())
ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
if os.access(ptxas, os.X_OK):
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
if os.path.exists("/dev/nvidia0"):
    config.available_features.add("cuda")
if os.path.isdir(os.path.join(shared, "tokenizer-vectors")):
    config.available_features.add("shared-data")
if os.path.isfile(os.path.join(shared, "onnx-node-tests", "node-tests.tar.gz")):
    config.available_features.add("onnx-node-tests")
if os.geteuid() == 0:
    config.available_features.add("root")
if config.compiler:
    config.available_features.add("compiler")
if config.assertions:
    config.available_features.add("asserts")
if config.sanitizers:
    config.available_features.add("sanitizers")
    # LLVM's libraries are not instrumented: memory that they take from an arena of our code would look poisoned.
    config.environment["ASAN_OPTIONS"] = "allow_user_poisoning=0:detect_leaks=0:use_sigaltstack=0"  # raptc has a signal stack of its own

# One accelerator: its tests run one after the other.
lit_config.parallelism_groups["cuda"] = 1

if "RAPT_MUTATION" in os.environ:  # the fault that a build of tools/dev/mutations has
    config.environment["RAPT_MUTATION"] = os.environ["RAPT_MUTATION"]
