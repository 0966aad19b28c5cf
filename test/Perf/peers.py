"""GPT-2 124M for test/Perf/compare: installs llama.cpp and ONNX Runtime, writes the model for each, compiles their workers."""

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
TOLERANCE = 1e-2  # llama.cpp keeps keys and values of its flash attention in half precision


def install(cache):
    """The peers' packages and the headers of llama.cpp, from the source that its package carries."""
    os.makedirs(cache, exist_ok=True)
    if not os.path.isdir(os.path.join(cache, "llama-source")):
        subprocess.run(["npm", "install", "--silent", "--ignore-scripts", "--omit=optional", "--prefix", cache, "onnxruntime-node",
                        "node-llama-cpp", "@node-llama-cpp/linux-x64"], check=True)
        bundle = os.path.join(cache, "node_modules", "node-llama-cpp", "llama", "gitRelease.bundle")
        subprocess.run(["git", "-c", "advice.detachedHead=false", "clone", "-q", bundle, os.path.join(cache, "llama-source")],
                       check=True)


def prepare(cache, binaries):
    """Compiles the workers and Rapt's model, writes the models of the peers. Gives the folder of llama.cpp's libraries."""
    def compile_worker(name, *more):
        subprocess.run(["clang-22", "-std=gnu11", "-O2", os.path.join(HERE, f"peers_{name}.c"), "-o",
                        os.path.join(cache, f"peers_{name}"), *more], check=True)

    library = os.path.join(binaries, "..", "lib")
    compile_worker("rapt", f"-I{ROOT}/lib/Runtime/include", f"-L{library}", "-lrapt_runtime", f"-Wl,-rpath,{os.path.abspath(library)}")
    backends = os.path.join(cache, "node_modules", "@node-llama-cpp", "linux-x64", "bins", "linux-x64")
    llama = next(name for name in os.listdir(backends) if name.startswith("libllama.v"))
    ggml = next(name for name in os.listdir(backends) if name.startswith("libggml.v"))
    source = os.path.join(cache, "llama-source")
    compile_worker("llama", f"-I{source}/include", f"-I{source}/ggml/include", os.path.join(backends, llama),
                   os.path.join(backends, ggml), os.path.join(backends, "libggml-base.so"), f"-Wl,-rpath,{backends}")
    folder = os.path.join(cache, "gpt2")
    os.makedirs(folder, exist_ok=True)
    config = shutil.copy(os.path.join(ROOT, "test", "models", "gpt2", "config.json"), folder)
    weights = os.path.join(folder, "model.safetensors")
    subprocess.run([os.path.join(binaries, "raptc"), config, "--random-weights=1", f"--save-weights={weights}", "-o",
                    os.path.join(cache, "gpt2.so")], check=True, capture_output=True)
    shutil.copy(os.path.join(HERE, "peers_onnx.js"), cache)
    if not os.path.exists(os.path.join(cache, "gpt2.onnx")):
        with open(config, encoding="utf-8") as file:
            settings = json.load(file)
        tensors = peers_models.read_safetensors(weights)
        peers_models.write_gguf(os.path.join(cache, "gpt2.gguf"), tensors, settings)
        peers_models.write_onnx(os.path.join(cache, "gpt2.onnx"), tensors, settings, sum(TOKENS.values()))
    return backends


def processor_seconds():
    """Of the whole machine since it started."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, soft, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def check_logits(engines, cache):
    """Ends the program unless all engines compute the same: logits after the prompt and after each step."""
    logits = []
    for engine in engines:
        path = os.path.join(cache, "logits")
        engine.ask(f"logits {path}")
        logits.append(np.fromfile(path, np.float32).reshape(TOKENS["decode"] + 1, -1))
    scale = np.abs(logits[0]).max()
    for engine, other in zip(engines[1:], logits[1:]):
        apart = np.abs(other - logits[0]).max() / scale
        if not apart < TOLERANCE:
            sys.exit(f"{engine.name} computes another model: logits within {apart:.1e} of Rapt's, of the largest")
