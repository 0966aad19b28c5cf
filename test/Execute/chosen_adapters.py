#!/usr/bin/env python3
"""Adapters that sequences choose (raptc --named-adapter): logits of small random models against numpy's, in float64, of weights into which each
sequence's adapter is merged there. Steps that mix adapters and none, prompts and single tokens; ranks of 1, prime and unequal; forks, truncation,
saved states; packed and transposed weights; bf16, quantized weights and other targets. Sequences without an adapter give what the model compiled without adapters
gives."""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import types

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "Reference", "numpy")]

import bert  # noqa: E402
import gpt2  # noqa: E402
import llama  # noqa: E402
import make_model  # noqa: E402
import processor  # noqa: E402
import random_models  # noqa: E402
import tensorfiles  # noqa: E402
from context import Context  # noqa: E402
from decoder_families import FAMILIES  # noqa: E402
from decoders import common  # noqa: E402

random = numpy.random.default_rng(23)
ROUNDED = {"F32": lambda x: x.astype(numpy.float32), "BF16": lambda x: tensorfiles.bf16Values(tensorfiles.bf16Bits(x.astype(numpy.float32))).reshape(x.shape)}


def pair(out, into, rank):
    return {"A": (random.standard_normal((rank, into)) / numpy.sqrt(into)).astype(numpy.float32), "B": (random.standard_normal((out, rank)) / 2).astype(numpy.float32)}


def write_adapter(directory, config, pairs, more=None):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "adapter_config.json"), "w") as file:
        json.dump({"peft_type": "LORA", "target_modules": ["x"]} | config, file)
    tensors = {f"base_model.model.{module}.lora_{part}.weight": array for module, both in pairs.items() for part, array in both.items()}
    tensorfiles.write(os.path.join(directory, "adapter_model.safetensors"), tensors | (more or {}), "F32")


class Adapter:
    """`ranks`: {module: rank}; the changes of the base model's `tensors`, [out, in] unless `isTransposed`, as a program adds them: of matrices that are rounded to `dtype`."""

    def __init__(self, directory, name, tensors, ranks, dtype="F32", alpha=4, weight=1, isTransposed=False):
        self.name, self.flag = name, f"--named-adapter={name}={directory}" + (f",{weight}" if weight != 1 else "")
        shapes = {module: tensors[module + ".weight"].shape[:: -1 if isTransposed else 1] for module in ranks}
        pairs = {module: pair(*shapes[module], rank) for module, rank in ranks.items()}
        write_adapter(directory, {"lora_alpha": alpha, "fan_in_fan_out": isTransposed}, pairs)
        self.changes = {}
        for module, both in pairs.items():
            b = ROUNDED[dtype]((numpy.float64(weight * alpha / ranks[module]) * both["B"]).astype(numpy.float32))
            change = b.astype(numpy.float64) @ ROUNDED[dtype](both["A"]).astype(numpy.float64)
            self.changes[module + ".weight"] = change.T if isTransposed else change

    def merged(self, tensors):
        """The tensors in float64, with the changes."""
        return {name: tensor.astype(numpy.float64) + self.changes.get(name, 0) for name, tensor in tensors.items()}


class Sequence:
    def __init__(self, context, model, adapter=None, handle=None, tokens=()):
        self.context, self.model, self.adapter, self.tokens = context, model, adapter, list(tokens)
        self.handle = context.sequence() if handle is None else handle
        if adapter and handle is None:
            context.must(choose(context, self.handle, adapter.encode()))


def choose(context, handle, name):
    return context.call("sequence_set_adapter", context.context, ctypes.c_uint64(handle), name)


def name_of(context, handle):
    context.lib.rapt_sequence_adapter.restype = ctypes.c_char_p
    name = context.lib.rapt_sequence_adapter(context.context, ctypes.c_uint64(handle))
    return name and name.decode()


class Checks:
    def __init__(self, label, tolerance):
        self.label, self.tolerance, self.worst = label, tolerance, 0.0

    def near(self, what, found, wanted):
        error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
        assert error <= self.tolerance, f"{self.label}: {what}: relative L2 {error:.2e}, allowed {self.tolerance:.0e}"
        self.worst = max(self.worst, error)

    def step(self, pairs):
        """New tokens of sequences in one step, against those of whole texts."""
        found, status = pairs[0][0].context.step([(sequence.handle, tokens) for sequence, tokens in pairs])
        pairs[0][0].context.must(status)
        for (sequence, tokens), logits in zip(pairs, found):
            sequence.tokens += list(tokens)
            self.near(f"adapter {sequence.adapter}, tokens {len(sequence.tokens) - len(tokens)} to {len(sequence.tokens)}",
                      logits, sequence.model.logits(sequence.tokens)[-len(tokens):])
        return found


