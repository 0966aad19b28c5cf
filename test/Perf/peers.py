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
from configurations import configuration

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
HERE = os.path.join(ROOT, "test", "Perf")
TOKENS = {"prefill": 512, "decode": 64}
TURN = 8  # of the decoded tokens, in one repetition
SIZES = {"PROMPT": TOKENS["prefill"], "STEPS": TOKENS["decode"], "TURN": TURN}  # what every worker is told
F32, Q4_0, Q8_0, BF16 = 0, 2, 7, 32  # llama.cpp's file types
FILES = {"Q4_0": Q4_0, "Q8_0": Q8_0, "Q4_K_M": 15, "Q5_K_M": 17, "Q6_K": 18}  # those that Rapt compiles as they are


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
    weight, of one of the table of tokens, and of a number of keys and values. With `isOfFile` Rapt compiles llama.cpp's file."""
    name: str
    key: str
    model: str
    options: list
    type: int
    cache: str
    tolerance: float
    dtype: str
    sizes: tuple
    isOfFile: bool = False

    @functools.cached_property
    def config(self):
        return configuration(self.model)

    @property
    def vocabulary(self):
        return self.config["vocab_size"]

    @property
    def shape(self):
        """Weights of all layers' matrices, channels of a token, layers with attention, channels of their queries and of their keys,
        and numbers of f32 in the states of other layers."""
        config = self.config
        if self.model == "gpt2":
            width, layers = config["n_embd"], config["n_layer"]
            return layers * 12 * width * width, width, layers, width, width, 0
        width, layers, heads = config["hidden_size"], config["num_hidden_layers"], config["num_attention_heads"]
        size, others, state = config.get("head_dim", width // heads), 0, 0
        queries, keys = heads * size, config["num_key_value_heads"] * size
        inner, attentions, gates = config.get("intermediate_size"), layers, 0
        if config["model_type"] == "lfm2":
            inner, attentions = peers_models.lfm2_inner(config), len(config["full_attn_idxs"])
            others, state = 4 * width * width, (config["conv_L_cache"] - 1) * width
        elif config["model_type"] == "qwen3_5_text":
            attentions, gates = layers // config["full_attention_interval"], queries
            heads, of_keys, of_values = config["linear_num_value_heads"], config["linear_key_head_dim"], config["linear_value_head_dim"]
            convolved = 2 * config["linear_num_key_heads"] * of_keys + heads * of_values
            others = width * (convolved + 2 * heads * of_values + 2 * heads)
            state = heads * of_keys * of_values + (config["linear_conv_kernel_dim"] - 1) * convolved
        weights = 3 * layers * width * inner + attentions * width * (2 * queries + gates + 2 * keys) + (layers - attentions) * others
        return weights, width, attentions, queries, keys, (layers - attentions) * state

    def operations(self, tokens):
        """Operations of a prompt's matmuls and attention; the last token alone has logits."""
        weights, width, attentions, queries, _, _ = self.shape
        return 2 * tokens * weights + attentions * 2 * queries * tokens * (tokens + 1) + 2 * self.vocabulary * width

    def bytes(self, length):
        """The bytes that one token behind `length` others reads."""
        weights, width, attentions, _, keys, states = self.shape
        of_weight, of_table, of_cache = self.sizes
        return int(weights * of_weight + attentions * 2 * length * keys * of_cache + 4 * states + self.vocabulary * width * of_table)


# llama.cpp keeps keys and values of its flash attention in half precision, whatever the cache has. In LFM2 and Qwen3.5 gates multiply the errors of 4 bits of seeded
# weights until two roundings have little in common (0.8 to 1.0): that both engines run the same model is what their rows in bf16 tell.
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
    Decoder("LFM2 1.2B in bf16", "lfm2-bf16", "decoders/lfm2-1.2b", ["--cache-dtype=bf16"], BF16, "f16", 3e-2, "bf16", (2, 2, 2)),
    Decoder("LFM2 1.2B in 4 bits", "lfm2-4", "decoders/lfm2-1.2b", ["--quantize=w4", "--cache-dtype=f16"], Q4_0, "f16", 2.0, "i4", (9 / 16, 17 / 16, 2)),
    Decoder("Qwen3.5 0.8B in bf16", "qwen35-bf16", "decoders/qwen3.5-0.8b", ["--cache-dtype=bf16"], BF16, "f16", 3e-2, "bf16", (2, 2, 2)),
    Decoder("Qwen3.5 0.8B in 4 bits", "qwen35-4", "decoders/qwen3.5-0.8b", ["--quantize=w4", "--cache-dtype=f16"], Q4_0, "f16", 2.0, "i4", (9 / 16, 17 / 16, 2)),
]

# One file for both. Bytes of a weight are those of the mixture in LLaMA 1.1B, within a hundredth of the others'; of the table, those of the head, in Q6_K or Q8_0.
SIZES_OF_FILES = {"Q4_0": (0.5625, 0.8203), "Q8_0": (1.0625, 1.0625), "Q4_K_M": (0.594, 0.8203), "Q5_K_M": (0.708, 0.8203), "Q6_K": (0.8203, 0.8203)}
DECODERS += [Decoder(f"{name}, file in {kind}", f"{key}-{kind.lower().replace('_', '')}-file", model, ["--cache-dtype=f16"], FILES[kind], "f16", 0.5, "i8",
                     (*SIZES_OF_FILES[kind], 2), isOfFile=True)
             for name, key, model in (("LLaMA 1.1B", "llama", "tinyllama-1.1b"), ("Qwen3 0.6B", "qwen3", "qwen3-0.6b"), ("Gemma 3 1B", "gemma3", "gemma-3-1b"),
                                      ("Phi-3 mini", "phi3", "phi-3-mini")) for kind in FILES]


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
    settings, stem = configuration(model), os.path.join(cache, os.path.basename(model))
    gguf = {decoder.key: os.path.join(cache, f"{decoder.key}.gguf") for decoder in decoders}
    config, weights, onnx = (f"{stem}{end}" for end in (".json", ".safetensors", ".onnx"))
    with open(config, "w", encoding="utf-8") as file:
        json.dump(settings, file)
    missing = not all(map(os.path.exists, [*gguf.values(), *([onnx] if model == "gpt2" else [])]))
    source = next(decoder for decoder in DECODERS if decoder.model == model)  # whose weights are as the configuration says
    for decoder in [*([source] if missing and source not in decoders else []), *(decoder for decoder in decoders if not decoder.isOfFile)]:
        save = [f"--save-weights={weights}"] if missing and decoder is source else []
        run(raptc, config, "--random-weights=1", *decoder.options, *save, *options, "-o", os.path.join(cache, f"{decoder.key}.so"))
    if missing:
        write_files(cache, model, decoders, gguf, settings)
    for decoder in decoders:
        if decoder.isOfFile:
            run(raptc, gguf[decoder.key], *decoder.options, *options, "-o", os.path.join(cache, f"{decoder.key}.so"))


def write_files(cache, model, decoders, gguf, settings):
    """The peers' files, from the weights that raptc has saved."""
    weights, base, onnx = (os.path.join(cache, os.path.basename(model) + end) for end in (".safetensors", "-as-it-is.gguf", ".onnx"))
    tensors = peers_models.read_safetensors(weights)
    peers_models.WRITERS.get(settings["model_type"], peers_models.write_decoder_gguf)(base, tensors, settings)
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
