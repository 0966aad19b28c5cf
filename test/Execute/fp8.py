#!/usr/bin/env python3
"""Checkpoints in FP8, as deepseek_v3 ships them, compiled: a deepseek_v3 and a qwen3 give the bits of a checkpoint whose weights are the scaled numbers in the model's
type, and those of the qwen3 agree with numpy's float64 over them. Codes are decoded and scaled here by the OCP 8-bit Floating Point Specification. Weights in FP8
without scales are the numbers of their codes. Faulty files give one line."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "Reference", "numpy"), os.path.join(HERE, "..", "Reference", "transformers")]

import random_models  # noqa: E402
import recorded_models  # noqa: E402
import tensorfiles  # noqa: E402
import weights  # noqa: E402
from decoder_families import FAMILIES  # noqa: E402
from decoders import common  # noqa: E402


full = os.environ.get("RAPT_FULL") == "1"


def e4m3(code):
    sign, exponent, mantissa = -1.0 if code & 128 else 1.0, code >> 3 & 15, code & 7
    if exponent == 15 and mantissa == 7:
        return numpy.nan
    return sign * (mantissa / 8 * 2.0**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7))


E4M3 = numpy.array([e4m3(code) for code in range(256)], numpy.float32)
E5M2 = (numpy.arange(256).astype("<u2") << 8).view("<f2").astype(numpy.float32)
FINITE = numpy.flatnonzero(numpy.isfinite(E4M3))
ASCENDING = FINITE[numpy.argsort(E4M3[FINITE], kind="stable")]


def spread(scales, block, shape):
    """The scale of each value."""
    return numpy.repeat(numpy.repeat(scales, block[0], 0), block[1], 1)[: shape[0], : shape[1]]


def quantized(values, block):
    """Codes and the scales of their blocks; the largest magnitude of a block is 448."""
    counts = [-(-extent // size) for extent, size in zip(values.shape, block)]
    scales = numpy.empty(counts, numpy.float32)
    for i in range(counts[0]):
        for j in range(counts[1]):
            scales[i, j] = abs(values[i * block[0] : (i + 1) * block[0], j * block[1] : (j + 1) * block[1]]).max() / 448
    table = E4M3[ASCENDING]
    at = numpy.searchsorted((table[1:] + table[:-1]) / 2, values / spread(scales, block, values.shape))
    return ASCENDING[at].astype(numpy.uint8), scales


def is_matrix_of_layer(name, shape):
    return len(shape) == 2 and ".layers." in name and not name.endswith("mlp.gate.weight")


def round_to(values, storage):
    return tensorfiles.bf16Values(tensorfiles.bf16Bits(values)).reshape(values.shape) if storage == "BF16" else values


class Checkpoint:
    """A model's plain tensors, and the same with matrices of layers in FP8."""

    def __init__(self, config, tensors, block, storage, scheme="dynamic"):
        self.storage, self.block = storage, block
        self.config = {key: value for key, value in config.items() if key != "dtype"} | {"torch_dtype": {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}[storage]}
        self.own = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": scheme, "weight_block_size": list(block) if block else None}
        self.plain, self.coded, self.kinds = {}, {}, {}
        for name, values in tensors.items():
            self.plain[name] = self.coded[name] = values
            if not is_matrix_of_layer(name, values.shape):
                continue
            codes, scales = quantized(values, block or values.shape)
            self.plain[name] = round_to(E4M3[codes] * spread(scales, block or values.shape, values.shape), storage)
            self.coded |= {name: codes, name + "_scale_inv": scales if block else scales[0, 0]}
            self.kinds |= {name: "F8_E4M3", name + "_scale_inv": "F32"}
            if scheme == "static":
                self.coded[name.removesuffix("weight") + "activation_scale"] = numpy.float32(0.25)

    def write(self, directory, is_coded, own=None, kinds=None, **changes):
        """`own` is quantization_config, `changes` are other tensors, None for those that are left out, and `kinds` their types."""
        os.makedirs(directory, exist_ok=True)
        config = self.config | ({"quantization_config": own or self.own} if is_coded else {})
        with open(os.path.join(directory, "config.json"), "w") as file:
            json.dump(config, file)
        tensors = {name: values for name, values in ((self.coded if is_coded else self.plain) | changes).items() if values is not None}
        tensorfiles.write(os.path.join(directory, "model.safetensors"), tensors, self.storage, self.kinds | (kinds or {}) if is_coded else None)
        return directory