def saved(context, handle):
    size = ctypes.c_size_t()
    context.must(context.call("sequence_save", context.context, ctypes.c_uint64(handle), None, ctypes.c_size_t(0), ctypes.byref(size)))
    state = ctypes.create_string_buffer(size.value)
    context.must(context.call("sequence_save", context.context, ctypes.c_uint64(handle), state, ctypes.c_size_t(size.value), ctypes.byref(size)))
    return state.raw


def check_sequences(options, checks, library, vocabulary, models, plain=None):
    """`models` by adapter, with None for none; `plain`: the library compiled without adapters."""
    draw = lambda count: [int(t) for t in random.integers(0, vocabulary, count)]
    context = Context(options.runtime, library, vocabulary, threads=2, cache_tokens=4096, max_step_tokens=64)
    names = [name for name in models if name]
    one, two = names[0], names[-1]
    new = lambda name: Sequence(context, models[name], name)
    # Prompts of all of them in a step, in an order that no adapter decides; then single tokens beside a prompt.
    mixed = [new(two), new(None), new(one), new(None), new(two)]
    checks.step([(sequence, draw(count)) for sequence, count in zip(mixed, (5, 9, 1, 3, 17))])
    for _ in range(3):
        checks.step([(sequence, draw(1)) for sequence in mixed])
    checks.step([(mixed[2], draw(6)), (mixed[0], draw(1)), (mixed[1], draw(1))])
    # A text of several parts of a step, alone, and one without adapter.
    checks.step([(new(one), draw(70))])
    checks.step([(new(None), draw(70))])
    # Forks and saved states keep the adapter.
    first = mixed[0]
    fork = Sequence(context, first.model, two, context.fork(first.handle), first.tokens)
    state = saved(context, first.handle)
    loaded = Sequence(context, first.model, two, context.load(state), first.tokens)
    assert [name_of(context, s.handle) for s in (fork, loaded, mixed[1])] == [two, two, None]
    checks.step([(fork, draw(2)), (mixed[1], draw(2)), (loaded, draw(4)), (first, draw(1))])
    context.refused(choose(context, fork.handle, one.encode()), "INVALID", f"the sequence has {len(fork.tokens)} tokens of another adapter; truncate it to 0 first")
    context.refused(choose(context, fork.handle, b"nobody"), "INVALID", "has no adapter nobody; it has " + ", ".join(names))
    context.must(choose(context, fork.handle, two.encode()))
    damaged = ctypes.c_uint64()
    context.refused(context.call("sequence_load", context.context, state[:144] + b"x" + state[145:], ctypes.c_size_t(len(state)), ctypes.byref(damaged)), "BAD_FILE",
                    "the saved state's checksum is wrong")
    context.must(context.call("sequence_truncate", context.context, ctypes.c_uint64(fork.handle), ctypes.c_int64(0)))
    context.must(choose(context, fork.handle, one.encode()))
    checks.step([(Sequence(context, models[one], one, fork.handle), draw(8))])
    # Without an adapter: what the model without adapters gives.
    if plain:
        other = Context(options.runtime, plain, vocabulary, threads=2, cache_tokens=4096, max_step_tokens=64)
        ids = draw(33)
        alone, with_others = new(None), new(None)
        wanted, status = other.step([(other.sequence(), ids)])
        other.must(status)
        for found in (checks.step([(alone, ids)]), checks.step([(new(one), draw(3)), (with_others, ids)])[1:]):
            error = numpy.linalg.norm(found[0] - wanted[0]) / numpy.linalg.norm(wanted[0])
            assert error <= random_models.TOLERANCE["F32"], f"{checks.label}: without adapter, relative L2 {error:.1e} from the model without adapters"
        other.close()
    context.close()


