#!/usr/bin/env python3
"""Results in the memory of arguments, where one result reads what another overwrites: exchanges of two and of three arrays, views of an
argument, and results that are made in the memory of another argument. Each is compared with numpy and with the reference."""

import numpy as np

import kernels

tools = kernels.tools(__doc__)
checks, random = kernels.Checks(), np.random.default_rng(43)
ROWS = "tensor<?x32xf32>"


def entry(name, arguments, results, body):
    """An entry whose arguments and results are rows of 32 f32, or have the type that follows their name."""
    def declare(at):
        words = at.split(" ", 1)
        return (words[1], f'{words[1]} {{attn.name = "{words[0]}"}}') if len(words) == 2 else (ROWS, f'{ROWS} {{attn.name = "{at}", attn.dims = ["rows"]}}')
    given = ", ".join(f"%{at.split(' ')[0]}: {declare(at)[1]}" for at in arguments)
    made = ", ".join(declare(at)[1] for at in results)
    values, ops = body
    types = ", ".join(declare(at)[0] for at in results)
    return f"func.func @{name}({given}) -> ({made}) attributes {{attn.entry}} {{\n{ops}  return {values} : {types}\n}}\n"


def loop(a, b):
    """Three times (a, b) -> (b, tanh(a)), and the two exchanged."""
    for _ in range(3):
        a, b = b, np.tanh(a)
    return {"a": b, "b": a}


def tanh(to, of, type=ROWS):
    return f"  %{to} = math.tanh %{of} : {type}\n"


PAIR, WIDE = "tensor<8x32xf32>", "tensor<4x64xf32>"
SLICE = f"  %half = tensor.extract_slice %a[4, 0] [4, 32] [1, 1] : {PAIR} to tensor<4x32xf32>\n"
RESHAPE = f"  %flat = tensor.collapse_shape %a [[0, 1]] : {PAIR} into tensor<256xf32>\n" \
          f"  %wide = tensor.expand_shape %flat [[0, 1]] output_shape [4, 64] : tensor<256xf32> into {WIDE}\n"
# Name: arguments, results, values and ops, and the results by numpy.
ENTRIES = {
    "exchange": (["a", "b"], ["b", "a"], ("%a, %b", ""), lambda a, b: {"a": b, "b": a}),
    "rotation": (["a", "b", "c"], ["a", "b", "c"], ("%b, %c, %a", ""), lambda a, b, c: {"a": b, "b": c, "c": a}),
    "made": (["a", "b"], ["a", "b"], ("%y, %x", tanh("x", "a") + tanh("y", "b")), lambda a, b: {"a": np.tanh(b), "b": np.tanh(a)}),
    "shift": (["a", "b"], ["a", "b"], ("%x, %a", tanh("x", "b")), lambda a, b: {"a": np.tanh(b), "b": a}),
    "old": (["a"], ["a", "out"], ("%x, %a", tanh("x", "a")), lambda a: {"a": np.tanh(a), "out": a}),
    "one_of_two": (["a", "b"], ["a", "b"], ("%b, %b", ""), lambda a, b: {"a": b, "b": b}),
    "slice": ([f"a {PAIR}"], [f"a {PAIR}", "half tensor<4x32xf32>"], ("%x, %half", SLICE + tanh("x", "a", PAIR)), lambda a: {"a": np.tanh(a), "half": a[4:]}),
    "slices": ([f"a {PAIR}", "c tensor<4x32xf32>"], [f"a {PAIR}", "c tensor<4x32xf32>"],
               ("%x, %half", SLICE + f"  %x = tensor.insert_slice %c into %a[4, 0] [4, 32] [1, 1] : tensor<4x32xf32> into {PAIR}\n"),
               lambda a, c: {"a": np.concatenate([a[:4], c]), "c": a[4:]}),
    "reshape": ([f"a {PAIR}", f"b {WIDE}"], [f"a {PAIR}", f"b {WIDE}"],
                ("%x, %wide", RESHAPE + f"  %flatb = tensor.collapse_shape %b [[0, 1]] : {WIDE} into tensor<256xf32>\n"
                 f"  %x = tensor.expand_shape %flatb [[0, 1]] output_shape [8, 32] : tensor<256xf32> into {PAIR}\n"),
                lambda a, b: {"a": b.reshape(8, 32), "b": a.reshape(4, 64)}),
    "loop": (["a", "b"], ["a", "b"],
             ("%r#1, %r#0", "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n  %c3 = arith.constant 3 : index\n"
              f"  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%p = %a, %q = %b) -> ({ROWS}, {ROWS}) {{\n"
              + tanh("x", "p") + f"    scf.yield %q, %x : {ROWS}, {ROWS}\n  }}\n"),
             loop),
}

program = kernels.Program(tools, "in_place", "attn.dim @rows min 0 max 1024\n" + "".join(entry(name, *parts[:3]) for name, parts in ENTRIES.items()))
for name, (arguments, results, _, formula) in ENTRIES.items():
    arguments, results = [[at.split(" ")[0] for at in names] for names in (arguments, results)]
    shapes = {"slice": [(8, 32)], "slices": [(8, 32), (4, 32)], "reshape": [(8, 32), (4, 64)]}
    for rows in (1,) if name in shapes else (0, 1, 17, 100):
        arrays = [random.standard_normal(shape).astype(np.float32) for shape in shapes.get(name, [(rows, 32)] * len(arguments))]
        expected = formula(*arrays)
        made = [at for at in results if at not in arguments]
        kept = [at for at in results if at in arguments]
        outputs = [expected[at].shape for at in made]
        got = program.compiled(name, arrays, outputs, (rows,), in_place=[arguments.index(at) for at in kept])
        referenced = program.reference(name, dict(zip(arguments, arrays)), results)
        for at, value in zip(made + kept, got):
            checks.near(f"{name} {at} of {rows} rows", value, expected[at], 2e-6)
        for at, value in zip(results, referenced):
            checks.near(f"reference: {name} {at} of {rows} rows", value, expected[at], 2e-6)
checks.finish()