def deepseek():
    recorded = recorded_models.read("deepseek_v3")
    return recorded["config"], {name: weights.tensor(name, shape) for name, shape in recorded["tensors"].items()}


def qwen3():
    family = FAMILIES["qwen3"]
    config = {**family.SMALL, **family.CASES["plain"], "hidden_size": 160, "intermediate_size": 300, "head_dim": 24, "eos_token_id": 1}
    return config, common.draw(family.shapes(config), 5)


def logits(options, source, flags, name):
    directory = source + "-" + name
    os.makedirs(directory, exist_ok=True)
    command = random_models.program(options, source, directory, flags)
    ids, output = os.path.join(directory, "ids.npy"), os.path.join(directory, "logits.npy")
    numpy.save(ids, IDS)
    return random_models.outputs(options, [*command, "--input", f"input_ids={ids}"], {"logits": output})["logits"]


IDS = numpy.arange(3, 40)[None] % 61


def check_same(options, directory, name, checkpoint, each_flags):
    sources = checkpoint.write(os.path.join(directory, name + "-coded"), True), checkpoint.write(os.path.join(directory, name + "-plain"), False)
    for flags in each_flags:
        of_coded, of_plain = (logits(options, source, flags, "".join(flags)) for source in sources)
        assert numpy.isfinite(of_plain).all() and of_plain.std() > 0.01
        assert of_coded.tobytes() == of_plain.tobytes(), f"{name} {flags}: results differ by {abs(of_coded - of_plain).max()}"
        print(f"{name} {' '.join(flags)}: the bits of the scaled numbers")
    return of_plain


def check_plain_codes(options, directory):
    """Weights in FP8 without scales: numbers below 0.5, which keep the results of the size of others."""
    config, tensors = qwen3()
    base, flags = Checkpoint(config, tensors, (128, 128), "BF16"), [] if full else ["--target=generic"]
    for kind, table in (("F8_E4M3", E4M3), ("F8_E5M2", E5M2)):
        finite = numpy.flatnonzero(numpy.isfinite(table)).astype(numpy.uint8)
        name = "model.layers.0.self_attn.o_proj.weight"
        codes = numpy.resize(finite[abs(table[finite]) < 0.5], tensors[name].shape)
        plain = Checkpoint(config, tensors, (128, 128), "BF16")
        plain.plain = tensors | {name: table[codes]}
        expected = logits(options, plain.write(os.path.join(directory, kind + "-plain"), False), flags, kind)
        base.coded, base.kinds = tensors | {name: codes}, {name: kind}
        source = base.write(os.path.join(directory, kind + "-coded"), True)
        with open(os.path.join(source, "config.json"), "w") as file:
            json.dump(base.config, file)
        assert logits(options, source, flags, kind).tobytes() == expected.tobytes(), f"results of {kind} differ"
        print(f"{kind} without scales: the bits of the numbers")


def refused(options, source, expected):
    done = subprocess.run([options.raptc, source, "-o", source + ".so"], capture_output=True, text=True)
    assert done.returncode == 1 and expected in done.stderr and len(done.stderr.splitlines()) == 1, f"expected {expected}: {done.stderr}"


