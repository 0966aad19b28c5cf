"""The states of a decoder's sequences behind a text, compiled and evaluated, against those of test/Reference/numpy/decoders/states.py: the matrices of
linear attention and the last inputs of short convolutions, of each layer, and the logits on the way.

Compiled code reads a text of 129 tokens whole, in two pieces, in three, token by token, and beside texts of other lengths, which go on in a second step."""

import ctypes
import os
import re

import numpy

from context import Context
from random_models import run

LENGTHS = (1, 7, 63, 64, 65, 129)
HEADER = 144  # bytes of a saved sequence, before what it holds
KINDS = ("matrix", "conv")  # in the order of a slot's parts


class Text:
    """A text, its logits, and the states behind each of LENGTHS as {length: {kind: array [layers that have it, ...]}}."""

    def __init__(self, model):
        self.ids = numpy.random.RandomState(7).randint(0, model.config["vocab_size"], LENGTHS[-1])
        model.memory, logits, self.states = {}, [], {}
        for begin, end in zip((0, *LENGTHS), LENGTHS):
            logits.append(model.continued(self.ids[begin:end]))
            layers = range(model.config["num_hidden_layers"])
            kept = {kind: [model.memory[layer, kind] for layer in layers if (layer, kind) in model.memory] for kind in KINDS}
            self.states[end] = {kind: numpy.stack(arrays) for kind, arrays in kept.items() if arrays}
        self.logits = numpy.concatenate(logits)


class Compared:
    """Arrays that were found and those wanted, by what they are: the logits of a way of reading the text, or a layer's states. Each is compared as one, as
    the error of a single token's is no bound of what types are rounded to."""

    def __init__(self):
        self.pairs = {}

    def add(self, what, found, wanted):
        assert found.shape == wanted.shape, f"{what}: {found.shape}, expected {wanted.shape}"
        self.pairs.setdefault(what, []).append((found.ravel(), wanted.ravel()))

    def layers(self, what, found, wanted):
        """Layer by layer and head by head, so that one of small numbers counts as any other."""
        for kind, layers in wanted.items():
            for place in numpy.ndindex(layers.shape[:2 if kind == "matrix" else 1]):
                name = " and head ".join(map(str, place))
                self.add(f"{what}: {kind} of layer {name} of those that have one", found[kind][place], layers[place])

    def worst(self, tolerance):
        """The largest relative L2; AssertionError where one is more than the tolerance."""
        errors = {}
        for what, pairs in self.pairs.items():
            found, wanted = (numpy.concatenate(arrays) for arrays in zip(*pairs))
            errors[what] = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
            assert errors[what] <= tolerance, f"{what}: relative L2 {errors[what]:.2e}, allowed {tolerance:.0e}"
        return max(errors.values())


def saved(context, sequence, wanted):
    """A sequence's states, of the shapes of those wanted: the end of what is saved."""
    size = ctypes.c_size_t()
    data = context.save(sequence).raw
    sizes = [layers.size for layers in wanted.values()]
    numbers = numpy.frombuffer(data, numpy.float32, sum(sizes), len(data) - 4 * sum(sizes))
    assert len(data) >= HEADER + 4 * sum(sizes), f"a saved sequence has {len(data)} bytes, fewer than its {sum(sizes)} numbers take"
    parts = numpy.split(numbers, numpy.cumsum(sizes)[:-1])
    return {kind: part.reshape(layers.shape) for (kind, layers), part in zip(wanted.items(), parts)}


def check(library, model, options, tolerance):
    """Compares those of a compiled program; the largest relative L2."""
    runtime = os.path.join(os.path.dirname(options.rapt_run), "..", "lib", "librapt_runtime.so")
    text, compared, most = Text(model), Compared(), LENGTHS[-1]
    context = Context(runtime, library, model.config["vocab_size"], cache_tokens=4096, max_step_tokens=512)
    ids, lengths = text.ids.tolist(), {}

    def step(what, *grown):
        logits, status = context.step([(sequence, ids[lengths.get(sequence, 0):end]) for sequence, end in grown])
        context.must(status)
        for (sequence, end), found in zip(grown, logits):
            compared.add(f"{what}: logits", found, text.logits[lengths.get(sequence, 0):end])
            lengths[sequence] = end
            if end in text.states:
                compared.layers(what, saved(context, sequence, text.states[end]), text.states[end])

    mixed = [(context.sequence(), length) for length in LENGTHS]
    step("texts of several lengths", *mixed)
    step("each in a second piece", *[(sequence, most) for sequence, length in mixed if length < most])
    three, single = context.sequence(), context.sequence()
    for end in (7, 65, most):
        step("three pieces", (three, end))
    for end in range(1, most + 1):
        step("token by token", (single, end))
    context.close()
    return compared.worst(tolerance)


def check_evaluated(program, model, weights, options, tolerance, directory):
    """Compares those of the evaluator, which runs the entry `step` on rows of all lengths but the longest; the largest relative L2."""
    with open(program, encoding="utf-8") as file:
        head = re.search(r"func\.func @step\((.*?)\) ->", file.read(), re.DOTALL)[1]
    names = re.findall(r'attn\.name = "(\w+)"', head)
    text, compared, lengths = Text(model), Compared(), LENGTHS[:-1]
    rows, begin = len(lengths), numpy.cumsum([0, *lengths])
    ints = lambda values: numpy.asarray(values, numpy.int32)
    slots = rows + 1  # the first is of zeros, which all rows read
    given = {"tokens": ints(numpy.concatenate([text.ids[:length] for length in lengths])), "row_begin": ints(begin), "state_slot": ints([0] * rows),
             "state_target": ints(range(1, slots)), "past": ints([0] * rows), "want": ints(range(begin[-1]))}
    blocks = -(-LENGTHS[-2] // 64)
    given["block_table"] = ints(range(rows * blocks)).reshape(rows, blocks)
    roles = {"matrix": "state", "conv": "conv_state"}
    given |= {roles[kind]: numpy.zeros((slots, *layers.shape), numpy.float32) for kind, layers in text.states[1].items()}
    command = [options.rapt_reference, program, f"--weights={weights}", "--entry=step", "--precision=f64"]
    at = lambda name: os.path.join(directory, f"{name}.npy")
    for name in set(names) & set(given):
        numpy.save(at(name), given[name])
        command.append(f"--input={name}={at(name)}")
    results = ["logits", *(roles[kind] for kind in text.states[1])]
    run([*command, *(f"--output={name}={at(name + '-out')}" for name in results)])
    found = {name: numpy.load(at(name + "-out")) for name in results}
    for row, length in enumerate(lengths):
        compared.add("logits", found["logits"][begin[row]:begin[row + 1]], text.logits[:length])
        compared.layers("evaluated", {kind: found[roles[kind]][row + 1] for kind in text.states[1]}, text.states[length])
    return compared.worst(tolerance)
