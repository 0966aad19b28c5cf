#!/usr/bin/env python3
"""Decoders whose layers keep states of a sequence beside keys and values in a cache, as text at the stage imported: attention, linear attention and
short convolutions in one model, and the last two alone, without a cache. Against formulas in numpy in float64, compiled through the C interface and
evaluated.

Pieces equal the whole; batches mix lengths; forks go their own ways; sequences are saved and loaded; sequences go back to states that they keep, and a
length without one is refused; a canceled or wrong step changes nothing; results have the same bits for any number of threads, and where a text is
cut by hand as it is for kept states."""

import argparse
import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np

import packed_model
import report
from context import Context
from encoder_decoder_generation import run
from recurrent_states import near, refusal, stepped

sys.path.insert(0, str(Path(__file__).parent / ".." / "Reference" / "numpy"))

from linear_attention_formula import closed_form, convolved  # noqa: E402

VOCABULARY, WIDTH, POSITIONS, BLOCK = 61, 40, 300, 64
HEADS, KEYS, VALUES, CHANNELS, TAPS = 2, 16, 24, 36, 4
MODELS = {"hybrid": ("conv", "linear", "attention", "linear", "conv", "attention"), "convolutions_and_cache": ("conv", "attention", "conv"),
          "linear_alone": ("linear", "linear"), "convolutions_alone": ("conv", "conv")}
SHAPES = {"attention": {"q": (WIDTH, HEADS * 32), "k": (WIDTH, HEADS * 32), "v": (WIDTH, HEADS * 32), "o": (HEADS * 32, WIDTH)},
          "linear": {"q": (WIDTH, HEADS * KEYS), "k": (WIDTH, HEADS * KEYS), "v": (WIDTH, HEADS * VALUES), "d": (WIDTH, HEADS), "o": (HEADS * VALUES, WIDTH)},
          "conv": {"i": (WIDTH, CHANNELS), "w": (TAPS, CHANNELS), "o": (CHANNELS, WIDTH)}}
ROWS, INTS = f"tensor<?x{WIDTH}xf32>", "tensor<?xi32>"


def tensor(*shape):
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


