"""Decoders for test/Perf/compare: installs llama.cpp and ONNX Runtime, writes the models for each, compiles their workers."""

import dataclasses
import functools
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
SIZES = {"PROMPT": TOKENS["prefill"], "STEPS": TOKENS["decode"], "TURN": TURN}  # what every worker is told
F32, Q4_0, Q8_0, BF16 = 0, 2, 7, 32  # llama.cpp's file types


class Lacks(Exception):
    """An engine cannot run a case; the text says why."""


def run(*command):
    """The output of a command. Ends the program with the last line that it says where it fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    except OSError as error:
        sys.exit(f"compare: {error}")
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        sys.exit(f"compare: {said[-1] if said else f'{command[0]}: exit status {done.returncode}'}")
    return done.stdout


@dataclasses.dataclass
class Decoder:
    """A model of one width: the folder of its config, raptc's options, llama.cpp's file type and type of keys and values, how far
    logits may be apart, of the largest (weights in integers are rounded differently), the operands of matmuls, and the bytes of a
    weight, of one of the table of tokens, and of a number of keys and values."""
    name: str
    key: str
    model: str
    options: list
    type: int
    cache: str
    tolerance: float
    dtype: str
    sizes: tuple

    @functools.cached_property
    def config(self):
        with open(os.path.join(ROOT, "test", "models", self.model, "config.json"), encoding="utf-8") as file:
            return json.load(file)

    @property
    def vocabulary(self):
        return self.config["vocab_size"]

    @property
    def shape(self):
        """Layers, weights of a layer's matrices, channels of a token, of its queries and of its keys."""
        config = self.config
        if self.model == "gpt2":
            width = config["n_embd"]
            return config["n_layer"], 12 * width * width, width, width, width
        width, inner, heads = config["hidden_size"], config["intermediate_size"], config["num_attention_heads"]
        size = config.get("head_dim", width // heads)
        queries, keys = heads * size, config["num_key_value_heads"] * size
        return config["num_hidden_layers"], width * (2 * queries + 2 * keys + 3 * inner), width, queries, keys

    def operations(self, tokens):
        """Operations of a prompt; the last token alone has logits."""
        layers, weights, width, queries, _ = self.shape
        return layers * (2 * tokens * weights + 2 * queries * tokens * (tokens + 1)) + 2 * self.vocabulary * width

    def bytes(self, length):
        """The bytes that one token behind `length` others reads."""
        layers, weights, width, _, keys = self.shape
        of_weight, of_table, of_cache = self.sizes
        return int(layers * (weights * of_weight + 2 * length * keys * of_cache) + self.vocabulary * width * of_table)


# llama.cpp keeps keys and values of its flash attention in half precision, whatever the cache has.
DECODERS = [
    Decoder("GPT-2 124M", "gpt2", "gpt2", [], F32, "f32", 1e-2, "f32", (4, 4, 4)),
    Decoder("GPT-2 124M in bf16", "gpt2-bf16", "gpt2", ["--dtype=bf16", "--cache-dtype=bf16"], BF16, "f16", 3e-2, "bf16", (2, 2, 2)),
    Decoder("GPT-2 124M in 8 bits", "gpt2-8", "gpt2", ["--quantize=w8a8", "--cache-dtype=f16"], Q8_0, "f16", 0.1, "i8", (1, 1, 2)),
    Decoder("GPT-2 124M in 4 bits", "gpt2-4", "gpt2", ["--quantize=w4", "--cache-dtype=f16"], Q4_0, "f16", 0.5, "i4", (9 / 16, 17 / 16, 2)),
    Decoder("LLaMA 1.1B in 8 bits", "llama-8", "tinyllama-1.1b", ["--quantize=w8a8", "--cache-dtype=f16"], Q8_0, "f16", 0.1, "i8", (1, 1, 2)),
    Decoder("LLaMA 1.1B in 4 bits", "llama-4", "tinyllama-1.1b", ["--quantize=w4", "--cache-dtype=f16"], Q4_0, "f16", 0.5, "i4", (9 / 16, 9 / 16, 2)),
    Decoder("Qwen3 0.6B in bf16", "qwen3-bf16", "qwen3-0.6b", ["--cache-dtype=bf16"], BF16, "f16", 3e-2, "bf16", (2, 2, 2)),
    Decoder("Qwen3 0.6B in 8 bits", "qwen3-8", "qwen3-0.6b", ["--quantize=w8a8", "--cache-dtype=f16"], Q8_0, "f16", 0.1, "i8", (1, 1, 2)),
    Decoder("Qwen3 0.6B in 4 bits", "qwen3-4", "qwen3-0.6b", ["--quantize=w4", "--cache-dtype=f16"], Q4_0, "f16", 0.5, "i4", (9 / 16, 17 / 16, 2)),
    Decoder("Gemma 3 1B in bf16", "gemma3-bf16", "gemma-3-1b", ["--cache-dtype=bf16"], BF16, "f16", 3e-2, "bf16", (2, 2, 2)),
    Decoder("Gemma 3 1B in 8 bits", "gemma3-8", "gemma-3-1b", ["--quantize=w8a8", "--cache-dtype=f16"], Q8_0, "f16", 0.1, "i8", (1, 1, 2)),
    Decoder("Gemma 3 1B in 4 bits", "gemma3-4", "gemma-3-1b", ["--quantize=w4", "--cache-dtype=f16"], Q4_0, "f16", 0.5, "i4", (9 / 16, 17 / 16, 2)),
    Decoder("Phi-3 mini in 8 bits", "phi3-8", "phi-3-mini", ["--quantize=w8a8", "--cache-dtype=f16"], Q8_0, "f16", 0.1, "i8", (1, 1, 2)),
    Decoder("Phi-3 mini in 4 bits", "phi3-4", "phi-3-mini", ["--quantize=w4", "--cache-dtype=f16"], Q4_0, "f16", 0.5, "i4", (9 / 16, 9 / 16, 2)),
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


def headers(cache):
    return [f"-I{cache}/llama-source/{folder}" for folder in ("include", "ggml/include")]


def libraries(cache):
    """The libraries of llama.cpp that a worker links."""
    folder = backends(cache)
    versions = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(("libllama.v", "libggml.v"))]
    return [*versions, os.path.join(folder, "libggml-base.so"), f"-Wl,-rpath,{folder}"]


def prepare(cache, binaries, decoders, options):
    """Compiles the workers and Rapt's models, with these options of raptc, writes the models of the peers."""
    constants = [f"-D{name}={value}" for name, value in SIZES.items()]
    def compile_worker(name, *more):
        run("clang-22", "-std=gnu11", "-O2", *constants, os.path.join(HERE, f"peers_{name}.c"), "-o", os.path.join(cache, f"peers_{name}"), *more)

    library = os.path.join(binaries, "..", "lib")
    compile_worker("rapt", f"-I{ROOT}/lib/Runtime/include", f"-L{library}", "-lrapt_runtime", f"-Wl,-rpath,{os.path.abspath(library)}")
    compile_worker("llama", *headers(cache), *libraries(cache))
    shutil.copy(os.path.join(HERE, "peers_onnx.js"), cache)
    for model in dict.fromkeys(decoder.model for decoder in decoders):
        prepare_model(cache, os.path.join(binaries, "raptc"), model, [decoder for decoder in decoders if decoder.model == model], options)


def prepare_model(cache, raptc, model, decoders, options):
    """One model in all widths. Intermediate files are removed: they take gigabytes."""
    config = os.path.join(ROOT, "test", "models", model, "config.json")
    gguf = {decoder.key: os.path.join(cache, f"{decoder.key}.gguf") for decoder in decoders}
    weights, base, onnx = (os.path.join(cache, f"{model}{end}") for end in (".safetensors", "-as-it-is.gguf", ".onnx"))
    missing = not all(map(os.path.exists, [*gguf.values(), *([onnx] if model == "gpt2" else [])]))
    source = next(decoder for decoder in DECODERS if decoder.model == model)  # whose weights are as the configuration says
    for decoder in [*([source] if missing and source not in decoders else []), *decoders]:
        save = [f"--save-weights={weights}"] if missing and decoder is source else []
        run(raptc, config, "--random-weights=1", *decoder.options, *save, *options, "-o", os.path.join(cache, f"{decoder.key}.so"))
    if not missing:
        return
    with open(config, encoding="utf-8") as file:
        settings = json.load(file)
    tensors = peers_models.read_safetensors(weights)
    write = peers_models.write_gpt2_gguf if model == "gpt2" else peers_models.write_decoder_gguf
    write(base, tensors, settings)
    if model == "gpt2":
        peers_models.write_onnx(onnx, tensors, settings, sum(TOKENS.values()))
    os.remove(weights)
    for decoder in decoders:
        run(os.path.join(cache, "peers_llama"), base, "quantize", gguf[decoder.key], str(decoder.type))
    os.remove(base)


def processor_seconds():
    """Seconds of the processors that this process may run on, since the machine started."""
    names, ticks = {f"cpu{one}" for one in os.sched_getaffinity(0)}, 0
    with open("/proc/stat", encoding="ascii") as file:
        for name, *numbers in map(str.split, file):
            if name in names:
                user, nice, system, _, _, irq, soft, steal = map(int, numbers[:8])
                ticks += user + nice + system + irq + soft + steal
    return ticks / os.sysconf("SC_CLK_TCK")


def logits_of(engine, cache):
    path = os.path.join(cache, "logits")
    engine.ask(f"logits {path}")
    return np.fromfile(path, np.float32).reshape(TOKENS["decode"] + 1, -1)


def check_logits(engines, cache):
    """{name: why not} of the engines that do not compute the same as Rapt's, within their tolerance: logits after the prompt and after each step."""
    expected, wrong = logits_of(engines["Rapt"], cache), {}
    for name, engine in engines.items():
        if name == "Rapt":
            continue
        try:
            apart = np.abs(logits_of(engine, cache) - expected).max() / np.abs(expected).max()
            print(f"{name}: logits within {apart:.1e} of Rapt's, of the largest")
            if not apart < engine.tolerance:
                wrong[name] = f"computes another model: logits {apart:.1e} apart, of the largest"
        except (Lacks, ValueError) as problem:  # of fewer numbers
            wrong[name] = str(problem)
    return wrong
