#!/usr/bin/env python3
"""Models of GGUF files against those of the directories that they are made from: the imported text and the packed weights must be the same bytes.

families.py SCRATCH RAPTC

Each family's directory gets random weights of a seed, and gguf_models.py makes its file. Files that are made wrongly must give other weights or be refused."""

import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", ".."), os.path.join(HERE, "..", "..", "Reference", "numpy")]
import batch  # noqa: E402
import gguf_models  # noqa: E402
import numpy  # noqa: E402
import tensorfiles  # noqa: E402

SIZES = {"vocab_size": 97, "hidden_size": 48, "intermediate_size": 72, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
         "max_position_embeddings": 64}
OLDER = {"vocab_size": 97, "n_embd": 48, "n_layer": 2, "n_head": 6, "n_positions": 64}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
EXPERTS = {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "decoder_sparse_step": 1}
PHI3 = {"short_factor": [1.0, 1.5, 2.0, 3.0], "long_factor": [1.2, 1.5, 4.0, 9.0]}
GEMMA3 = {"sliding_window": 9, "rope_theta": 5000.0, "rope_local_base_freq": 100.0, "query_pre_attn_scalar": 16, "head_dim": 16, "num_hidden_layers": 7}

# name -> (config, options of gguf_models.convert, flags of raptc for both)
CASES = {
    "llama": ({**SIZES, "model_type": "llama"}, {}),
    "llama-f16": ({**SIZES, "model_type": "llama", "torch_dtype": "float16", "tie_word_embeddings": True}, {"dtype": "F16"}),
    "llama-bf16-one-key-head": ({**SIZES, "model_type": "llama", "torch_dtype": "bfloat16", "num_key_value_heads": 1, "head_dim": 20}, {"dtype": "BF16"}),
    "llama-biases": ({**SIZES, "model_type": "llama", "attention_bias": True, "mlp_bias": True, "num_key_value_heads": 6}, {}),
    "llama-fused": ({**SIZES, "model_type": "llama"}, {"fused": True}),
    "llama-parts": ({**SIZES, "model_type": "llama"}, {"parts": 3}),
    "llama-linear": ({**SIZES, "model_type": "llama", "rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 2.5}}, {}),
    "llama-yarn": ({**SIZES, "model_type": "llama", "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 8.0, "original_max_position_embeddings": 16}}, {}),
    "mixtral": ({**SIZES, "model_type": "mixtral", "num_local_experts": 3, "num_experts_per_tok": 2, "sliding_window": None, "rope_theta": 1e6}, {}),
    "qwen2": ({**SIZES, "model_type": "qwen2", "tie_word_embeddings": True}, {}),
    "qwen2_moe": ({**SIZES, "model_type": "qwen2_moe", **EXPERTS, "shared_expert_intermediate_size": 36}, {}),
    "qwen3": ({**SIZES, "model_type": "qwen3", "head_dim": 16}, {}),
    "qwen3_moe": ({**SIZES, "model_type": "qwen3_moe", "head_dim": 16, **EXPERTS, "norm_topk_prob": True}, {}),
    "gemma": ({**SIZES, "model_type": "gemma", "head_dim": 16}, {}),
    "gemma-bf16": ({**SIZES, "model_type": "gemma", "head_dim": 16, "torch_dtype": "bfloat16"}, {"dtype": "BF16"}),
    "gemma2": ({**SIZES, "model_type": "gemma2", "head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 9}, {}),
    "gemma3": ({**SIZES, **GEMMA3, "model_type": "gemma3_text", "rope_scaling": {"rope_type": "linear", "factor": 8.0}}, {}),
    "gemma3-types": ({**SIZES, **GEMMA3, "model_type": "gemma3_text", "num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"],
                      "final_logit_softcapping": 3.0}, {}),
    "phi3": ({**SIZES, "model_type": "phi3", "sliding_window": 9}, {}),
    "phi3-partial": ({**SIZES, "model_type": "phi3", "partial_rotary_factor": 0.75, "sliding_window": None, "head_dim": 8}, {}),
    "phi3-long": ({**SIZES, "model_type": "phi3", "rope_scaling": {"type": "longrope", **PHI3}, "original_max_position_embeddings": 16,
                   "max_position_embeddings": 96}, {}),
    "gpt2": ({**OLDER, "model_type": "gpt2"}, {}),
    "gpt2-untied": ({**OLDER, "model_type": "gpt2", "n_inner": 70, "tie_word_embeddings": False}, {}),
    "starcoder": ({**OLDER, "model_type": "gpt_bigcode"}, {}),
    "starcoder2": ({**SIZES, "model_type": "starcoder2", "sliding_window": None}, {}),
    "olmo2": ({**SIZES, "model_type": "olmo2"}, {}),
    "smollm3": ({**SIZES, "model_type": "smollm3", "num_hidden_layers": 5, "tie_word_embeddings": True}, {}),
}
# Both have the same numbers in another text: frequencies by the file's factors, or Conv1D's weights in torch's order.
OTHER_TEXT = {
    "llama3": ({**SIZES, "model_type": "llama", "head_dim": 32, "rope_theta": 500.0, "rope_scaling": LLAMA3}, {}),
}


def twice(tensors):
    return {name: array + numpy.float32(1) if name.endswith("norm.weight") else array for name, array in tensors.items()}


def in_halves(tensors):
    """Rows as the checkpoint has them."""
    return {name: array.reshape(-1, 4, 2, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape) if "attn_q." in name or "attn_k." in name else array
            for name, array in tensors.items()}


def by_query_heads(tensors):
    """Rows of two key heads of 8 as if they were of one of 16."""
    for name in tensors:
        if "attn_k." in name:
            halves = tensors[name].reshape(-1, 4, 2, *tensors[name].shape[1:]).swapaxes(1, 2).reshape(tensors[name].shape)
            tensors[name] = gguf_models.neighbors(halves, 1)


# name -> (case, options): the weights must be others
WRONG = {"norms-twice": ("gemma", {"changes": twice}), "rows-in-halves": ("llama", {"changes": in_halves}), "keys-by-query-heads": ("llama", {"changes": by_query_heads})}


class Checks:
    def __init__(self, scratch, raptc):
        self.scratch, self.raptc, self.failures = scratch, raptc, 0
        shutil.rmtree(scratch, ignore_errors=True)

    def path(self, *names):
        path = os.path.join(self.scratch, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def run(self, commands):
        """Runs all of {name: arguments}; the answers of those that succeeded by their names."""
        answers = dict(zip(commands, batch.run(self.raptc, list(commands.values()))))
        for name, answer in answers.items():
            if answer["status"]:
                self.fail(name, f"exit status {answer['status']}: {answer['stderr'].strip()[-1500:]}")
        return {name: answer for name, answer in answers.items() if not answer["status"]}

    def fail(self, name, what):
        self.failures += 1
        print(f"{name}: {what}")

    def directories(self, cases):
        """Writes config.json and random weights of each case."""
        for name, (config, _) in cases.items():
            with open(self.path(name, "dir", "config.json"), "w", encoding="utf-8") as file:
                json.dump(config, file)
        self.run({name: [self.path(name, "dir", "config.json"), "--random-weights=7", "--codegen=quick", f"--save-weights={self.path(name, 'dir', 'model.safetensors')}",
                         "-o", self.path(name, "random", "model.o")] for name in cases})

    def compile(self, sources):
        """{name: (imported text, bytes of the weight file)} of {name: model}."""
        texts = self.run({name: [source, "--emit=imported", "-o", self.path(name, "out", "imported.mlir")] for name, source in sources.items()})
        codes = self.run({name: [sources[name], "--codegen=quick", "-o", self.path(name, "out", "model.o")] for name in texts})
        found = {}
        for name in codes:
            folder = self.path(name, "out")
            weights = [entry for entry in os.listdir(folder) if entry.endswith(".weights")]
            with open(os.path.join(folder, "imported.mlir"), encoding="utf-8") as file, open(os.path.join(folder, weights[0]), "rb") as packed:
                found[name] = file.read(), packed.read()
        return found


def without_name(text):
    return text.replace("model.gguf", "")


def main():
    checks = Checks(*sys.argv[1:3])
    cases = {**CASES, **OTHER_TEXT}
    checks.directories(cases)
    sources, wanted = {}, {name: checks.path(name, "dir") for name in cases}
    made = {**{name: (name, options) for name, (_, options) in cases.items()}, **WRONG}
    for name, (case, options) in made.items():
        path = checks.path("files", name)
        path = gguf_models.convert(checks.path(case, "dir"), path if "parts" in options else path + ".gguf", **options)[0]
        sources["files/" + name] = path
    directories, files = checks.compile(wanted), checks.compile(sources)
    for name, (case, _) in made.items():
        if case not in directories or "files/" + name not in files:
            continue
        (text, weights), (ownText, ownWeights) = directories[case], files["files/" + name]
        if name in WRONG and ownWeights == weights:
            checks.fail(name, "the weights are those of a right file")
        if name not in WRONG and ownWeights != weights:
            checks.fail(name, "the weights differ from the directory's")
        if name in CASES and ownText != text:
            lines = [pair for pair in zip(text.split("\n"), ownText.split("\n")) if pair[0] != pair[1]]
            checks.fail(name, "the text differs from the directory's" + "".join(f"\n  - {a[:300]}\n  + {b[:300]}" for a, b in lines[:4]))
    print(f"{len(made)} files, {checks.failures} failures")
    sys.exit(checks.failures != 0)


if __name__ == "__main__":
    main()
