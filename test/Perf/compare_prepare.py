"""Installs, writes and compiles what test/Perf/compare runs, and says what its code is made of."""

import functools
import json
import os
import shutil
import sys
from pathlib import Path

import compare_kernels
import compare_models
import debian
import peers
import peers_models
from compare_pairs import Probe
from compare_rows import ATTENTIONS, SMALL  # makes modules of test/Execute known
from peers import run

from kernels import mark_attention

ROOT, HERE = peers.ROOT, peers.HERE
ARCHIVES = ("libRaptBench.a", "libRaptSupport.a", "libRaptSupportCore.a")
PROGRAMS = {"bin": ("raptc", "rapt-opt", "rapt-run"), "lib": (*ARCHIVES, "librapt_runtime.so")}
COMPILER = ["clang++-22", "-std=c++20", "-O2", f"-I{ROOT}", f"-I{ROOT}/lib/Runtime/include"]


def check_programs(binaries):
    """Ends the program where something is not built, with the command that builds it."""
    build = Path(binaries).resolve().parent
    missing = [name for folder, names in PROGRAMS.items() for name in names if not (build / folder / name).exists()]
    if missing:
        sys.exit(f"compare: {build} lacks {', '.join(missing)}: build them with ninja -C {build} raptc rapt-opt rapt-run RaptBench rapt_runtime")


def features_of(cache, binaries, options):
    """The features that code compiled with these options uses, by LLVM's names. Ends the program, with the reason, where raptc makes no such code or this
    machine cannot run it."""
    library = os.path.join(cache, "small.so")
    run(os.path.join(binaries, "raptc"), os.path.join(ROOT, "test", "models", "tiny-gpt"), *options, "-o", library)
    run(os.path.join(binaries, "rapt-run"), library, "--tokens", "1", "-n", "1")
    return json.loads(run(os.path.join(binaries, "rapt-run"), library, "--info", "--json"))["target"]["features"]


def programs(names):
    """The programs of these peers, some of which are ways to run the same one."""
    return {name.split(",")[0] for name in names}


def install(names):
    """Installs the Debian packages that these engines lack."""
    packages = {"oneDNN": "libdnnl-dev", "OpenBLAS": "libopenblas-dev", "PyTorch": "python3-torch"}
    debian.install([package for name, package in packages.items() if name in programs(names)])


def compile_rapt(cache, build, *flags):
    """The worker that runs Rapt's code and measures limits."""
    archives = [f"{build}/lib/{name}" for name in ARCHIVES]
    run(*COMPILER, *flags, f"{HERE}/compare_rapt.cpp", *archives, f"-L{build}/lib", "-lrapt_runtime", "-ldl", f"-Wl,-rpath,{build}/lib", "-o", f"{cache}/compare_rapt")


def prepare(cache, binaries, rows, options):
    """Compiles kernels, and the workers and models that the rows need; writes the ONNX files."""
    build, raptc = os.path.dirname(os.path.abspath(binaries)), os.path.join(binaries, "raptc")
    names, words = programs({name for row in rows for name in row.cases}), {word for row in rows for case in row.cases.values() for word in case.split()}
    Probe.build(HERE, cache)
    kernels = Path(cache) / "kernels.mlir"
    marks = compare_kernels.BF16_ATTENTIONS if "bf16_attention" in words else {}
    kernels.write_text(compare_kernels.kernels(bool(marks)), encoding="utf-8")
    if marks:
        kernels = mark_attention(raptc, options, kernels, marks)
    run(raptc, str(kernels), *options, "-o", f"{cache}/kernels.so")
    for word, library, quantization in (("quantized_matmul", "matmuls", "w8a8"), ("w4_matmul", "matmuls4", "w4")):
        if word in words:
            compare_kernels.write_quantizable(f"{cache}/{library}")
            run(raptc, f"{cache}/{library}.mlir", f"--weights={cache}/{library}", f"--quantize={quantization}", "--embed-weights", *options, "-o", f"{cache}/{library}.so")
    compile_rapt(cache, build)
    ggml = [*peers.headers(cache), *peers.libraries(cache)] if "llama.cpp" in names else []
    openblas = debian.flags("openblas") if "OpenBLAS" in names else []
    for name, worker, flags in (("oneDNN", "onednn", ["-ldnnl"]), ("OpenBLAS", "openblas", openblas), ("llama.cpp", "ggml", ggml)):
        if name in names:
            run(*COMPILER, f"{HERE}/compare_{worker}.cpp", *flags, "-o", f"{cache}/compare_{worker}")
    shutil.copy(os.path.join(HERE, "compare_onnx.js"), cache)
    for name in SMALL:
        if words & {name, f"{name}-bf16"}:
            prepare_model(cache, raptc, name, f"{name}-bf16" in words, "bge" in words, options)
    for size in {size for _, size, _ in ATTENTIONS} if "ONNX Runtime" in names else ():
        for kind in ("dense", "causal"):
            compare_models.write_attention(f"{cache}/attention_{kind}_{size}.onnx", kind == "causal", size)
        compare_models.write_grouped_attention(f"{cache}/attention_grouped_{size}.onnx", size)


def prepare_model(cache, raptc, name, in_bf16, in_rows, options):
    """BERT, ViT, T5 or Whisper, in f32 and perhaps in bf16 with the same weights, and the ONNX file; BERT's that pads rows too if `in_rows`."""
    folder = os.path.join(cache, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(ROOT, "test", "models", SMALL[name], "config.json"), encoding="utf-8") as file:
        text = file.read().replace("BertForMaskedLM", "BertModel")
    config, weights = os.path.join(folder, "config.json"), os.path.join(folder, "model.safetensors")
    with open(config, "w", encoding="utf-8") as file:
        file.write(text)
    if os.path.exists(weights):  # of a run before: raptc replaces no weights of the model that it reads
        os.remove(weights)
    for suffix, more in (("", [f"--save-weights={weights}"]), *([("-bf16", ["--dtype=bf16"])] if in_bf16 else [])):
        run(raptc, config, "--random-weights=1", *more, *options, "-o", os.path.join(cache, f"{name}{suffix}.so"))
    writers = {"bert": compare_models.write_bert, "vit": compare_models.write_vit, "whisper": compare_models.write_whisper,
               "t5": functools.partial(compare_models.write_t5, length=128), "minilm": functools.partial(compare_models.write_bert, padded=True)}
    files = {name: writers[name], **({"bge": writers["minilm"]} if name == "bert" and in_rows else {})}
    for file, write in files.items():
        onnx = os.path.join(cache, f"{file}.onnx")
        if not os.path.exists(onnx):
            write(onnx, peers_models.read_safetensors(weights), json.loads(text))