def check(options, directory, label, make, load, ranks, tolerance=random_models.TOLERANCE["F32"], dtype="F32", flags=(), isTransposed=False, plain=False):
    """`ranks`: {adapter: {module: rank}}."""
    source, library = os.path.join(directory, label), os.path.join(directory, label + ".so")
    vocabulary = make(source)["vocab_size"]
    tensors = tensorfiles.readDirectory(source)
    adapters = [Adapter(os.path.join(directory, f"{label}-{name}"), name, tensors, own, dtype, weight=1 if number else 0.5, isTransposed=isTransposed)
                for number, (name, own) in enumerate(ranks.items())]
    for adapter in adapters:
        print(f"{label}: {adapter.flag}", flush=True)
    random_models.run([options.raptc, source, *flags, *(adapter.flag for adapter in adapters), "-o", library])
    base = None
    if plain:
        base = os.path.join(directory, label + "-plain.so")
        random_models.run([options.raptc, source, *flags, "-o", base])
    models = {None: load(source)} | {adapter.name: load(source, adapter.merged(tensors)) for adapter in adapters}
    checks = Checks(label, tolerance)
    ids = list(range(3, 15))
    for adapter in adapters:
        wanted = models[adapter.name].logits(ids)
        moved = numpy.linalg.norm(wanted - models[None].logits(ids)) / numpy.linalg.norm(wanted)
        assert moved > 5 * tolerance, f"{label}: adapter {adapter.name} changes the logits by {moved:.1e} only"
    check_sequences(options, checks, library, vocabulary, models, base)
    check_tool(options, checks, directory, library, models, ids)
    print(f"PASS {label}: relative L2 {checks.worst:.1e}")


def check_tool(options, checks, directory, library, models, ids):
    """rapt-run --adapter, which all sequences of a run have."""
    card = random_models.run([options.rapt_run, library])
    assert "\nadapters: " + ", ".join(name for name in models if name) + "\n" in card, card
    given, taken = (os.path.join(directory, name) for name in ("ids.npy", "logits.npy"))
    numpy.save(given, numpy.array([ids], numpy.int64))
    for name, model in models.items():
        flags = [f"--adapter={name}"] if name else []
        random_models.run([options.rapt_run, library, *flags, "--input", f"input_ids={given}", "--output", f"logits={taken}"])
        checks.near(f"rapt-run {flags}", numpy.load(taken)[0], model.logits(ids))
    done = subprocess.run([options.rapt_run, library, "--adapter=none", "--tokens=1,2", "-n", "1"], capture_output=True, text=True)
    assert done.returncode == 1 and "has no adapter none; it has " in done.stderr, done.stderr


