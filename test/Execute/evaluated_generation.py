#!/usr/bin/env python3
"""Text that the reference evaluator generates: the ids of rapt-reference equal those of compiled code, greedy and by beams, of random models whose sequences keep
something of each kind: a cache, caches of windows, a source, states, states beside a cache, and adapters.

    evaluated_generation.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --rapt-reference build/bin/rapt-reference
"""

import argparse
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "Reference", "numpy")]

import chosen_adapters  # noqa: E402
import llama  # noqa: E402
import recurrent  # noqa: E402
import t5  # noqa: E402
from decoder_families import FAMILIES  # noqa: E402
from decoders import common  # noqa: E402
from random_models import run  # noqa: E402

NEW = 12  # tokens; those behind short windows are many
PROMPT = [7, 31, 3, 14, 15, 29, 25, 35]  # of every vocabulary
SEARCHES = ([], ["--beams", "3"])


def make_windows(source):
    """A layer whose window is shorter than the prompt, and one that keeps all."""
    facts = FAMILIES["gemma3_text"]
    facts.SMALL = {**facts.SMALL, "sliding_window": 5, "num_hidden_layers": 2, "sliding_window_pattern": 2}
    common.make(facts, source, "plain", 3)


MODELS = {
    "decoder": lambda source: llama.makeModel(source, {}, 5),
    "windows": make_windows,
    "encoder-decoder": lambda source: t5.make(source, {}, 5),
    "hybrid": lambda source: common.make(FAMILIES["qwen3_next"], source, "v5", 3),
    "states": lambda source: recurrent.make(source, {**recurrent.LM, "num_layers": 2}),
}


def ids(*command):
    return run([*command, "--tokens", ",".join(map(str, PROMPT)), "--max-new-tokens", str(NEW)]).strip()


def compare(options, label, library, evaluated, *flags):
    """The texts of both."""
    texts = []
    for search in SEARCHES:
        compiled = ids(options.rapt_run, library, *flags, *(search or ["--temperature", "0"]))
        found = ids(*evaluated, *flags, *search)
        assert found and found == compiled, f"{label} {search}: the evaluator generates {found}, compiled code {compiled}"
        texts.append(found)
    return texts


def check_model(options, directory, label, make):
    source, text, library = (os.path.join(directory, name) for name in ("model", "imported.mlir", "model.so"))
    make(source)
    run([options.raptc, source, "--emit=imported", "-o", text])
    run([options.raptc, source, "-o", library])
    return compare(options, label, library, [options.rapt_reference, text, f"--weights={source}"])


def check_adapters(options, directory):
    changed = {"model.layers.{}.mlp.up_proj": (0, 3), "model.layers.{}.self_attn.k_proj": (1, 2)}
    adapter, text, everything = chosen_adapters.evaluated(options, directory, MODELS["decoder"], changed)
    library = os.path.join(directory, "model.so")
    run([options.raptc, os.path.join(directory, "model"), adapter.flag, "-o", library])
    evaluated = [options.rapt_reference, text, f"--weights={everything}"]
    plain, adapted = (compare(options, "adapters", library, evaluated, *flags) for flags in ((), ("--adapter", "e")))
    assert plain != adapted, f"the adapter changes nothing: {plain}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--raptc", "--rapt-run", "--rapt-reference"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    for label, make in [*MODELS.items(), ("adapters", None)]:
        with tempfile.TemporaryDirectory() as directory:
            if make:
                check_model(options, directory, label, make)
            else:
                check_adapters(options, directory)
        print(f"PASS {label}")


if __name__ == "__main__":
    main()
