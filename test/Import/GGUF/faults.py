#!/usr/bin/env python3
"""Makes GGUF files with one fault each, runs a command on each and checks exit status, message and what is left behind.

faults.py SCRATCH [--batch] [--reader] COMMAND...: all run in one process with --batch. `{model}` in the command is the file, `{out}` a file that a failure must not leave.
With --reader the command reads files alone, and accepts models that cannot be compiled."""

import os
import shlex
import shutil
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", ".."), os.path.join(HERE, "..", "..", "Reference", "numpy")]
import batch  # noqa: E402
import gguf  # noqa: E402
import numpy  # noqa: E402
from gguf import Array, Blocks, Typed  # noqa: E402

WIDTH, INNER, VOCABULARY = 32, 48, 7
CASES = []  # (fault, name, function of a folder that makes files and gives the one to read, texts of the message or None: it is accepted, who sees the fault)
ALL, COMPILER = "reader", "compiler"


def metadata():
    keys = {"context_length": 16, "embedding_length": WIDTH, "block_count": 1, "feed_forward_length": INNER, "attention.head_count": 4,
            "attention.head_count_kv": 2, "attention.layer_norm_rms_epsilon": 1e-5, "rope.dimension_count": 8}
    return {"general.architecture": "llama", **{f"llama.{key}": value for key, value in keys.items()}, "tokenizer.ggml.model": "no_vocab"}


