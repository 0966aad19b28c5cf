#!/usr/bin/env python3
"""Decoders some or all of whose layers have a window, whose caches keep the window alone, against numpy in float64 on whole texts.

    sliding_windows.py --raptc raptc --runtime librapt_runtime.so --scratch DIR [--only NAME ...]

Windows are shorter than a block of 64 positions, a block, and longer and prime. A prompt longer than the window goes in one step of many parts;
single tokens follow, beyond the size of the cache where every layer has a window. Forks of several lengths, saved states, truncation where the keys
are still there and its refusal where they are not. Builds with assertions fill blocks that no sequence holds with NaN. Prints "N passed, N failed".
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy

from context import Context

sys.path.insert(0, str(Path(__file__).parent / ".." / "Reference" / "numpy"))

import cachetypes  # noqa: E402
import processor  # noqa: E402
from decoder_families import FAMILIES  # noqa: E402
from decoders import common  # noqa: E402

BLOCK, POSITIONS, PART, SLACK = 64, 1200, 48, 7
full = os.environ.get("RAPT_FULL") == "1"  # else texts are shorter

# name: family, changes of its configuration, type of the cache, raptc's flags
CASES = {
    "some-13": ("gemma3_text", {"sliding_window": 13}, "f32", []),  # segments of six layers and of one
    "some-64": ("gemma2", {"sliding_window": 64}, "bf16", []),
    "some-101": ("smollm3", {"sliding_window": 101}, "f32", []),
    "some-int8": ("qwen3", {"sliding_window": 67}, "int8", []),
    "all-5": ("starcoder2", {"sliding_window": 5}, "f32", []),
    "all-64": ("phi3", {"sliding_window": 64}, "f16", []),
    "all-131": ("phi3", {"sliding_window": 131}, "f32", []),
    "generic": ("gemma3_text", {"sliding_window": 13, "num_hidden_layers": 2, "sliding_window_pattern": 2}, "f32", ["--target=generic"]),
    "generic-all": ("starcoder2", {"sliding_window": 67}, "f32", ["--target=generic"]),
    "cuda": ("gemma3_text", {"sliding_window": 13, "num_hidden_layers": 2, "sliding_window_pattern": 2}, "f32", ["--target=cuda"]),
    "cuda-all": ("phi3", {"sliding_window": 29, "num_hidden_layers": 1}, "bf16", ["--target=cuda", "--dtype=bf16", "--activations=bf16"]),
}

WEIGHTS = "weights"  # attention probabilities of a text of several parts: keys of blocks that were given back are masked
CASES[WEIGHTS] = None
checked = failed = 0


def check(what, right):
    global checked, failed
    checked, failed = checked + 1, failed + (not right)
    if not right:
        print(f"FAIL {what}", flush=True)


class Case:
    def __init__(self, name):
        self.name = name
        family, changes, self.cache, flags = CASES[name]
        facts, directory = FAMILIES[family], Path(args.scratch) / name / "model"
        self.isOnGpu = "--target=cuda" in flags
        storage = "BF16" if "--dtype=bf16" in flags else "F32"
        facts.SMALL = {**facts.SMALL, **changes, "max_position_embeddings": POSITIONS}
        config = common.make(facts, str(directory), "plain", 3, storage)
        self.window, self.vocabulary = config["sliding_window"], config["vocab_size"]
        self.numpy = common.load(facts, str(directory))
        self.numpy.stored = cachetypes.ROUNDING[self.cache]
        self.library = directory.parent / "model.so"
        command = [args.raptc, str(directory), f"--cache-dtype={self.cache}", *flags, "-o", str(self.library)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        # Activations in bf16 may be twice as far from float64 as weights in bf16.
        self.tolerance = max(cachetypes.TOLERANCE[self.cache], 2e-2 if storage == "BF16" else 0)
        if processor.HAS_BF16_MATMUL and self.cache == "bf16":
            self.tolerance = max(self.tolerance, 1e-2)

    def near(self, what, found, text, begin):
        """Logits of text[begin:] against numpy's on the whole text."""
        expected = self.numpy.logits(text)[begin:]
        error = numpy.linalg.norm(found - expected) / numpy.linalg.norm(expected)
        check(f"{self.name}: {what}: relative L2 {error:.1e}, allowed {self.tolerance:.0e}", error <= self.tolerance)

    def append(self, context, sequence, tokens):
        logits, status = context.step([(sequence, tokens)])
        context.must(status)
        return logits[0]

    def run(self):
        random = numpy.random.default_rng(7)
        length = (150 if full else 110) if self.isOnGpu else POSITIONS - 50 if full else 400
        text = random.integers(0, self.vocabulary, length).astype(numpy.int32)
        prompt = length // 2 + 11
        context = self.check_memory()
        total, sequence = context.available(), context.sequence()
        # A prompt in one step; then single tokens.
        found = [self.append(context, sequence, text[:prompt])]
        found += [self.append(context, sequence, text[at:at + 1]) for at in range(prompt, length)]
        self.near("a prompt and single tokens", numpy.concatenate(found), text, 0)
        self.check_forks(context, text, random)
        self.check_truncation(context, sequence, text, random)
        context.free(sequence)
        check(f"{self.name}: {context.available()} of {total} tokens come back", context.available() == total)
        context.close()

    def check_memory(self):
        """A context whose cache is as small as the text allows."""
        manifest = json.loads(subprocess.run([os.path.join(os.path.dirname(args.raptc), "rapt-run"), str(self.library), "--info", "--json"],
                                             capture_output=True, text=True, check=True).stdout)
        isMixed, cache = "window_cache" in manifest, manifest["cache"]
        windowed = manifest["window_cache"] if isMixed else cache
        check(f"{self.name}: window {windowed}", windowed["window"] == self.window and isMixed == ("window" not in cache))
        # Three sequences of a window, a part and a block that both begin in; a fourth may copy its last one.
        blocks = -(-(self.window - 1 + SLACK + PART) // BLOCK) + 1
        options = {"cache_tokens": 4 * POSITIONS if isMixed else 4 * blocks * BLOCK, "max_step_tokens": PART, "window_slack": SLACK}
        context = Context(args.runtime, str(self.library), self.vocabulary, **options)
        expected = blocks * windowed["block_bytes"] + (options["cache_tokens"] // BLOCK * cache["block_bytes"] if isMixed else 0)
        found = context.memory(**options).cache
        check(f"{self.name}: {found} bytes of cache, expected {expected}", found == expected)
        return context

    def check_forks(self, context, text, random):
        """Forks at several lengths, and a saved state, go on with other texts."""
        length, rest = len(text), random.integers(0, self.vocabulary, 30).astype(numpy.int32)
        original = context.sequence()
        self.append(context, original, text[:length // 3])
        first = context.fork(original)
        self.append(context, original, text[length // 3:length // 2])
        state = context.save(original)
        context.free(original)
        second = context.load(state)
        logits, status = context.step([(first, rest), (second, rest)])
        context.must(status)
        for fork, found, at in ((first, logits[0], length // 3), (second, logits[1], length // 2)):
            self.near(f"a sequence that goes on at {at}", found, numpy.concatenate((text[:at], rest)), at)
            context.free(fork)

    def check_truncation(self, context, sequence, text, random):
        """The last step and the slack can be taken back, keys that are gone cannot; nothing but 0 is possible before them."""
        length = len(text)
        rest = random.integers(0, self.vocabulary, 20).astype(numpy.int32)
        self.append(context, sequence, rest)
        context.must(context.truncate(sequence, length))
        context.must(context.truncate(sequence, length - SLACK))
        other = numpy.concatenate((text[:length - SLACK], rest))
        self.near("after a truncation", self.append(context, sequence, rest), other, length - SLACK)
        if self.window + BLOCK + SLACK < length:
            context.refused(context.truncate(sequence, self.window // 2), "UNSUPPORTED", f"layers with a window of {self.window} keep those from ")
        context.must(context.truncate(sequence, 0))
        self.near("after a truncation to 0", self.append(context, sequence, text[:90]), text[:90], 0)


def check_weights():
    """The probabilities, by the CPU and the generic target, are those of the evaluator."""
    directory, length = Path(args.scratch) / WEIGHTS / "model", 650
    facts = FAMILIES["starcoder2"]
    facts.SMALL = {**facts.SMALL, "sliding_window": 37, "max_position_embeddings": 660, "num_hidden_layers": 1}
    config = common.make(facts, str(directory), "plain", 3)
    at = lambda part: str(directory.parent / part)
    numpy.save(at("ids.npy"), numpy.random.default_rng(7).integers(0, config["vocab_size"], (1, length)))
    tools, flags = os.path.dirname(args.raptc), ["--attention-weights=all/0"]
    run = lambda *command: subprocess.run(command, check=True, capture_output=True)
    arguments = ["--input", f"input_ids={at('ids.npy')}", "--output"]
    run(args.raptc, str(directory), *flags, "--emit=imported", "-o", at("text.mlir"))
    run(os.path.join(tools, "rapt-reference"), at("text.mlir"), f"--weights={directory}", *arguments, f"attentions={at('expected.npy')}")
    expected = numpy.load(at("expected.npy"))
    for target in ("cpu", "generic"):
        run(args.raptc, str(directory), *flags, f"--target={target}", "-o", at("model.so"))
        run(os.path.join(tools, "rapt-run"), at("model.so"), *arguments, f"attentions={at('found.npy')}", "--output", f"logits={at('logits.npy')}")
        error = numpy.abs(numpy.load(at("found.npy")) - expected).max()
        check(f"{WEIGHTS}: {target}: error {error:.1e}", error <= 1e-5)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--raptc", "--runtime", "--scratch"):
        parser.add_argument(option, required=True)
    parser.add_argument("--only", nargs="*", choices=CASES)
    return parser.parse_args()


if __name__ == "__main__":
    args = arguments()
    for name in args.only or [name for name in CASES if not name.startswith("cuda")]:
        check_weights() if name == WEIGHTS else Case(name).run()
    print(f"{checked - failed} passed, {failed} failed")
    raise SystemExit(failed > 0)
