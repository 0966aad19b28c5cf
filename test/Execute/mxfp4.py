#!/usr/bin/env python3
"""A gpt_oss model whose experts are MXFP4: where a type of weights is asked for, it gives the bits of one whose experts are the same numbers in bf16; the codes and
scales are decoded here by the table of the OCP Microscaling Formats. Otherwise the blocks stay, and compiled code gives what the reference evaluator makes of them,
which rounds rows alike; of the numbers it is as far as these 8 bits are. Faulty files give one line."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "Reference", "numpy"), os.path.join(HERE, "..", "Reference", "transformers")]

import encoders  # noqa: E402
import random_models  # noqa: E402
import tensorfiles  # noqa: E402
import weights  # noqa: E402

full = os.environ.get("RAPT_FULL") == "1"
# Sign, two bits of exponent, one of mantissa: E2M1.
VALUES = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], numpy.float32)
CONFIG = {"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_size": 64, "head_dim": 16, "num_attention_heads": 4, "num_key_value_heads": 2,
          "num_hidden_layers": 2, "intermediate_size": 96, "num_local_experts": 5, "num_experts_per_tok": 2, "vocab_size": 61, "max_position_embeddings": 128,
          "sliding_window": 8, "tie_word_embeddings": False, "eos_token_id": 2, "rms_norm_eps": 1e-5, "hidden_act": "silu", "torch_dtype": "bfloat16",
          "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}}
random = numpy.random.default_rng(7)


def decoded(codes, scales):
    pairs = numpy.stack([codes & 15, codes >> 4], -1).reshape(*codes.shape[:-1], 32)
    return (numpy.ldexp(VALUES[pairs], scales.astype(numpy.int32)[..., None] - 127)).reshape(*codes.shape[:-2], -1)


def model_tensors():
    """Plain tensors, and those of experts as (codes, scales)."""
    hidden, inner, experts = CONFIG["hidden_size"], CONFIG["intermediate_size"], CONFIG["num_local_experts"]
    heads, kv = CONFIG["num_attention_heads"] * CONFIG["head_dim"], CONFIG["num_key_value_heads"] * CONFIG["head_dim"]
    shapes = {"model.embed_tokens.weight": (61, hidden), "model.norm.weight": (hidden,), "lm_head.weight": (61, hidden)}
    coded = {}
    for layer in range(CONFIG["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        for part, rows in (("q", heads), ("k", kv), ("v", kv)):
            shapes |= {f"{at}self_attn.{part}_proj.weight": (rows, hidden), f"{at}self_attn.{part}_proj.bias": (rows,)}
        shapes |= {f"{at}self_attn.o_proj.weight": (hidden, heads), f"{at}self_attn.o_proj.bias": (hidden,), f"{at}self_attn.sinks": (CONFIG["num_attention_heads"],),
                   f"{at}input_layernorm.weight": (hidden,), f"{at}post_attention_layernorm.weight": (hidden,), f"{at}mlp.router.weight": (experts, hidden),
                   f"{at}mlp.router.bias": (experts,), f"{at}mlp.experts.gate_up_proj_bias": (experts, 2 * inner), f"{at}mlp.experts.down_proj_bias": (experts, hidden)}
        for part, rows, columns in (("gate_up_proj", 2 * inner, hidden), ("down_proj", hidden, inner)):
            codes = random.integers(0, 256, (experts, rows, columns // 32, 16)).astype(numpy.uint8)
            coded[f"{at}mlp.experts.{part}"] = codes, random.integers(119, 124, codes.shape[:-1]).astype(numpy.uint8)
    return {name: weights.tensor(name, list(shape)) for name, shape in shapes.items()}, coded


def write(directory, plain, coded, isCoded, dtype="BF16"):
    os.makedirs(directory, exist_ok=True)
    config = CONFIG | {"torch_dtype": "bfloat16" if dtype == "BF16" else "float32"} | ({"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}} if isCoded else {})
    with open(os.path.join(directory, "config.json"), "w") as file:
        json.dump(config, file)
    tensors = dict(plain)
    for name, (codes, scales) in coded.items():
        if isCoded:
            tensors |= {name + "_blocks": codes, name + "_scales": scales}
        else:
            tensors[name] = numpy.ascontiguousarray(numpy.swapaxes(decoded(codes, scales), 1, 2))
    tensorfiles.write(os.path.join(directory, "model.safetensors"), tensors, dtype)


def logits(options, source, directory, flags, name):
    command = random_models.program(options, source, directory, flags)
    inputs = {"input_ids": numpy.arange(3, 24)[None]}
    return encoders.run_batch(options, command, name, directory, inputs, ["logits"])["logits"]


def check_stored(options, source, directory):
    """Blocks beside weights of f32, also beside quantized ones: what compiled code gives, against the evaluator on the same program and on numbers."""
    imported, quantized, ids = (os.path.join(directory, name) for name in ("imported.mlir", "quantized.mlir", "ids.npy"))
    numpy.save(ids, numpy.arange(3, 24)[None])
    random_models.run([options.raptc, source, "--emit=imported", "-o", imported])

    def evaluated(text):
        out = os.path.join(directory, "evaluated.npy")
        random_models.run([options.rapt_reference, text, f"--weights={source}", "--input", f"input_ids={ids}", "--output", f"logits={out}"])
        return numpy.load(out)

    def distance(a, b):
        return numpy.linalg.norm(a.ravel() - b.ravel()) / numpy.linalg.norm(b)

    exact = evaluated(imported)
    for flags, passes in ([], "mode=stored"), (["--quantize=w8"], "mode=w8"):
        random_models.run([options.rapt_opt, imported, f"--attn-quantize-weights={passes}", "-o", quantized])
        assert "mxfp4 group 32" in open(quantized).read(), f"{passes}: no matrix has blocks"
        own, other = logits(argparse.Namespace(**vars(options) | {"rapt_reference": None}), source, directory, flags, "stored"), evaluated(quantized)
        assert distance(own, other) < 1e-5, f"{flags}: {distance(own, other)} from the evaluator"
        # Of most tokens: one may go to other experts.
        far = numpy.median([distance(*pair) for pair in zip(own.reshape(-1, own.shape[-1]), exact.reshape(-1, own.shape[-1]))])
        assert 1e-4 < far < 3e-2, f"{flags}: {far} from the numbers"
        print(f"gpt_oss of MXFP4 {' '.join(flags)}: blocks as stored, {distance(own, other):.1e} from the evaluator")


def refused(options, source, expected):
    done = subprocess.run([options.raptc, source, "-o", source + ".so"], capture_output=True, text=True)
    assert done.returncode == 1 and expected in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def main():
    parser = argparse.ArgumentParser()
    for name in ("--raptc", "--rapt-run", "--rapt-opt", "--rapt-reference"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    evaluator, options.rapt_reference = options.rapt_reference, None
    plain, coded = model_tensors()
    with tempfile.TemporaryDirectory() as directory:
        both = [os.path.join(directory, name) for name in ("coded", "plain")]
        for source, isCoded in zip(both, (True, False)):
            write(source, plain, coded, isCoded)
        for flags in (["--dtype=bf16"], ["--dtype=f32"], ["--target=generic", "--dtype=bf16"]) if full else (["--dtype=bf16"],):
            of_coded, of_plain = (logits(options, source, directory, flags, os.path.basename(source)) for source in both)
            assert numpy.isfinite(of_plain).all() and of_plain.std() > 0.01
            assert numpy.array_equal(of_coded, of_plain), f"{flags}: results differ by {abs(of_coded - of_plain).max()}"
            print(f"gpt_oss of MXFP4 {' '.join(flags)}: the bits of the same numbers in bf16")
        write(both[0], plain, coded, True, "F32")
        check_stored(argparse.Namespace(**vars(options) | {"rapt_reference": evaluator}), both[0], directory)
        name = next(iter(coded))
        codes, scales = coded[name]
        write(both[0], plain, coded | {name: (codes, scales[..., :-1])}, True)
        refused(options, both[0], "do not fit: MXFP4 has blocks of 16 bytes with a scale each")
        write(both[0], plain, coded | {name: (codes[..., :-1], scales)}, True)
        refused(options, both[0], "do not fit: MXFP4 has blocks of 16 bytes with a scale each")
        write(both[0], plain, {key: value for key, value in coded.items() if key != name}, True)
        refused(options, both[0], "1 missing tensor: \"model.layers.0.mlp.experts.gate_up_proj\"")
        worst = scales.copy()
        worst[0, 0, 0] = 255
        write(both[0], plain, coded | {name: (codes, worst)}, True)
        done = subprocess.run([options.raptc, both[0], "--check-tensors", "-o", both[0] + ".so"], capture_output=True, text=True)
        assert name in done.stderr and "NaN" in done.stderr, done.stderr


main()