def tensors():
    random = numpy.random.RandomState(3)
    shapes = {"token_embd": (VOCABULARY, WIDTH), "output_norm": (WIDTH,)}
    layer = {"attn_norm": (WIDTH,), "attn_q": (WIDTH, WIDTH), "attn_k": (16, WIDTH), "attn_v": (16, WIDTH), "attn_output": (WIDTH, WIDTH), "ffn_norm": (WIDTH,),
             "ffn_gate": (INNER, WIDTH), "ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER)}
    shapes |= {f"blk.0.{name}": shape for name, shape in layer.items()}
    return {f"{name}.weight": random.standard_normal(shape).astype(numpy.float32) for name, shape in shapes.items()}


def case(fault, name, make, *texts, seen=ALL):
    CASES.append((fault, name, make, texts, seen))


def accepted(fault, name, make, seen=ALL):
    CASES.append((fault, name, make, None, seen))


def raw(content):
    def make(folder):
        path = os.path.join(folder, "model.gguf")
        with open(path, "wb") as file:
            file.write(content)
        return path
    return make


def file(change=None, keys=None, only=None, **options):
    """The model with `keys` over its metadata (None takes one away), and `change` of its tensors."""
    def make(folder):
        path, all = os.path.join(folder, "model.gguf"), tensors() if only is None else only
        own = {key: value for key, value in {**metadata(), **(keys or {})}.items() if value is not None}
        if change:
            change(all)
        gguf.write(path, own, all, **options)
        return path
    return make


def keys_of(architecture, layers=1, **more):
    """The same of another architecture, with more keys, whose dots are __."""
    own = {key.replace("llama.", architecture + "."): value for key, value in metadata().items()}
    own |= {f"{architecture}.block_count": layers, **{f"{architecture}.{key.replace('__', '.')}": value for key, value in more.items()}}
    return {**{key: None for key in metadata()}, **own, "general.architecture": architecture}


def patched(**fields):
    return file(patches={field.replace("__", ":"): value for field, value in fields.items()})


def patch(field, value):
    return file(patches={field: value})


HEAD = "token_embd.weight"
LAST = list(tensors())[-1]
case(0, "empty", raw(b""), "model.gguf", "is empty", seen=COMPILER)
case(97, "short", raw(b"GGUF\3\0\0\0"), "8 bytes", "truncated")
case(97, "keys", patch("keys", 2**63), "9223372036854775808 keys", "100000")
case(97, "keys-beyond", patch("keys", 99999), "99999 keys of 14 bytes", "bytes follow")
case(97, "tensors", patch("tensors", 2**64 - 1), "18446744073709551615 tensors", "1000000")
case(97, "tensors-beyond", patch("tensors", 999999), "999999 tensors of 24 bytes", "bytes follow")
case(97, "one-key-more", patch("keys", len(metadata()) + 1), "model.gguf", "key")
case(98, "string", patch("general.architecture:value", struct.pack("<Q", 2**63) + b"llama"), '"general.architecture"', "9223372036854775808", "67108864")
case(98, "string-beyond", patch("general.architecture:value", struct.pack("<Q", 60 << 20) + b"llama"), '"general.architecture"', "62914560 bytes", "the file ends at byte")
case(98, "key", patch("general.architecture:name", struct.pack("<Q", 70000) + b"general.architecture"), "key 1 of 10", "70000", "65535")
case(98, "empty-key", file(keys={"": 1}), "key 11 of 11 is empty")
case(98, "key-not-ascii", file(keys={"lla\x1bma": 1}), "\\x1b", "visible ASCII")
case(98, "name", file(lambda t: t.update({"n" * 64: t[HEAD]})), "tensor 12 of 12", "64 bytes", "63")
case(98, "empty-name", file(lambda t: t.update({"": t[HEAD]})), "tensor 12 of 12 has no name")
case(98, "value-type", file(patches={"llama.block_count:type": 13}), '"llama.block_count"', "type 13")
case(99, "array", file(keys={"a": [1, 2]}, patches={"a:count": 2**62}), '"a"', "4611686018427387904 elements", "4194304")
case(99, "array-beyond", file(keys={"a": [1, 2]}, patches={"a:count": 4000000}), '"a"', "4000000 elements of 4 bytes", "bytes follow")
case(99, "strings-beyond", file(keys={"a": ["x"]}, patches={"a:count": 4000000}), '"a"', "4000000 elements of 8 bytes", "bytes follow")
case(99, "arrays", file(keys={"a": Array("array", [[1], [2]])}), '"a"', "array of arrays")
case(99, "element-type", file(keys={"a": [1]}, patches={"a:elements": 99}), '"a"', "type 99")
case(100, "keys-twice", lambda folder: write(folder, [*metadata().items(), ("llama.block_count", 1)], tensors()), '"llama.block_count"', "twice")
case(100, "tensors-twice", lambda folder: write(folder, metadata(), [*tensors().items(), (HEAD, tensors()[HEAD])]), f'"{HEAD}"', "twice")
case(101, "dims", file(lambda t: t.update(x=Blocks(0, [1] * 5, bytes(4)))), '"x"', "5 dims", "4 allowed")
case(101, "dim-0", file(lambda t: t.update(x=Blocks(0, [4, 0], b""))), '"x"', "dim 1 is 0")
case(101, "dim", file(lambda t: t.update(x=Blocks(0, [2**63], b""))), '"x"', "dim 0 is 9223372036854775808")
case(101, "product", file(lambda t: t.update(x=Blocks(0, [2**32, 2**32], b""))), '"x"', "[4294967296, 4294967296]", "overflows")
case(101, "product-bytes", file(lambda t: t.update(x=Blocks(0, [2**62], b""))), '"x"', "[4611686018427387904]", "overflows")
case(101, "block", file(lambda t: t.update(x=Blocks(8, [33], bytes(34)))), '"x"', "[33] of Q8_0", "32")
case(101, "scalar", file(lambda t: t.update(x=Blocks(0, [], bytes(4)))), '"x"', "not used by the model", seen=COMPILER)
case(102, "type", patch(f"{HEAD}:type", 99), f'"{HEAD}"', "type 99")
case(102, "removed", patch(f"{HEAD}:type", 31), f'"{HEAD}"', "Q4_0_4_4", "2024")
case(102, "intermediate", patch(f"{HEAD}:type", 15), f'"{HEAD}"', "Q8_K", "intermediate")
case(102, "quantized", file(lambda t: t.update({"blk.0.attn_q.weight": Blocks(40, [64, 16], bytes(36 * 16))})), '"blk.0.attn_q.weight"', "NVFP4", "% of the tensors' bytes are of such types",
     "F16 or BF16", seen=COMPILER)
for number, size, shown in [(8, 34, "Q8_0"), (2, 18, "Q4_0")]:
    case(102, f"vector-{shown}", file(lambda t, number=number, size=size: t.update({"blk.0.attn_q.bias": Blocks(number, [32], bytes(size))})), '"blk.0.attn_q.bias"',
         f"a vector of type {shown}", seen=COMPILER)
case(103, "misaligned", patch("output_norm.weight:offset", 900), '"output_norm.weight"', "900", "32")
case(103, "beyond", patch(f"{LAST}:offset", 2**40), f'"{LAST}"', "1099511627776", "truncated")
case(103, "wraps", patch(f"{LAST}:offset", 2**64 - 32), f'"{LAST}"', "18446744073709551584", "truncated")
case(103, "overlap", patch("output_norm.weight:offset", 32), '"output_norm.weight"', f'"{HEAD}"', "overlap")
case(103, "truncated", lambda folder: cut(file(padsEnd=False)(folder), 1), f'"{LAST}"', "truncated")
accepted(103, "without-padding", file(padsEnd=False))
accepted(103, "gaps", file(gaps={HEAD: 3, "output_norm.weight": 1}))
accepted(103, "order", file(order=list(reversed(list(tensors())))))
for value, shown in [(0, "0"), (24, "24"), (2**17, "131072"), (-32, "-32")]:
    case(104, f"alignment{value}", file(keys={"general.alignment": value}), '"general.alignment"', shown, "power of two")
case(104, "alignment-type", file(keys={"general.alignment": "32"}), '"general.alignment"', "string", "integer")
accepted(104, "alignment-1", file(keys={"general.alignment": 1}))
accepted(104, "alignment-4096", file(keys={"general.alignment": Typed("u64", 4096)}))
SIZES = {"block_count": (0, 2**17 + 1, 2), "embedding_length": (0, 2**17), "attention.head_count": (0, 3, 2**13), "attention.head_count_kv": (0, 3),
         "attention.key_length": (0, 2**13, 16), "feed_forward_length": (0, 2**21), "context_length": (0, 2**25), "rope.dimension_count": (7, 0, 64),
         "expert_used_count": (2,)}
for key, values in SIZES.items():
    for value in values:
        told = {("block_count", 2): '"model.layers.1.', ("attention.key_length", 16): '"llama.rope.dimension_count"',
                ("attention.head_count_kv", 3): '"llama.attention.head_count"'}.get((key, value), f'"llama.{key}"')
        case(105, f"{key}-{value}", file(keys={f"llama.{key}": value}), told, seen=COMPILER)
case(105, "experts", file(keys={"llama.expert_count": 2, "llama.expert_used_count": 3}), "num_experts_per_tok 3", seen=COMPILER)
case(105, "layers-differ", file(keys={"llama.feed_forward_length": [INNER, INNER + 1]}), '"llama.feed_forward_length"', "differ", seen=COMPILER)
case(105, "without-attention", file(keys={"llama.block_count": 2, "llama.attention.head_count_kv": [2, 0]}), '"llama.attention.head_count_kv"',
     "layers without attention are not supported", seen=COMPILER)
case(105, "heads-of-layers", file(keys={"llama.block_count": 3, "llama.attention.head_count_kv": [2, 1, 2]}), '"llama.attention.head_count_kv"', "differ", seen=COMPILER)
DELTA = {"ssm__time_step_rank": 4, "ssm__inner_size": 32, "ssm__group_count": 2, "ssm__state_size": 8, "ssm__conv_kernel": 4}
GEMMA4 = {"attention__key_length": 8, "attention__sliding_window": 4, "attention__sliding_window_pattern": [True, False, True, False]}
FACTORS = {"rope_freqs.weight": numpy.array([1, 1, 2, 1e30], numpy.float32)}
for name, architecture, layers, more, change, texts in [
        ("gating", "lfm2moe", 1, {"shortconv__l_cache": 3, "expert_feed_forward_length": 8, "expert_count": 2, "expert_used_count": 1, "expert_gating_func": 1}, None,
         ('"lfm2moe.expert_gating_func"', "must be 2")),
        ("rotated", "deepseek2", 1, {"attention__kv_lora_rank": 16}, None, ('"deepseek2.rope.dimension_count"', "all 8 channels of a head, but must be fewer")),
        ("columns", "deepseek2", 1, {"attention__kv_lora_rank": 16, "rope__dimension_count": 4, "expert_count": 2, "expert_used_count": 1}, None,
         ('"deepseek2.expert_feed_forward_length"', "does not have it")),
        ("inner-of-heads", "qwen35", 1, {**DELTA, "ssm__inner_size": 30}, None, ('"qwen35.ssm.inner_size"', "30 is not a multiple of ssm.time_step_rank, 4")),
        ("inner-of-width", "granitehybrid", 1, {**DELTA, "ssm__inner_size": 48}, None, ('"granitehybrid.ssm.inner_size"', "48 is not a multiple of embedding_length")),
        ("no-inner", "qwen3next", 1, {key: value for key, value in DELTA.items() if "inner" not in key}, None, ('"qwen3next.ssm.inner_size"', "does not have it")),
        ("growth", "mistral3", 1, {"attention__temperature_scale": 0.1}, None, ('"mistral3.attention.temperature_scale"', "needs the original context")),
        ("whole-layers", "gemma4", 4, {**GEMMA4, "attention__sliding_window_pattern": [True] * 4}, None, ('"gemma4.attention.sliding_window_pattern"', "some must have none")),
        ("factors", "gemma4", 4, GEMMA4, lambda tensors: tensors.update(FACTORS), ("rope_freqs.weight", "other than 1 and 1e30")),
        ("rotated", "gemma4", 4, {**GEMMA4, "rope__dimension_count": 4}, None, ('"gemma4.rope.dimension_count"', "must be the channels of a head, 8")),
        ("values", "gemma4", 4, {**GEMMA4, "attention__key_length_swa": 4, "attention__value_length_swa": 2}, None, ('"gemma4.attention.value_length_swa"', "must be")),
        ("widths", "gemma4", 4, {**GEMMA4, "feed_forward_length": [48, 48, 48, 96], "attention__shared_kv_layers": 2}, None, ('"gemma4.feed_forward_length"', "twice the width")),
        ("heads-of-windows", "gemma4", 4, {**GEMMA4, "attention__head_count_kv": [2, 1, 1, 1]}, None, ('"gemma4.attention.head_count_kv"', "with a window must have one")),
        ("heads-with-values", "gemma4", 4, {**GEMMA4, "attention__head_count_kv": [2, 1, 2, 1]},
         lambda tensors: tensors.update({f"blk.{i}.attn_v.weight": tensors["blk.0.attn_v.weight"] for i in range(4)}), ('"gemma4.attention.head_count_kv"', "only where keys serve as values"))]:
    case(105, f"{architecture}-{name}", file(change, keys=keys_of(architecture, layers, **more)), *texts, seen=COMPILER)
CLASSES = {"cls.output.weight": numpy.zeros((2, WIDTH), numpy.float32)}
POOLER = {"cls.weight": numpy.zeros((WIDTH, WIDTH), numpy.float32)}
for name, more, change, texts in [
        ("causal", {"attention__causal": True}, {}, ('"bert.attention.causal"', "an encoder sees all tokens")),
        ("pooling", {"pooling_type": 5}, {}, ('"bert.pooling_type"', "from 0 to 4")),
        ("ranks", {"pooling_type": 4}, {}, ('"bert.pooling_type"', "of encoders alone", "cls.output.weight")),
        ("pooler", {}, CLASSES, ('"cls.output.weight"', "without the model's pooler", "the Hugging Face directory")),
        ("classifier", {"pooling_type": 1}, {"cls.weight": numpy.zeros((1, WIDTH), numpy.float32)}, ('"cls.weight"', "without the model's pooler")),
        ("labels", {"classifier__output_labels": ["a", "b", "c"]}, CLASSES | POOLER, ('"bert.classifier.output_labels"', "3 names", "2 rows")),
        ("label-numbers", {"classifier__output_labels": [1, 2]}, CLASSES | POOLER, ('"bert.classifier.output_labels"', "strings"))]:
    types = {"token_types.weight": numpy.zeros((2, WIDTH), numpy.float32), **change}
    keys = keys_of("bert", **{"attention__layer_norm_epsilon": 1e-5, "attention__head_count_kv": 4, **more})
    case(105, f"bert-{name}", file(lambda tensors, types=types: tensors.update(types), keys=keys), *texts, seen=COMPILER)
case(105, "bert-epsilon", file(lambda tensors: tensors.update({"token_types.weight": numpy.zeros((2, WIDTH), numpy.float32)}), keys=keys_of("bert", attention__head_count_kv=4)),
     '"bert.attention.layer_norm_epsilon"', "does not have it", seen=COMPILER)
case(105, "modern-bert-scaling", file(keys=keys_of("modern-bert", attention__layer_norm_epsilon=1e-5, attention__head_count_kv=4, rope__scaling__type="linear")),
     '"modern-bert.rope.scaling.type"', '"linear" is not supported', seen=COMPILER)
case(105, "ranks-of-decoder", file(lambda tensors: tensors.update(CLASSES), keys={"llama.pooling_type": 4}), '"llama.pooling_type"', "of encoders alone", seen=COMPILER)
case(105, "t5-names", file(keys={**keys_of("t5"), "t5.rope.dimension_count": None}), '"dec.blk.0.cross_attn_k.weight" ("decoder.block.0.layer.1.EncDecAttention.k.weight")', seen=COMPILER)
case(105, "log-multiplier", file(keys={"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 2.0, "llama.rope.scaling.yarn_log_multiplier": 0.5}),
     '"llama.rope.scaling.yarn_log_multiplier"', "not supported for this architecture", seen=COMPILER)
case(105, "quantized-decays", file(lambda t: t.update({"blk.0.ssm_a": Blocks(8, [32, 1], bytes(34))}), keys=keys_of("qwen35", **DELTA)), '"blk.0.ssm_a"', "a vector of type Q8_0", seen=COMPILER)
case(105, "missing-key", file(keys={"llama.block_count": None}), '"llama.block_count"', "does not have it", seen=COMPILER)
case(105, "key-of-another-type", file(keys={"llama.block_count": "1"}), '"llama.block_count"', "string", "an integer", seen=COMPILER)
case(105, "epsilon", file(keys={"llama.attention.layer_norm_rms_epsilon": float("nan")}), '"llama.attention.layer_norm_rms_epsilon"', "not finite", seen=COMPILER)
case(105, "rope-base", file(keys={"llama.rope.freq_base": 0.0}), "rope_theta", "above 0", seen=COMPILER)
case(105, "unknown-key", file(keys={"llama.rope.twist": 3}), "llama.rope.twist", "--ignore-config-key=llama.rope.twist", seen=COMPILER)
case(105, "missing-tensor", file(lambda t: t.pop("blk.0.ffn_up.weight")), "1 missing tensor: \"blk.0.ffn_up.weight\" (\"model.layers.0.mlp.up_proj.weight\") [48, 32]", seen=COMPILER)
case(105, "shape", file(lambda t: t.update({"blk.0.attn_k.weight": t["blk.0.attn_q.weight"]})),
     '"blk.0.attn_k.weight" ("model.layers.0.self_attn.k_proj.weight") in', "is [32, 32], the configuration needs [16, 32]", seen=COMPILER)
case(105, "embedding", file(lambda t: t.pop(HEAD)), f'"{HEAD}"', "not a whole model", seen=COMPILER)
case(105, "twice-by-another-name", file(lambda t: t.update({"blk.0.attn_qkv.weight": numpy.zeros((64, WIDTH), numpy.float32)})), '"blk.0.attn_q', "self_attn.q_proj.weight",
     seen=COMPILER)
case(105, "frequencies", file(lambda t: t.update({"rope_freqs.weight": numpy.ones(5, numpy.float32)})), '"rope_freqs.weight"', "4 numbers of type F32", seen=COMPILER)
accepted(105, "widths", file(keys={"llama.block_count": Typed("u64", 1), "llama.context_length": Typed("i16", 16), "llama.feed_forward_length": [INNER],
                                   "llama.attention.layer_norm_rms_epsilon": Typed("f64", 1e-5)}))


def write(folder, *arguments, **options):
    path = os.path.join(folder, "model.gguf")
    gguf.write(path, *arguments, **options)
    return path


def cut(path, count):
    os.truncate(path, os.path.getsize(path) - count)
    return path


def parts(change=lambda paths: None, count=3, first=0, **options):
    def make(folder):
        paths = gguf.writeParts(os.path.join(folder, "model"), metadata(), tensors(), count, **options)
        change(paths)
        return paths[first]
    return make


def swap(paths):
    os.rename(paths[1], paths[1] + ".kept")
    os.rename(paths[2], paths[1])
    os.rename(paths[1] + ".kept", paths[2])


def other(paths):
    """A part of another model."""
    gguf.writeParts(paths[0].removesuffix("-00001-of-00003.gguf") + "-other", metadata(), {**tensors(), "more": tensors()[HEAD]}, 3)
    os.rename(paths[2].replace("model-", "model-other-"), paths[2])


accepted(108, "parts", parts())
accepted(108, "first-is-empty", parts(firstIsEmpty=True))
case(108, "missing-part", parts(lambda paths: os.remove(paths[1])), "part 1 of 3", "model-00002-of-00003.gguf is missing")
case(108, "swapped", parts(swap), "model-00002-of-00003.gguf", "part 3 of 3")
case(108, "other", parts(other), "model-00003-of-00003.gguf", "split.tensors.count is 12", "first part 11")
case(108, "tensors", parts(splitKeys=lambda part, keys: {**keys, "split.tensors.count": 12}), "part 1 of 3", "11 tensors", "split.tensors.count is 12")
case(108, "second", parts(first=1), "part 2 of 3", "give the first", "model-00001-of-00003.gguf")
case(108, "renamed", parts(lambda paths: os.rename(paths[0], os.path.join(os.path.dirname(paths[0]), "model.gguf")), first=0), "No such file")
case(108, "name", lambda folder: renamed(parts()(folder)), "part 1 of 3", "-00001-of-00003.gguf", "own name")
case(100, "tensor-in-two-parts", parts(lambda paths: gguf.write(paths[2], {"split.no": 2, "split.count": 3}, {HEAD: tensors()[HEAD]})), f'"{HEAD}"',
     "model-00001-of-00003.gguf has it, too")
case(108, "count", parts(splitKeys=lambda part, keys: {**keys, "split.count": 2**20}), '"split.count"', "1048576", "99999")
case(108, "number", parts(splitKeys=lambda part, keys: {**keys, "split.no": 3}), '"split.no"', "3 is not between 0 and 2")


def renamed(path):
    os.rename(path, os.path.join(os.path.dirname(path), "first.gguf"))
    return os.path.join(os.path.dirname(path), "first.gguf")


accepted(109, "version-2", file(version=2))
case(109, "version-1", file(version=1), "version 1", "2023")
case(109, "version-4", file(version=4), "version 4", "2 and 3")
case(109, "big-endian", patch("version", b"\0\0\0\3"), "big-endian")
for magic, texts in [(b"lmgg", ("whisper.cpp",)), (b"fmgg", ("before GGUF",)), (b"tjgg", ("before GGUF",)), (b"algg", ("adapter", "--adapter"))]:
    case(109, magic.decode(), raw(magic + bytes(40)), *texts)
case(109, "pointer", raw(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 548105171\n"), "Git LFS pointer", "548105171")
case(109, "adapter", file(keys={"general.type": "adapter"}), "LoRA adapter", "--adapter", seen=COMPILER)
case(109, "imatrix", file(keys={"general.type": "imatrix"}), "imatrix", seen=COMPILER)
case(109, "mmproj", file(keys={"general.architecture": "clip"}), "mmproj", seen=COMPILER)
case(109, "vocabulary", file(only={}), "a vocabulary without tensors", seen=COMPILER)
case(109, "architecture", file(keys={"general.architecture": "mamba9"}), '"mamba9"', "supported are", "llama", seen=COMPILER)
case(109, "no-architecture", file(keys={"general.architecture": None}), "general.architecture", seen=COMPILER)


# What a file's numbers are is not the reader's business: --check-tensors refuses those that are not finite where the file is compiled.
for name, scale in [("nan", float("nan")), ("infinite", float("inf")), ("negative", -0.5)]:
    codes = struct.pack("<e", scale) + bytes(range(112, 144))  # from 112 by way of 127 and -128 to -113
    accepted(110, f"{name}-scales", file(lambda t, codes=codes: t.update({"blk.0.attn_q.weight": Blocks(8, [WIDTH, WIDTH], codes * WIDTH)})))


def prepare(scratch, command, name, make, texts):
    """Makes the files of one case; returns the command and the directory that a failure must leave empty."""
    folder, out = os.path.join(scratch, name, "model"), os.path.join(scratch, name, "out")
    os.makedirs(folder)
    os.mkdir(out)
    path = make(folder)
    if texts is None and "{out}" in command:  # none is compiled to the end
        command = [*command, "--dry-run"]
    return [word.replace("{model}", path).replace("{out}", os.path.join(out, "model.so")) for word in command], out


def problem(answer, out, texts):
    """The first thing that is wrong with one case's outcome, or None."""
    message = answer["stderr"].rstrip("\n")
    if texts is None:
        return None if answer["status"] == 0 else f"refused: {message}"
    if answer["status"] != 1:
        return f"exit status {answer['status']}, must be 1: {message}"
    errors = [line for line in message.split("\n") if "error: " in line]
    if len(errors) != 1 or len(errors[0]) > 100000 or not errors[0].isprintable():
        return f"must be one printable line: {message!r}"
    absent = [text for text in texts if text not in errors[0]]
    if absent:
        return f"the message lacks {absent}: {message}"
    return f"left {os.listdir(out)}" if os.listdir(out) else None


def main():
    scratch, command = sys.argv[1], sys.argv[2:]
    run, isReader = batch.run_alone, False
    while command[0] in ("--batch", "--reader"):
        run, isReader = (batch.run, isReader) if command[0] == "--batch" else (run, True)
        command = command[1:]
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    cases = [(0, "no-fault", file(), None, ALL)] + CASES
    cases = [(fault, name, make, None if isReader and seen == COMPILER else texts) for fault, name, make, texts, seen in cases if not (isReader and fault == 0)]
    prepared = [prepare(scratch, command, f"{fault}-{name}", make, texts) for fault, name, make, texts in cases]
    answers = run(command[0], [words[1:] for words, _ in prepared])
    failures = 0
    for (fault, name, _, texts), (words, out), answer in zip(cases, prepared, answers):
        if wrong := problem(answer, out, texts):
            print(f"fault {fault}, {name}: {wrong}"[:2000] + f"\n  again: {shlex.join(words)}")
            failures += 1
        else:
            shutil.rmtree(os.path.dirname(out))
    print(f"{len(cases) - failures} of {len(cases)} cases passed")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