def check_reference(options, directory):
    """The evaluator on the imported program, of which rapt-run's compiled code is another reading."""
    source = os.path.join(directory, "evaluated-model")
    llama.makeModel(source, {}, 5)
    tensors = tensorfiles.readDirectory(source)
    adapter = Adapter(os.path.join(directory, "evaluated"), "e", tensors, {"model.layers.0.mlp.up_proj": 3, "model.layers.1.self_attn.k_proj": 2})
    text = os.path.join(directory, "evaluated.mlir")
    random_models.run([options.raptc, source, adapter.flag, "--emit=imported", "-o", text])
    # The weights are the checkpoint's and the adapter's, as the program names them.
    everything = os.path.join(directory, "everything")
    rows = dict(tensors)
    for name, module, rank in (("e", "model.layers.{}.mlp.up_proj", 3), ("e", "model.layers.{}.self_attn.k_proj", 2)):
        for layer in range(2):
            at = module.format(layer)
            out, into = tensors[at + ".weight"].shape
            a, b = numpy.zeros((rank, into), numpy.float32), numpy.zeros((out, rank), numpy.float32)
            rows |= {f"{at}.lora_A": a, f"{at}.lora_B": b}
            if at + ".weight" in adapter.changes:
                read = tensorfiles.read(os.path.join(directory, "evaluated", "adapter_model.safetensors"))
                a, b = (read[f"base_model.model.{at}.lora_{part}.weight"] for part in "AB")
                b = (4 / rank * b).astype(numpy.float32)
            rows |= {f"{at}.lora_A.{name}": a, f"{at}.lora_B.{name}": b}
    with open(os.path.join(source, "config.json")) as file:
        tensorfiles.writeModel(everything, json.load(file), rows, "F32", 1)
    at = lambda name: os.path.join(directory, name + ".npy")
    ids = random.integers(0, 200, (3, 6))
    numpy.save(at("ids"), ids)
    numpy.save(at("adapter"), numpy.array([1, 0, 1], numpy.int64))
    random_models.run([options.rapt_reference, text, f"--weights={everything}", "--input", f"input_ids={at('ids')}", "--input", f"adapter={at('adapter')}", "--output", f"logits={at('out')}"])
    plain, merged = load_llama(source), load_llama(source, adapter.merged(tensors))
    checks = Checks("evaluator", random_models.TOLERANCE["F32"])
    for row, model in enumerate((merged, plain, merged)):
        checks.near(f"row {row}", numpy.load(at("out"))[row], model.logits(ids[row]))
    for rows, expected in (([1, 0], "adapter is [2], but integers [batch] are needed"), ([1.0, 0.0, 1.0], "adapter is [3], but integers [batch] are needed"),
                           ([0, 2, 0], "adapter has 2, but there are 1 adapters"), ([0, -1, 0], "adapter has -1, but there are 1 adapters")):
        numpy.save(at("wrong"), numpy.array(rows, numpy.float32 if isinstance(rows[0], float) else numpy.int64))
        command = [options.rapt_reference, text, f"--weights={everything}", "--input", f"input_ids={at('ids')}", "--input", f"adapter={at('wrong')}", "--output", f"logits={at('out')}"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1 and expected in done.stderr, done.stderr
    print(f"PASS evaluator: relative L2 {checks.worst:.1e}")


def load_llama(source, tensors=None):
    model = llama.load(source)
    return model if tensors is None else llama.Model(model.config, tensors)


def load_gpt2(source, tensors=None):
    with open(os.path.join(source, "config.json")) as file:
        return gpt2.Model(json.load(file), tensorfiles.readDirectory(source) if tensors is None else tensors)


def load_family(name):
    def load(source, tensors=None):
        model = common.load(FAMILIES[name], source)
        return model if tensors is None else FAMILIES[name].Model(model.config, tensors)

    return load


def refused(options, source, flags, expected, code=1):
    done = subprocess.run([options.raptc, source, *flags, "-o", source + ".so"], capture_output=True, text=True)
    assert done.returncode == code and expected in done.stderr and len(done.stderr.splitlines()) == 1, f"expected {expected!r}, found: {done.stderr}"


def check_faults(options, directory):
    at = lambda name: os.path.join(directory, name)
    source = at("faulty")
    llama.makeModel(source, {}, 5)
    tensors = tensorfiles.readDirectory(source)
    width = tensors["lm_head.weight"].shape
    module = "base_model.model.model.layers.0.self_attn.q_proj"
    q = {"model.layers.0.self_attn.q_proj": pair(*tensors["model.layers.0.self_attn.q_proj.weight"].shape, 2)}
    named = lambda directory, name="a": f"--named-adapter={name}={at(directory)}"
    merge = "; merge the adapter instead: --adapter"
    write_adapter(at("head"), {}, q | {"lm_head": pair(*width, 2)})
    refused(options, source, [named("head")], f'changes "lm_head.weight", which is no linear map of a layer by itself{merge}')
    table = {f"base_model.model.model.embed_tokens.lora_embedding_{part}": array for part, array in zip("AB", (numpy.ones((2, width[0]), numpy.float32), numpy.ones((width[1], 2), numpy.float32)))}
    write_adapter(at("table"), {}, q, table)
    refused(options, source, [named("table")], f"changes a table of embeddings{merge}")
    write_adapter(at("whole"), {}, q, {"base_model.model.lm_head.weight": numpy.ones(width, numpy.float32)})
    refused(options, source, [named("whole")], f"is no change, but a whole tensor{merge}")
    write_adapter(at("dora"), {"use_dora": True}, q)
    refused(options, source, [named("dora")], "use_dora is true: magnitudes of weights are not supported")
    write_adapter(at("wide"), {}, {"model.layers.0.self_attn.q_proj": pair(9, 8, 2)})
    refused(options, source, [named("wide")], "the adapter is of another base model")
    write_adapter(at("good"), {}, q)
    both = {f"{module}.lora_{part}.weight".replace("model.model.", "model."): array for part, array in q["model.layers.0.self_attn.q_proj"].items()}
    write_adapter(at("twice"), {}, q, both)
    refused(options, source, [named("twice")], f'changes "model.layers.0.self_attn.q_proj.weight" by several modules{merge}')
    expected = "expected NAME=DIR or NAME=DIR,W: a name of at most 63 letters, digits, '.', '_' and '-'"
    for text in ("good", "=good", "a/b=good", ".a=good", "-a=good", "a,b=good", "a=", "a=,2", "a" * 64 + "=good", "a=good,1e9"):
        refused(options, source, [f"--named-adapter={text}"], expected, 2)
    refused(options, source, [named("good"), named("good")], "expected a name that no other adapter has", 2)
    refused(options, source, [named("good", f"a{i}") for i in range(65)], "expected at most 64 adapters", 2)
    refused(options, source, [named("good"), "--random-weights=1"], "adapters change the weights of a model's directory, which are not read here")
    # An encoder, whose texts are no sequences of a context.
    bert.make(at("bert"), {}, 3)
    name = next(name for name in tensorfiles.readDirectory(at("bert")) if name.endswith("layer.0.attention.self.query.weight"))
    shape = tensorfiles.readDirectory(at("bert"))[name].shape
    write_adapter(at("of-bert"), {}, {name.removesuffix(".weight"): pair(*shape, 2)})
    refused(options, at("bert"), [named("of-bert")], 'programs of family "bert" choose among no adapters; merge one instead: --adapter')
    print("PASS faulty adapters")


def cases(options, directory):
    """{name: function}"""
    size = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128}
    parts = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")
    layered = lambda parts, rank, layers=(0, 1): {f"model.layers.{layer}.{part}": rank for layer in layers for part in parts}
    ranks = {"one": layered(parts, 1), "seven-7": layered(parts, 7), "few": layered(parts[:3:2], 37, (1,)) | layered(parts[6:], 2)}
    two = lambda *names: {name: ranks[name] for name in names}
    short = {name: layered(parts, rank, (0,)) for name, rank in (("one", 1), ("three", 3))}
    bf16 = 2e-2 if processor.HAS_BF16_MATMUL else random_models.TOLERANCE["F32"]

    def of_llama(label, config, ranks, *more, dtype="F32", **options_of):
        return lambda: check(options, directory, label, lambda source: llama.makeModel(source, size | config, 5, dtype), load_llama, ranks, *more, dtype=dtype, **options_of)

    def of_gpt2():
        make = lambda source: make_model.makeModel(source, {"n_positions": 128}, 5, prefix=True)
        modules = {f"transformer.h.{layer}.{part}": rank for layer in range(2) for part, rank in (("attn.c_attn", 5), ("attn.c_proj", 1), ("mlp.c_fc", 3), ("mlp.c_proj", 4))}
        check(options, directory, "gpt2", make, load_gpt2, {"all": modules, "first": dict(list(modules.items())[:1])}, isTransposed=True, plain=True)

    def of_family(family, layer, packed):
        """Packed projections: rows of one tensor, in order or interleaved by head."""
        both = {f"n{rank}": {layer.format(number) + part: rank for number in range(2) for part in packed} for rank in (2, 5)}
        facts = types.SimpleNamespace(**vars(FAMILIES[family]) | {"SMALL": FAMILIES[family].SMALL | {"max_position_embeddings": 128}})
        return lambda: check(options, directory, family, lambda source: common.make(facts, source, "plain", 5), load_family(family), both)

    return {
        "llama": of_llama("llama", {}, ranks, plain=True),
        "gpt2": of_gpt2,
        "phi3": of_family("phi3", "model.layers.{}.", ("self_attn.qkv_proj", "mlp.gate_up_proj", "mlp.down_proj")),
        "gpt_neox": of_family("gpt_neox", "gpt_neox.layers.{}.", ("attention.query_key_value", "attention.dense", "mlp.dense_4h_to_h")),
        "llama-bf16": of_llama("llama-bf16", {"hidden_size": 96}, ranks, bf16, dtype="BF16"),
        # Weights and activations have 8 bits, and are compared with floats; a missing adapter is 1 apart.
        "llama-w8": of_llama("llama-w8", {}, ranks, 1.2e-1, flags=["--quantize=w8"]),
        "llama-generic": of_llama("llama-generic", {"attention_bias": True, "mlp_bias": True}, two("seven-7", "few"), flags=["--target=generic"]),
        "llama-x86-64-v3": of_llama("llama-x86-64-v3", {"attention_bias": True}, two("one", "seven-7"), flags=["--mcpu=x86-64-v3"]),
        "llama-cuda": of_llama("llama-cuda", {"num_hidden_layers": 1}, short, flags=["--target=cuda"]),
        "evaluator": lambda: check_reference(options, directory),
        "faults": lambda: check_faults(options, directory),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--raptc", "--rapt-run", "--rapt-reference", "--runtime"):
        parser.add_argument(option, required=True)
    parser.add_argument("--only", nargs="*", help="these cases (all but llama-cuda)")
    options = parser.parse_args()
    start = random.bit_generator.state
    with tempfile.TemporaryDirectory() as directory:
        for name, run in cases(options, directory).items():
            if name in options.only if options.only else name != "llama-cuda":
                random.bit_generator.state = start  # a case draws the same alone and behind others
                run()


main()