class Text:
    """The module of a model with these layers."""

    def __init__(self, layers):
        self.layers, (self.cached, self.linear, self.convolved) = layers, (layers.count(kind) for kind in ("attention", "linear", "conv"))
        self.cache = f"!attn.kv_cache<{self.cached} x {HEADS} x 32, block = {BLOCK}, f32>"
        self.state, self.conv = tensor("?", self.linear, HEADS, KEYS, VALUES), tensor("?", self.convolved, TAPS - 1, CHANNELS)
        self.slots = bool(self.linear or self.convolved)

    def arguments(self):
        """(value, type, name, dims), in the order of EntryRoles."""
        kept = [("state", self.state, ["slots"])] * bool(self.linear) + [("conv_state", self.conv, ["slots"])] * bool(self.convolved)
        kept += [("cache", self.cache, ["blocks"])] * bool(self.cached)
        return kept, [("tokens", INTS, ["tokens"]), ("row_begin", INTS, ["rows+1"]), *[(name, INTS, ["rows"]) for name in ("state_slot", "state_target")],
                      *[("past", INTS, ["rows"]), ("block_table", "tensor<?x?xi32>", ["rows", "table"])] * bool(self.cached), ("want", INTS, ["wanted"])]

    def parameters(self):
        shapes = {"embed": (VOCABULARY, WIDTH), "head": (WIDTH, VOCABULARY)}
        return shapes | {f"l{i}{part}": shape for i, kind in enumerate(self.layers) for part, shape in SHAPES[kind].items()}

    def matmul(self, out, source, name, region=""):
        n, m = self.parameters()[name]
        return (f"  %{name}w = attn.parameter_slice @{name} : {tensor(n, m)}\n"
                f"  %{out} = attn.linear %{source}, %{name}w : {tensor('?', n)}, {tensor(n, m)} -> {tensor('?', m)}{region}\n")

    def split(self, i, part, channels):
        return f"  %l{i}{part}h = attn.split_heads %l{i}{part} : {tensor('?', HEADS * channels)} -> {tensor('?', HEADS, channels)}\n"

    def attention(self, i, number):
        heads, view = tensor("?", HEADS, 32), tensor("?", "?", HEADS, 32)
        return "".join(self.matmul(f"l{i}{part}", f"x{i}", f"l{i}{part}") + self.split(i, part, 32) for part in "qkv") + f"""
  %cache{number + 1} = attn.kv_append %cache{number}[%n{number}], %l{i}kh, %l{i}vh rows(%row_begin, %past, %block_table) : {self.cache}, {heads}, {heads}, {INTS}, {INTS}, tensor<?x?xi32>
  %l{i}keys, %l{i}values = attn.kv_view %cache{number + 1}[%n{number}], %block_table : {self.cache}, tensor<?x?xi32> -> {view}, {view}
  %l{i}a = attn.attention %l{i}qh, %l{i}keys, %l{i}values, %scale q_begin(%row_begin : {INTS}) q_offset(%past : {INTS})
    maps [affine_map<(b, h, g, i, j, c, d) -> (i, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (b, j, h, c)>,
          affine_map<(b, h, g, i, j, c, d) -> (b, j, h, d)>, affine_map<(b, h, g, i, j, c, d) -> (i, h, d)>] : {heads}, {view}, {view} -> {heads} mask {{
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }}
  %l{i}y = attn.merge_heads %l{i}a : {heads} -> {tensor('?', HEADS * 32)}
"""

    def linearAttention(self, i, number):
        decay = """ {
  ^bb0(%sum: f32):
    %0 = math.absf %sum : f32
    %1 = arith.negf %0 : f32
    attn.yield %1 : f32
  }"""
        keys, values = tensor("?", HEADS, KEYS), tensor("?", HEADS, VALUES)
        return "".join(self.matmul(f"l{i}{part}", f"x{i}", f"l{i}{part}", region) for part, region in (("q", ""), ("k", ""), ("v", ""), ("d", decay))) + "".join(
            self.split(i, part, channels) for part, channels in (("q", KEYS), ("k", KEYS), ("v", VALUES))) + f"""
  %l{i}a, %state{number + 1} = attn.linear_attention gated %l{i}qh, %l{i}kh, %l{i}vh decay(%l{i}d : {tensor('?', HEADS)}) rows(%row_begin) state(%state{number} : {self.state}) layer(%n{number})
    slots(%state_slot : {INTS}, %state_target : {INTS}) scale 0.25 : {keys}, {keys}, {values}, {INTS}
  %l{i}y = attn.merge_heads %l{i}a : {values} -> {tensor('?', HEADS * VALUES)}
"""

    def convolution(self, i, number):
        inputs, weight = tensor("?", CHANNELS), tensor(TAPS, CHANNELS)
        return self.matmul(f"l{i}x", f"x{i}", f"l{i}i") + f"""  %l{i}ww = attn.parameter_slice @l{i}w : {weight}
  %l{i}y, %conv_state{number + 1} = attn.short_conv %l{i}x, %l{i}ww activation silu rows(%row_begin) state(%conv_state{number} : {self.conv}) layer(%n{number})
    slots(%state_slot : {INTS}, %state_target : {INTS}) : {inputs}, {weight}, {INTS}
"""

    def body(self):
        counts, text = {"attention": 0, "linear": 0, "conv": 0}, ""
        for i, kind in enumerate(self.layers):
            make = {"attention": self.attention, "linear": self.linearAttention, "conv": self.convolution}[kind]
            text += make(i, counts[kind]) + self.matmul(f"l{i}o", f"l{i}y", f"l{i}o") + f"  %x{i + 1} = arith.addf %x{i}, %l{i}o : {ROWS}\n"
            counts[kind] += 1
        return text

    def module(self):
        facts = {"layers": len(self.layers), "hidden": WIDTH, "heads": HEADS, "kv_heads": HEADS, "head_dim": 32, "vocab": VOCABULARY, "positions": POSITIONS, "parameters": 1}
        numbers = ", ".join(f"{name} = {value} : i64" for name, value in facts.items())
        bounds = {"tokens": (0, 4096), "rows": (1, 64), "wanted": (0, 4096), "slots": (1, 1 << 20), "table": (1, -(-POSITIONS // BLOCK)), "blocks": (1, 1 << 20)}
        dims = "".join(f"attn.dim @{dim} min {least} max {most}\n" for dim, (least, most) in bounds.items() if self.cached or dim not in ("table", "blocks"))
        kept, given = self.arguments()
        quoted = lambda names: ", ".join(f'"{name}"' for name in names)
        shown = lambda value, name, kind, dims: f'%{value}: {kind} {{attn.name = "{name}", attn.dims = [{quoted(dims)}]}}'
        heads = [shown(name + "0", name, kind, dims) for name, kind, dims in kept] + [shown(name, name, kind, dims) for name, kind, dims in given]
        results = [f'{kind} {{attn.name = "{name}"{"" if name == "cache" else f", attn.dims = [{quoted(dims)}]"}}}' for name, kind, dims in kept]
        logits, made = tensor("?", VOCABULARY), [f"%{name}{count}" for (name, *_), count in zip(kept, [n for n in (self.linear, self.convolved, self.cached) if n])]
        parameters = "".join(f'attn.parameter @{name} : {tensor(*shape)} from [#attn.source<"{name}">]\n' for name, shape in self.parameters().items())
        numbered = "".join(f"  %n{i} = arith.constant {i} : index\n" for i in range(max(self.linear, self.convolved, self.cached)))
        return f"""module @hybrid attributes {{attn.stage = "imported", attn.model = {{family = "gpt2", task = "decoder", {numbers}, source_dtype = "f32", eos = []}}}} {{
{dims}{parameters}func.func @step({", ".join(heads)})
    -> ({", ".join([*results, f'{logits} {{attn.name = "logits", attn.dims = ["wanted"]}}'])}) attributes {{attn.entry}} {{
{numbered}  %scale = arith.constant 0.25 : f32
  %embedw = attn.parameter_slice @embed : {tensor(VOCABULARY, WIDTH)}
  %x0 = attn.embedding %tokens, %embedw : {INTS}, {tensor(VOCABULARY, WIDTH)} -> {ROWS}
{self.body()}  %wanted = attn.select_rows %x{len(self.layers)}, %want : {ROWS}, {INTS} -> {ROWS}
{self.matmul("logits", "wanted", "head")}  return {", ".join([*made, "%logits"])} : {", ".join([*(kind for _, kind, _ in kept), logits])}
}}
}}
"""


class Formula:
    """The same model in float64, one text at a time."""

    def __init__(self, text):
        random = np.random.default_rng(5)
        self.layers, self.stored = text.layers, {}
        for name, shape in text.parameters().items():
            self.stored[name] = (random.standard_normal(shape) * (1 if name == "embed" else 0.7 / np.sqrt(shape[0]))).astype(np.float32)

    def forward(self, tokens):
        w = {name: value.astype(np.float64) for name, value in self.stored.items()}
        x, n = w["embed"][tokens], len(tokens)
        for i, kind in enumerate(self.layers):
            own = {part: w[f"l{i}{part}"] for part in SHAPES[kind]}
            heads = lambda part: (x @ own[part]).reshape(n, HEADS, -1)
            if kind == "attention":
                s = np.where(np.tril(np.ones((n, n), bool)), 0.25 * np.einsum("ihc,jhc->hij", heads("q"), heads("k")), -np.inf)
                p = np.exp(s - s.max(-1, keepdims=True))
                y = np.einsum("hij,jhd->ihd", p / p.sum(-1, keepdims=True), heads("v"))
            elif kind == "linear":
                decay = -np.abs(x @ own["d"])
                y = np.stack([closed_form(heads("q")[:, h], heads("k")[:, h], heads("v")[:, h], decay[:, h], None, np.zeros((KEYS, VALUES)), 0.25)[0] for h in range(HEADS)], 1)
            else:
                y, _ = convolved(x @ own["i"], own["w"], 0, np.zeros((TAPS - 1, CHANNELS)))
                y = y / (1 + np.exp(-y))
            x = x + y.reshape(n, -1) @ own["o"]
        return x @ w["head"]

    def greedy(self, ids, count):
        made = []
        while len(made) < count:
            made.append(int(self.forward(ids + made)[-1].argmax()))
        return ",".join(map(str, made))


def logits_of(context, sequence, *pieces):
    return np.concatenate([stepped(context, [(sequence, piece)])[0] for piece in pieces])


def cut(text, every):
    return [text[begin:begin + every] for begin in range(0, len(text), every)]


def states(make, model, whole):
    """Checks of a model, as (what, whether it holds, the figures); `make` makes a context with options."""
    context, expected = make(), model.forward(whole)
    sequence = context.sequence
    for what, pieces in (("the whole", [whole]), ("pieces", [whole[:64], whole[64:70], whole[70:]]), ("token by token", cut(whole, 1))):
        yield what, near(logits_of(context, sequence(), *pieces), expected), "logits"
    a, b, c = sequence(), sequence(), sequence()
    first = stepped(context, [(a, whole[:5]), (b, whole[:90]), (c, whole[:1])])
    yield "lengths mix", all(near(found, expected[:len(found)]) for found in first), "logits"
    second = stepped(context, [(c, whole[1:30]), (a, whole[5:6]), (b, whole[90:])])
    yield "and go on", near(second[0], expected[1:30]) and near(second[1], expected[5:6]) and near(second[2], expected[90:]), "logits"
    fork = context.fork(a)
    other = whole[:6] + whole[50:60]
    third = stepped(context, [(fork, whole[50:60]), (a, whole[6:8])])
    yield "a fork goes its own way", near(third[0], model.forward(other)[6:]) and near(third[1], expected[6:8]), "logits"
    context.lib.rapt_cancel(context.context)
    yield ("a canceled step", *refusal(context, context.step([(a, whole[8:]), (c, whole[:3])])[1], "CANCELLED", ""))
    yield ("a wrong step", *refusal(context, context.step([(a, whole[8:]), (c, [VOCABULARY])])[1], "INVALID", "chunk 1: token 0 is 61"))
    state = context.save(a)
    loaded, fork = logits_of(context, context.load(state.raw), whole[8:]), logits_of(context, context.fork(a), whole[8:])
    yield "a saved sequence", np.array_equal(loaded, fork), f"{len(state.raw)} bytes, the same bits"
    both = stepped(context, [(a, whole[8:]), (c, whole[30:40])])
    yield "neither changed a sequence", near(both[0], expected[8:]) and near(both[1], expected[30:40]), "logits"
    told = "cannot truncate to 100 tokens: the sequence keeps no state of that length; the nearest one below is 0"
    yield ("a length without a state", *refusal(context, context.truncate(a, 100), "UNSUPPORTED", told))
    context.must(context.truncate(a, 0))
    yield "from zeros again", near(logits_of(context, a, whole), expected), "logits"
    context.close()


def kept_states(make, model, whole):
    context, plain = make(keep_states_every=16), make()
    sequence = context.sequence()
    found = logits_of(context, sequence, whole)
    yield "parts end where states are kept", np.array_equal(found, logits_of(plain, plain.sequence(), *cut(whole, 16))), "the same bits"
    yield "the whole, without cuts", near(found, logits_of(plain, plain.sequence(), whole)), "logits"
    fork = context.fork(sequence)
    told = "cannot truncate to 95 tokens: the sequence keeps no state of that length; the nearest one below is 80"
    yield ("a length between two", *refusal(context, context.truncate(sequence, 95), "UNSUPPORTED", told))
    for length in (96, 32, 0):
        context.must(context.truncate(sequence, length))
        yield f"back to {length}", np.array_equal(logits_of(context, sequence, whole[length:]), found[length:]), "the same bits"
    context.free(sequence)
    context.must(context.truncate(fork, 64))
    yield "a fork keeps them", near(logits_of(context, fork, whole[3:9]), model.forward(whole[:64] + whole[3:9])[64:]), "logits"
    loaded = context.load(context.save(fork).raw)
    yield ("a loaded sequence has none", *refusal(context, context.truncate(loaded, 64), "UNSUPPORTED", "the nearest one below is 0"))
    threads = make(keep_states_every=16, threads=3)
    yield "bits of three threads", np.array_equal(logits_of(threads, threads.sequence(), whole), found), "the same"
    for one in (context, plain, threads):
        one.close()


def foreign(make, state):
    """What is no state of this model: `state` is that of another model, or None."""
    context = make()
    own = context.save(context.sequence()).raw
    load = lambda data: context.call("sequence_load", context.context, data, ctypes.c_size_t(len(data)), ctypes.byref(ctypes.c_uint64()))
    if state:
        yield ("a state of another model", *refusal(context, load(state), "MISMATCH", "the saved state is of a model with interface"))
    yield ("a state without its end", *refusal(context, load(own[:-4]), "BAD_FILE", f"the saved state has {len(own) - 4} bytes; 0 tokens and 0 of a source take {len(own)}"))
    yield ("a state with a number changed", *refusal(context, load(own[:-1] + b"?"), "BAD_FILE", "the saved state's checksum is wrong: it is damaged"))
    yield "the state itself", load(own) == 0, f"{len(own)} bytes"
    context.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("raptc", "rapt-run", "rapt-reference", "runtime", "scratch"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    scratch, results, state = Path(options.scratch), [], None
    scratch.mkdir(parents=True, exist_ok=True)
    for name, layers in MODELS.items():
        text, file, weights, library = Text(layers), scratch / f"{name}.mlir", scratch / f"{name}-weights", scratch / f"{name}.so"
        model = Formula(text)
        file.write_text(text.module())
        packed_model.write_weights(weights, model.stored)
        told = subprocess.run([options.raptc, str(file), f"--weights={weights}", "-o", str(library)], check=True, capture_output=True, text=True)
        whole = [int(token) for token in np.random.default_rng(3).integers(0, VOCABULARY, 131)]
        make = lambda **given: Context(options.runtime, str(library), VOCABULARY, cache_tokens=4096 if text.cached else 0, max_step_tokens=100, **given)
        results += [(f"{name}: {what}", *found) for what, *found in [*states(make, model, whole), *kept_states(make, model, whole)]]
        results += [(f"{name}: {what}", *found) for what, *found in foreign(make, state)]
        other = make()
        state = other.save(other.sequence()).raw
        other.close()
        bytes_ = 4 * (text.linear * HEADS * KEYS * VALUES + text.convolved * (TAPS - 1) * CHANNELS)
        line = f"; states: {bytes_:,} bytes per sequence"
        card = run(options.rapt_run, str(library))
        results.append((f"{name}: the card", line in card and line in told.stderr + told.stdout, line))
        asked = lambda ids, count, *more: ["--tokens", ",".join(map(str, ids)), "--max-new-tokens", str(count), *more]
        compiled = lambda *given: run(options.rapt_run, str(library), *asked(*given), "--ignore-eos")
        evaluated = lambda *given: run(options.rapt_reference, str(file), f"--weights={weights}", *asked(*given))
        found, wanted = compiled(whole[:20], 12), model.greedy(whole[:20], 12)
        results.append((f"{name}: greedy tokens", found == wanted, f"{found}, expected {wanted}"))
        found, wanted = evaluated(whole[:20], 4), model.greedy(whole[:20], 4)
        results.append((f"{name}: greedy tokens of the evaluator", found == wanted, f"{found}, expected {wanted}"))
        beams = [program(whole[:9], 5, "--beams", "3") for program in (compiled, evaluated)]
        results.append((f"{name}: beams", beams[0] == beams[1], " ".join(beams)))
    report.finish(results)


if __name__ == "__main__":
    main()