def check_faults(options, directory):
    checkpoint = Checkpoint(*qwen3(), (128, 128), "BF16")
    name = "model.layers.0.mlp.down_proj.weight"
    scales = checkpoint.coded[name + "_scale_inv"]
    source = os.path.join(directory, "faults")
    faults = (
        ({name + "_scale_inv": scales[:, :-1]}, 'its scales "model.layers.0.mlp.down_proj.weight_scale_inv" are [2, 2], expected [2, 3]'),
        ({name + "_scale_inv": numpy.int64(1)}, "are [], expected [2, 3]"),
        ({name + "_scale_inv": None}, 'has no scales "model.layers.0.mlp.down_proj.weight_scale_inv", which quantization_config (fp8) needs'),
        ({name: None}, "1 missing tensor"),
        ({name + "_scale_inv": numpy.ones_like(scales, numpy.int64), "kinds": {name + "_scale_inv": "I64"}}, "are I64, supported are F32, F16 and BF16"),
        ({"kinds": {name: "F8_E5M2"}}, f'"{name}" [160, 300] of F8_E5M2 has scales, which only matrices of F8_E4M3 may have'),
    )
    for changes, expected in faults:
        refused(options, checkpoint.write(source, True, **changes), expected)
    half = Checkpoint(*qwen3(), (128, 128), "F16")
    refused(options, half.write(source, True, **{name + "_scale_inv": scales * 1e6}), "a scaled value is beyond f16, the type that the configuration gives (torch_dtype)")
    for own, expected in (({"fmt": "e5m2"}, "quantization_config.fmt is \"e5m2\""), ({"weight_block_size": [128, 0]}, "quantization_config.weight_block_size is [128,0]"),
                          ({"weight_block_size": 128}, "quantization_config.weight_block_size is 128, expected null or a list of two integers"),
                          ({"activation_scheme": "tensor"}, "quantization_config.activation_scheme is \"tensor\""),
                          ({"kv_cache_scheme": "fp8"}, "unknown key quantization_config.kv_cache_scheme with value"),
                          ({"quant_method": "fbgemm_fp8"}, "quantization_config (fbgemm_fp8) is not supported: use the original weights")):
        refused(options, checkpoint.write(source, True, own=checkpoint.own | own), expected)
    checkpoint.write(source, True)
    with open(os.path.join(source, "config.json"), "w") as file:
        json.dump(checkpoint.config, file)
    refused(options, source, "a quantization_config with quant_method \"fp8\" must say what they mean")
    codes = checkpoint.coded[name].copy()
    codes[0, 1] = 0xFF
    checkpoint.write(source, True, **{name: codes})
    done = subprocess.run([options.raptc, source, "--check-tensors", "-o", source + ".so"], capture_output=True, text=True)
    assert name in done.stderr and "NaN at index 1" in done.stderr, done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    options = parser.parse_args()
    options.rapt_reference = None
    with tempfile.TemporaryDirectory() as directory:
        # Weights are the same for each target. The generic one compiles faster than the CPU's, which the qwen3 below is for.
        fast = ["--target=generic"]
        check_same(options, directory, "deepseek_v3", Checkpoint(*deepseek(), (16, 24), "BF16"), ([], ["--quantize=w8"]) if full else (fast,))
        check_same(options, directory, "deepseek_v3-whole", Checkpoint(*deepseek(), None, "F32", "static"), ([] if full else fast,))
        config, tensors = qwen3()
        checkpoint = Checkpoint(config, tensors, (128, 128), "F32")
        found = check_same(options, directory, "qwen3", checkpoint, (["--quantize=w4"], [] if full else fast))
        expected = FAMILIES["qwen3"].Model(checkpoint.config, checkpoint.plain).batch(IDS)
        print(f"qwen3: relative L2 {random_models.compare('qwen3', found, expected, None, random_models.TOLERANCE['F32']):.1e} to numpy")
        check_same(options, directory, "qwen3-bf16", Checkpoint(config, tensors, (128, 128), "BF16"), ([], ["--dtype=f32"]) if full else ([*fast, "--dtype=f32"],))
        check_plain_codes(options, directory)
        check_faults(options, directory)


main()
