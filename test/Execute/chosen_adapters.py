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
import deberta  # noqa: E402
import gpt2  # noqa: E402
import llama  # noqa: E402
import make_model  # noqa: E402
import processor  # noqa: E402
import random_models  # noqa: E402
import t5  # noqa: E402
import tensorfiles  # noqa: E402
import whisper  # noqa: E402
from context import Context  # noqa: E402
from decoder_families import FAMILIES  # noqa: E402
from decoders import common  # noqa: E402

random = numpy.random.default_rng(23)
WHISPER = {"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "d_model": 32, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
           "decoder_ffn_dim": 40, "num_mel_bins": 8, "max_source_positions": 10, "max_target_positions": 40, "vocab_size": 61, "decoder_start_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
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
    """`ranks`: {module: rank}; the changes of the base model's `tensors`, [out, in] unless `isTransposed`, as a program adds them: of matrices that are rounded to `dtype`.
    `initial`: the adapter was trained on the base model without its largest singular values. fan_in_fan_out is the wrong one always: the kind of the layer decides."""

    def __init__(self, directory, name, tensors, ranks, dtype="F32", alpha=4, weight=1, isTransposed=False, initial=False):
        self.name, self.flag = name, f"--named-adapter={name}={directory}" + (f",{weight}" if weight != 1 else "")
        shapes = {module: tensors[module + ".weight"].shape[:: -1 if isTransposed else 1] for module in ranks}
        pairs = {module: pair(*shapes[module], rank) for module, rank in ranks.items()}
        write_adapter(directory, {"lora_alpha": alpha, "fan_in_fan_out": not isTransposed, "init_lora_weights": "pissa" if initial else True}, pairs)
        self.changes = {}
        for module, both in pairs.items():
            b = ROUNDED[dtype]((numpy.float64(weight * alpha / ranks[module]) * both["B"]).astype(numpy.float32))
            change = b.astype(numpy.float64) @ ROUNDED[dtype](both["A"]).astype(numpy.float64)
            self.changes[module + ".weight"] = change.T if isTransposed else change
            if initial:
                left, values, right = numpy.linalg.svd(tensors[module + ".weight"].astype(numpy.float64), full_matrices=False)
                self.changes[module + ".weight"] -= weight * (left * values)[:, : ranks[module]] @ right[: ranks[module]]

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


def check(options, directory, label, make, load, ranks, tolerance=random_models.TOLERANCE["F32"], dtype="F32", flags=(), isTransposed=False, plain=False, initial=False):
    """`ranks`: {adapter: {module: rank}}. `initial`: see Adapter, of the first one."""
    source, library = os.path.join(directory, label), os.path.join(directory, label + ".so")
    vocabulary = make(source)["vocab_size"]
    tensors = tensorfiles.readDirectory(source)
    adapters = [Adapter(os.path.join(directory, f"{label}-{name}"), name, tensors, own, dtype, weight=1 if number else 0.5, isTransposed=isTransposed, initial=initial and not number)
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


def check_encoder(options, directory, label, ranks, flags=(), tolerance=random_models.TOLERANCE["F32"], dtype="F32"):
    """An encoder, whose rows have the adapters of an input, or all that of the context: `ranks` as of check()."""
    source, library = os.path.join(directory, label), os.path.join(directory, label + ".so")
    vocabulary = bert.make(source, {}, 5, dtype)["vocab_size"]
    tensors = tensorfiles.readDirectory(source)
    adapters = [Adapter(os.path.join(directory, f"{label}-{name}"), name, tensors, own, dtype) for name, own in ranks.items()]
    random_models.run([options.raptc, source, *flags, *(adapter.flag for adapter in adapters), "-o", library])
    models = [load_bert(source, changed) for changed in (None, *(adapter.merged(tensors) for adapter in adapters))]
    checks = Checks(label, tolerance)
    at = lambda name: os.path.join(directory, f"{label}-{name}.npy")
    lengths = [5, 1, 17, 9, 2, 31, 4]
    ids, mask = numpy.zeros((len(lengths), max(lengths)), numpy.int64), numpy.zeros((len(lengths), max(lengths)), numpy.int64)
    for row, length in enumerate(lengths):
        ids[row, :length], mask[row, :length] = random.integers(0, vocabulary, length), 1
    numpy.save(at("ids"), ids)
    numpy.save(at("mask"), mask)
    given = ["--input", f"input_ids={at('ids')}", "--input", f"attention_mask={at('mask')}", "--output", f"last_hidden_state={at('out')}"]

    def compare(what, chosen):
        for row, (found, number) in enumerate(zip(numpy.load(at("out")), chosen)):
            checks.near(f"{what}: row {row} of adapter {number}", found[: lengths[row]], models[number].hidden_of(ids[row, : lengths[row]]))

    for chosen in ([2, 0, 1, 0, 2, 1, 1], [0] * 7, [1] * 7, [0, 1, 2, 0, 1, 2, 0]):
        numpy.save(at("adapter"), numpy.array(chosen, numpy.int64))
        random_models.run([options.rapt_run, library, *given, "--input", f"adapter={at('adapter')}"])
        compare("rapt-run", chosen)
    for number, name in enumerate([None, *ranks]):
        random_models.run([options.rapt_run, library, *given, *([f"--adapter={name}"] if name else [])])
        compare("rapt-run --adapter", [number] * len(lengths))
    for wrong, expected in (([0] * 6, "adapter is [6]; integers [7] are needed"), ([0, 0, 3, 0, 0, 0, 0], "adapter[2] is 3; 0 to 2 is accepted"),
                            ([0, -1, 0, 0, 0, 0, 0], "adapter[1] is -1; 0 to 2 is accepted")):
        numpy.save(at("adapter"), numpy.array(wrong, numpy.int64))
        done = subprocess.run([options.rapt_run, library, *given, "--input", f"adapter={at('adapter')}"], capture_output=True, text=True)
        assert done.returncode == 1 and expected in done.stderr, done.stderr
    done = subprocess.run([options.rapt_run, library, *given, "--input", f"adapter_of={at('ids')}"], capture_output=True, text=True)
    assert done.returncode == 1 and "has no tensor adapter_of; it has input_ids, token_type_ids" in done.stderr, done.stderr
    print(f"PASS {label}: relative L2 {checks.worst:.1e}")


def check_pairs(options, directory, label, source, load, draw_source, ranks, flags=()):
    """An encoder-decoder: sources and targets of sequences with different adapters in one call each, then single tokens; forks and what may not change."""
    library = os.path.join(directory, label + ".so")
    tensors = tensorfiles.readDirectory(source)
    adapters = [Adapter(os.path.join(directory, f"{label}-{name}"), name, tensors, own) for name, own in ranks.items()]
    random_models.run([options.raptc, source, *flags, *(adapter.flag for adapter in adapters), "-o", library])
    models = {None: load(source, tensors)} | {adapter.name: load(source, adapter.merged(tensors)) for adapter in adapters}
    with open(os.path.join(source, "config.json")) as file:
        vocabulary = json.load(file)["vocab_size"]
    checks = Checks(label, random_models.TOLERANCE["F32"])
    context = Context(options.runtime, library, vocabulary, threads=2, cache_tokens=4096, max_step_tokens=64)
    draw = lambda count: [int(t) for t in random.integers(0, vocabulary, count)]
    names = [*ranks]
    made = [Sequence(context, models[name], name) for name in (names[-1], None, names[0], None, names[-1])]
    sources = [draw_source(count) for count in (7, 3, 1, 12, 5)]
    hidden = [models[sequence.adapter].encode(numpy.array(given)) for sequence, given in zip(made, sources)]
    found = [numpy.zeros(wanted.shape, numpy.float32) for wanted in hidden]
    context.must(context.encode([(sequence.handle, given) for sequence, given in zip(made, sources)], found))
    for sequence, one, wanted in zip(made, found, hidden):
        checks.near(f"source of adapter {sequence.adapter}", one, wanted)
    moved = numpy.linalg.norm(models[names[0]].encode(numpy.array(sources[0])) - models[None].encode(numpy.array(sources[0])))
    assert moved > 1e-3 * numpy.linalg.norm(hidden[0]), f"{label}: adapter {names[0]} changes the encoder by {moved:.1e} only"

    def step(pairs):
        logits, status = context.step([(sequence.handle, tokens) for sequence, tokens, _ in pairs])
        context.must(status)
        for (sequence, tokens, of), one in zip(pairs, logits):
            sequence.tokens += list(tokens)
            checks.near(f"target of adapter {sequence.adapter}", one, sequence.model.decode(sequence.tokens, hidden[of])[-len(tokens):])

    step([(sequence, draw(count), number) for number, (sequence, count) in enumerate(zip(made, (4, 2, 6, 1, 3)))])
    step([(sequence, draw(1), number) for number, sequence in enumerate(made)])
    fork = Sequence(context, made[0].model, made[0].adapter, context.fork(made[0].handle), made[0].tokens)
    step([(fork, draw(2), 0), (made[3], draw(1), 3), (made[2], draw(1), 2)])
    context.must(context.call("sequence_truncate", context.context, ctypes.c_uint64(fork.handle), ctypes.c_int64(0)))
    context.refused(choose(context, fork.handle, None), "INVALID", "the sequence has a source, which another adapter has read; free it instead")
    context.must(choose(context, fork.handle, names[-1].encode()))
    print(f"PASS {label}: relative L2 {checks.worst:.1e}")


def check_t5(options, directory, flags=(), label="t5"):
    source = os.path.join(directory, label)
    t5.make(source, {"feed_forward_proj": "gated-gelu"}, 5)
    both = lambda rank, part, side=("encoder", "decoder"): {f"{name}.block.{layer}.layer.{part}": rank for name in side for layer in (0, 1)}
    decoder = ("decoder",)
    ranks = {"attention": both(3, "0.SelfAttention.q") | both(2, "0.SelfAttention.v") | both(5, "1.EncDecAttention.k", decoder) | both(1, "1.EncDecAttention.v", decoder) | both(4, "1.EncDecAttention.q", decoder),
             "wide": both(8, "2.DenseReluDense.wi_0", decoder) | both(3, "1.DenseReluDense.wo", ("encoder",)) | both(2, "0.SelfAttention.o")}
    load = lambda source, tensors: t5.Model(t5.SMALL | {"feed_forward_proj": "gated-gelu"}, tensors)
    check_pairs(options, directory, label, source, load, lambda count: [int(t) for t in random.integers(0, 101, count)], ranks, flags)


def check_whisper(options, directory):
    """Sources of sound have as many positions each."""
    source = os.path.join(directory, "whisper")
    config = WHISPER | {"encoder_layers": 2, "decoder_layers": 1}
    whisper.make(source, config, 5)
    ranks = {"listens": {f"model.encoder.layers.{layer}.self_attn.{part}": 3 for layer in (0, 1) for part in ("q_proj", "v_proj")},
             "both": {"model.decoder.layers.0.encoder_attn.k_proj": 4, "model.decoder.layers.0.fc2": 2, "model.encoder.layers.1.fc1": 5}}
    frames = lambda count: random.standard_normal((config["num_mel_bins"], 2 * config["max_source_positions"])).astype(numpy.float32)
    check_pairs(options, directory, "whisper", source, lambda source, tensors: whisper.Model(config, tensors), frames, ranks)


def evaluated(options, directory, make, changed):
    """An adapter `e`, the imported program with it, and a folder that has all of its weights. `changed`: {module with {} for the layer: (layer, rank)}."""
    at = lambda name: os.path.join(directory, name)
    source, text, everything = at("model"), at("imported.mlir"), at("everything")
    make(source)
    tensors = tensorfiles.readDirectory(source)
    adapter = Adapter(at("adapter"), "e", tensors, {module.format(layer): rank for module, (layer, rank) in changed.items()})
    random_models.run([options.raptc, source, adapter.flag, "--emit=imported", "-o", text])
    # The weights are the checkpoint's and the adapter's, as the program names them.
    rows = dict(tensors)
    read = tensorfiles.read(os.path.join(at("adapter"), "adapter_model.safetensors"))
    for every, (_, rank) in changed.items():
        for module in (every.format(layer) for layer in range(2)):
            out, into = tensors[module + ".weight"].shape
            a, b = numpy.zeros((rank, into), numpy.float32), numpy.zeros((out, rank), numpy.float32)
            rows |= {f"{module}.lora_A": a, f"{module}.lora_B": b}
            if module + ".weight" in adapter.changes:
                a, b = (read[f"base_model.model.{module}.lora_{part}.weight"] for part in "AB")
                b = (4 / rank * b).astype(numpy.float32)
            rows |= {f"{module}.lora_A.e": a, f"{module}.lora_B.e": b}
    with open(os.path.join(source, "config.json")) as file:
        tensorfiles.writeModel(everything, json.load(file), rows, "F32", 1)
    return adapter, text, everything


def check_reference(options, directory, label, make, load, output, changed, targets=None):
    """The evaluator on the imported program, of which rapt-run's compiled code is another reading. `targets`: columns of the ids that the decoder reads, too."""
    work = os.path.join(directory, label)
    at = lambda name: os.path.join(work, name)
    os.makedirs(work)
    adapter, text, everything = evaluated(options, work, make, changed)
    source, tensors = at("model"), tensorfiles.readDirectory(at("model"))
    ids = random.integers(0, 100, (3, 6))
    numpy.save(at("ids.npy"), ids)
    command = [options.rapt_reference, text, f"--weights={everything}", "--input", f"input_ids={at('ids.npy')}", "--input", f"adapter={at('adapter.npy')}", "--output", f"{output}={at('out.npy')}"]
    if targets:
        numpy.save(at("targets.npy"), ids[:, :targets])
        command += ["--input", f"decoder_input_ids={at('targets.npy')}"]
    numpy.save(at("adapter.npy"), numpy.array([1, 0, 1], numpy.int64))
    random_models.run(command)
    plain, merged = load(source), load(source, adapter.merged(tensors))
    checks = Checks("evaluator of " + label, random_models.TOLERANCE["F32"])
    for row, model in enumerate((merged, plain, merged)):
        checks.near(f"row {row}", numpy.load(at("out.npy"))[row], model(ids[row]))
    for numbers, expected in (([1, 0], "adapter is [2]; integers [3] are needed"), ([1.0, 0.0, 1.0], "adapter is [3]; integers [3] are needed"),
                              ([0, 2, 0], "adapter[1] is 2; 0 to 1 is accepted"), ([0, -1, 0], "adapter[1] is -1; 0 to 1 is accepted")):
        numpy.save(at("adapter.npy"), numpy.array(numbers, numpy.float32 if isinstance(numbers[0], float) else numpy.int64))
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1 and expected in done.stderr, done.stderr
    print(f"PASS {checks.label}: relative L2 {checks.worst:.1e}")


def check_references(options, directory):
    check_reference(options, directory, "llama", lambda source: llama.makeModel(source, {}, 5), lambda *given: load_llama(*given).logits, "logits",
                    {"model.layers.{}.mlp.up_proj": (0, 3), "model.layers.{}.self_attn.k_proj": (1, 2)})
    check_reference(options, directory, "bert", lambda source: bert.make(source, {}, 5), lambda *given: load_bert(*given).hidden_of, "last_hidden_state",
                    {"bert.encoder.layer.{}.attention.self.query": (0, 3), "bert.encoder.layer.{}.output.dense": (1, 2)})
    load = lambda source, tensors=None: t5.Model(t5.SMALL, tensorfiles.readDirectory(source) if tensors is None else tensors)
    pairs = lambda *given: lambda ids: load(*given).decode(ids[:4], load(*given).encode(ids))
    check_reference(options, directory, "t5", lambda source: t5.make(source, {}, 5), pairs, "logits",
                    {"encoder.block.{}.layer.0.SelfAttention.q": (0, 3), "decoder.block.{}.layer.1.EncDecAttention.v": (1, 2), "decoder.block.{}.layer.2.DenseReluDense.wi": (0, 4)}, 4)


def load_bert(source, tensors=None):
    with open(os.path.join(source, "config.json")) as file:
        model = bert.Model(json.load(file), tensorfiles.readDirectory(source) if tensors is None else tensors)
    model.hidden_of = lambda ids: model.forward(ids)["last_hidden_state"]
    return model


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
    llama.makeModel(at("tied"), {"tie_word_embeddings": True}, 5, "F32")
    write_adapter(at("tied-head"), {}, q | {"lm_head": pair(*width, 2)})
    refused(options, at("tied"), [named("tied-head")], f'changes "lm_head.weight", which is tied to "model.embed_tokens.weight"{merge}')
    expected = "expected NAME=DIR or NAME=DIR,W: a name of at most 63 letters, digits, '.', '_' and '-'"
    for text in ("good", "=good", "a/b=good", ".a=good", "-a=good", "a,b=good", "a=", "a=,2", "a" * 64 + "=good", "a=good,1e9"):
        refused(options, source, [f"--named-adapter={text}"], expected, 2)
    refused(options, source, [named("good"), named("good")], "expected a name that no other adapter has", 2)
    refused(options, source, [named("good", f"a{i}") for i in range(65)], "expected at most 64 adapters", 2)
    refused(options, source, [named("good"), "--random-weights=1"], "adapters change the weights of a model's directory, which are not read here")
    # A model whose matrices of layers are read for distances, too, and a part of an encoder that is no layer.
    deberta.make(at("deberta"), deberta.small(), 3)
    name = next(name for name in tensorfiles.readDirectory(at("deberta")) if name.endswith("layer.0.attention.self.query_proj.weight"))
    write_adapter(at("of-deberta"), {}, {name.removesuffix(".weight"): pair(*tensorfiles.readDirectory(at("deberta"))[name].shape, 2)})
    refused(options, at("deberta"), [named("of-deberta")], 'programs of family "deberta-v2" choose among no adapters; merge one instead: --adapter')
    bert.make(at("bert"), {}, 3)
    write_adapter(at("of-bert"), {}, {"bert.pooler.dense": pair(64, 64, 2)})
    refused(options, at("bert"), [named("of-bert")], f'changes "bert.pooler.dense.weight", which is no linear map of a layer by itself{merge}')
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
        check(options, directory, "gpt2", make, load_gpt2, {"all": modules, "first": dict(list(modules.items())[:1])}, isTransposed=True, plain=True, initial=True)

    def of_family(family, layer, packed):
        """Packed projections: rows of one tensor, in order or interleaved by head."""
        both = {f"n{rank}": {layer.format(number) + part: rank for number in range(2) for part in packed} for rank in (2, 5)}
        facts = types.SimpleNamespace(**vars(FAMILIES[family]) | {"SMALL": FAMILIES[family].SMALL | {"max_position_embeddings": 128}})
        return lambda: check(options, directory, family, lambda source: common.make(facts, source, "plain", 5), load_family(family), both)

    in_bert = lambda rank, layers, *parts: {f"bert.encoder.layer.{layer}.{part}": rank for layer in layers for part in parts}
    of_bert = {"all": in_bert(3, (0, 1), "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense", "intermediate.dense", "output.dense"),
               "few": in_bert(8, (1,), "attention.self.value") | in_bert(1, (0,), "output.dense")}
    return {
        "bert": lambda: check_encoder(options, directory, "bert", of_bert),
        "bert-bf16": lambda: check_encoder(options, directory, "bert-bf16", of_bert, [], bf16, "BF16"),
        "bert-cuda": lambda: check_encoder(options, directory, "bert-cuda", of_bert, ["--target=cuda"]),
        "t5": lambda: check_t5(options, directory),
        "t5-generic": lambda: check_t5(options, directory, ["--target=generic"], "t5-generic"),
        "t5-cuda": lambda: check_t5(options, directory, ["--target=cuda"], "t5-cuda"),
        "whisper": lambda: check_whisper(options, directory),
        "llama": of_llama("llama", {}, ranks, plain=True),
        "gpt2": of_gpt2,
        "phi3": of_family("phi3", "model.layers.{}.", ("self_attn.qkv_proj", "mlp.gate_up_proj", "mlp.down_proj")),
        "gpt_neox": of_family("gpt_neox", "gpt_neox.layers.{}.", ("attention.query_key_value", "attention.dense", "mlp.dense_4h_to_h")),
        "mamba2": of_family("mamba2", "backbone.layers.{}.mixer.", ("in_proj", "out_proj")),
        "qwen3_5_text": of_family("qwen3_5_text", "model.layers.{}.", ("linear_attn.in_proj_qkv", "linear_attn.out_proj", "mlp.down_proj")),
        "llama-bf16": of_llama("llama-bf16", {"hidden_size": 96}, ranks, bf16, dtype="BF16"),
        # Weights and activations have 8 bits, and are compared with floats; a missing adapter is 1 apart.
        "llama-w8": of_llama("llama-w8", {}, ranks, 1.2e-1, flags=["--quantize=w8"]),
        "llama-generic": of_llama("llama-generic", {"attention_bias": True, "mlp_bias": True}, two("seven-7", "few"), flags=["--target=generic"]),
        "llama-x86-64-v3": of_llama("llama-x86-64-v3", {"attention_bias": True}, two("one", "seven-7"), flags=["--mcpu=x86-64-v3"]),
        "llama-cuda": of_llama("llama-cuda", {"num_hidden_layers": 1}, short, flags=["--target=cuda"]),
        "evaluator": lambda: check_references(options, directory),
        "faults": lambda: check_faults(options, directory),
    }


CASES = tuple(cases(None, None))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--raptc", "--rapt-run", "--rapt-reference", "--runtime"):
        parser.add_argument(option, required=True)
    parser.add_argument("--only", nargs="*", help="these cases (all but those of cuda)")
    options = parser.parse_args()
    start = random.bit_generator.state
    with tempfile.TemporaryDirectory() as directory:
        for name, run in cases(options, directory).items():
            if name in options.only if options.only else not name.endswith("-cuda"):
                random.bit_generator.state = start  # a case draws the same alone and behind others
                run()


if __name__ == "__main__":
    main()
