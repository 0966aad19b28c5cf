"""How the tests below this folder run: what a RUN line may name, and which features a test may require."""

import os
import platform
import shutil

import lit.formats

config.name = "Rapt"
config.test_format = lit.formats.ShTest(execute_external=False)
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
for name in ("HOME", "TERM", "RAPT_CACHE", "RAPT_FULL", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

shared = os.environ.get("RAPT_SHARED_DATA", os.path.join(config.rapt_source_dir, "..", "shared"))
config.substitutions += [
    ("%python", config.python),
    ("%clang", config.clang),
    ("%llvm_include", os.path.join(os.path.dirname(config.llvm_tools_dir), "include")),
    ("%models", os.path.join(config.test_source_root, "models")),
    ("%source", config.rapt_source_dir),
    ("%build", config.rapt_binary_dir),
    ("%shared", os.path.realpath(shared)),
]

# Tests that generate their cases: `--count=%quick:150%full:3000` asks for 150 in `tools/dev/check` and for 3000 in `tools/dev/check
# --full`; `%seed` is 1 in the first and told by the second. (Lit expands no groups: either number is deleted.) Scripts read RAPT_FULL=1.
config.substitutions += [
    (r"%quick:[\w.]+" if full else "%quick:", ""),
    ("%full:" if full else r"%full:[\w.]+", ""),
    ("%seed", os.environ.get("RAPT_SEED", "1") if full else "1"),
]
if full:
    config.available_features.add("full")


def processor_features():
    """The instruction sets of this machine, as the kernel allows them: avx2, avx512, avx512vnni, avx512bf16, amx."""
    try:
        with open("/proc/cpuinfo") as file:
            flags = next((line for line in file if line.startswith("flags")), "").split()
    except OSError:
        return []
    needs = {"avx2": ["avx2", "fma"], "avx512": ["avx512f", "avx512bw", "avx512dq", "avx512vl"],
             "avx512vnni": ["avx512_vnni"], "avx512bf16": ["avx512_bf16"], "amx": ["amx_tile", "amx_bf16", "amx_int8"]}
    return [feature for feature, names in needs.items() if all(name in flags for name in names)]


config.available_features.add(platform.machine())
config.available_features.update(processor_features())
ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
if os.access(ptxas, os.X_OK):
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
if os.path.exists("/dev/nvidia0"):
    config.available_features.add("cuda")
if os.path.isdir(os.path.join(shared, "tokenizer-vectors")):
    config.available_features.add("shared-data")
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
