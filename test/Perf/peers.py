"""Decoders for test/Perf/compare: installs llama.cpp and ONNX Runtime, writes the models for each, compiles their workers."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys

import numpy as np

import peers_models

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
HERE = os.path.join(ROOT, "test", "Perf")
TOKENS = {"prefill": 512, "decode": 64}
TURN = 8  # of the decoded tokens, in one repetition
F32, Q4_0, Q8_0, BF16 = 0, 2, 7, 32  # llama.cpp's file types


@dataclasses.dataclass
class Decoder:
    """A model of one width: the folder of its config, raptc's options, llama.cpp's file type and type of keys and values, and how far
    logits may be apart, of the largest (weights in integers are rounded differently)."""
    name: str
    key: str
    model: str
    options: list
    type: int
    cache: str
    tolerance: float

    @property
    def vocabulary(self):
        with open(os.path.join(ROOT, "test", "models", self.model, "config.json"), encoding="utf-8") as file:
            return json.load(file)["vocab_size"]


# llama.cpp keeps keys and values of its flash attention in half precision, whatever the cache has.
DECODERS = [
    Decoder("GPT-2 124M", "gpt2", "gpt2", [], F32, "f32", 1e-2),
    Decoder("GPT-2 124M in bf16", "gpt2-bf16", "gpt2", ["--dtype=bf16", "--cache-dtype=bf16"], BF16, "f16", 3e-2),
    Decoder("GPT-2 124M in 8 bits", "gpt2-8", "gpt2", ["--quantize=w8a8", "--cache-dtype=f16"], Q8_0, "f16", 0.1),
    Decoder("GPT-2 124M in 4 bits", "gpt2-4", "gpt2", ["--quantize=w4", "--cache-dtype=f16"], Q4_0, "f16", 0.5),
    Decoder("LLaMA 1.1B in 8 bits", "llama-8", "tinyllama-1.1b", ["--quantize=w8a8", "--cache-dtype=f16"], Q8_0, "f16", 0.1),
    Decoder("LLaMA 1.1B in 4 bits", "llama-4", "tinyllama-1.1b", ["--quantize=w4", "--cache-dtype=f16"], Q4_0, "f16", 0.5),
]


def install(cache):
    """The peers' packages and the headers of llama.cpp, from the source that its package carries."""
    os.makedirs(cache, exist_ok=True)
    if not os.path.isdir(os.path.join(cache, "llama-source")):
        subprocess.run(["npm", "install", "--silent", "--ignore-scripts", "--omit=optional", "--prefix", cache, "onnxruntime-node",
                        "node-llama-cpp", "@node-llama-cpp/linux-x64"], check=True)
        bundle = os.path.join(cache, "node_modules", "node-llama-cpp", "llama", "gitRelease.bundle")
        subprocess.run(["git", "-c", "advice.detachedHead=false", "clone", "-q", bundle, os.path.join(cache, "llama-source")],
                       check=True)


def backends(cache):
    """The folder of llama.cpp's libraries."""
    return os.path.join(cache, "node_modules", "@node-llama-cpp", "linux-x64", "bins", "linux-x64")


def prepare(cache, binaries, decoders):
    """Compiles the workers and Rapt's models, writes the models of the peers."""
    def compile_worker(name, *more):
        subprocess.run(["clang-22", "-std=gnu11", "-O2", os.path.join(HERE, f"peers_{name}.c"), "-o",
                        os.path.join(cache, f"peers_{name}"), *more], check=True)

    library, folder = os.path.join(binaries, "..", "lib"), backends(cache)
    compile_worker("rapt", f"-I{ROOT}/lib/Runtime/include", f"-L{library}", "-lrapt_runtime", f"-Wl,-rpath,{os.path.abspath(library)}")
    llama = next(name for name in os.listdir(folder) if name.startswith("libllama.v"))
    ggml = next(name for name in os.listdir(folder) if name.startswith("libggml.v"))
    source = os.path.join(cache, "llama-source")
    compile_worker("llama", f"-I{source}/include", f"-I{source}/ggml/include", os.path.join(folder, llama),
                   os.path.join(folder, ggml), os.path.join(folder, "libggml-base.so"), f"-Wl,-rpath,{folder}")
    shutil.copy(os.path.join(HERE, "peers_onnx.js"), cache)
    for model in dict.fromkeys(decoder.model for decoder in decoders):
        prepare_model(cache, os.path.join(binaries, "raptc"), model, [decoder for decoder in decoders if decoder.model == model])


def prepare_model(cache, raptc, model, decoders):
    """One model in all widths. What only other files are made from is removed: it takes gigabytes."""
    config = os.path.join(ROOT, "test", "models", model, "config.json")
    gguf = {decoder.key: os.path.join(cache, f"{decoder.key}.gguf") for decoder in decoders}
    weights, base, onnx = (os.path.join(cache, f"{model}{end}") for end in (".safetensors", "-as-it-is.gguf", ".onnx"))
    missing = not all(map(os.path.exists, [*gguf.values(), *([onnx] if model == "gpt2" else [])]))
    for i, decoder in enumerate(decoders):
        save = [f"--save-weights={weights}"] if missing and i == 0 else []
        subprocess.run([raptc, config, "--random-weights=1", *decoder.options, *save, "-o", os.path.join(cache, f"{decoder.key}.so")],
                       check=True, capture_output=True)
    if not missing:
        return
    with open(config, encoding="utf-8") as file:
        settings = json.load(file)
    tensors = peers_models.read_safetensors(weights)
    write = peers_models.write_gpt2_gguf if model == "gpt2" else peers_models.write_llama_gguf
    write(base, tensors, settings)
    if model == "gpt2":
        peers_models.write_onnx(onnx, tensors, settings, sum(TOKENS.values()))
    os.remove(weights)
    for decoder in decoders:
        subprocess.run([os.path.join(cache, "peers_llama"), base, "quantize", gguf[decoder.key], str(decoder.type)], check=True,
                       capture_output=True)
    os.remove(base)


def processor_seconds():
    """Of the whole machine since it started."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, soft, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def check_logits(engines, cache, tolerance):
    """Ends the program unless all engines compute the same: logits after the prompt and after each step."""
    logits = []
    for engine in engines:
        path = os.path.join(cache, "logits")
        engine.ask(f"logits {path}")
        logits.append(np.fromfile(path, np.float32).reshape(TOKENS["decode"] + 1, -1))
    scale = np.abs(logits[0]).max()
    for engine, other in zip(engines[1:], logits[1:]):
        apart = np.abs(other - logits[0]).max() / scale
        print(f"{engine.name}: logits within {apart:.1e} of Rapt's, of the largest")
        if not apart < tolerance:
            sys.exit(f"{engine.name} computes another model")
