#!/usr/bin/env python3
"""Draws configurations of models, compiles them with random weights and compares their outputs with those of the reference evaluator in
float64, which runs the same quantized program.

    generate.py --build build --clang clang-22 --scratch DIR [--seed N] [--count N] [--jobs N]
    generate.py ... --seed N --only INDEX        one of them, which is printed and reduced where it fails
    generate.py ... --target generic             all of them are compiled by this target

Every case follows from the seed and its index: family, sizes, storage of weights and cache, quantization, target, processor. Compiled code gives the
same bits with any number of threads. Decoders then take the same tokens in steps of any lengths, several sequences at a time. Prints what failed
with the command that repeats it, and counts; exit status 1 if a model failed or too many were refused."""

import argparse
import json
import multiprocessing
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "Execute"), str(HERE.parents[1] / "Reference" / "numpy")]

import cachetypes  # noqa: E402
import configs  # noqa: E402
import level  # noqa: E402
import processor  # noqa: E402
from context import Context  # noqa: E402
from outcomes import SECONDS, Outcome, add_case_options, add_level_option, case_indices, failed, in_child, run  # noqa: E402

MOST_REFUSED = 0.2
REFUSALS = (r"cannot be quantized", r"has no matrix that can be quantized", r"there is no cache")
# A code of a quantized activation may be another one, as last bits differ (test/Execute/quantized_models.py).
PAIRS, CODES = 1.5e-2, 3e-2
ROUNDED = {"f32": 0, "bf16": 2e-2, "f16": 2e-3}  # activations, of which one that is rounded to another neighbor moves those behind it
# A relative error is one of this many numbers at least: a model may have a single logit, whose error, which is that of the states it is the sum of,
# has no bound relative to the logit itself, since that may be any number near zero.
ENOUGH = 32


def must(kind, command):
    """The output of the command; an Outcome where it fails."""
    try:
        done = run(command)
    except subprocess.TimeoutExpired:
        return failed(kind, f"{Path(str(command[0])).name} takes more than {SECONDS} s of processor time")
    if done.returncode == 0:
        return done.stdout
    message = (done.stderr.strip() or done.stdout.strip())[-800:]
    if kind == "raptc" and done.returncode == 1 and any(re.search(refusal, message) for refusal in REFUSALS):
        return Outcome("refused", kind, message.splitlines()[0])
    return failed(f"{kind}: {re.sub(r'[0-9]+', 'N', message)[:60]}", f"{Path(str(command[0])).name}: exit status {done.returncode}: {message}")


def cache_types(case):
    """The types of keys and of values, or the one of both."""
    return (case["cache"] or case["dtype"]).split(",") if configs.has_cache(case["config"]) else ["f32"]


def rounds_activations(case):
    """Whether the processor multiplies matrices of bf16, so that their other operands are rounded to it."""
    pairs = configs.PROCESSORS[case["processor"]][1]
    pairs = processor.HAS_BF16_MATMUL if pairs is None else pairs
    return pairs and (case["dtype"] == "bf16" or set(cache_types(case)) == {"bf16"})


def tolerance(case):
    """Relative L2 by DESIGN's table, for rounded weights and keys and values in the cache."""
    allowed = max(cachetypes.TOLERANCE[kind] for kind in cache_types(case))
    if rounds_activations(case):
        allowed = PAIRS
    allowed = max(allowed, ROUNDED[case["activations"]])
    return max(allowed, CODES) if case["quantize"] != "none" else allowed


# ---- inputs ----------------------------------------------------------------------------------------------------------

def padded(random, lengths, vocabulary):
    mask = (np.arange(max(lengths))[None] < np.array(lengths)[:, None]).astype(np.int64)
    return random.integers(0, vocabulary, mask.shape) * mask, mask


def inputs_of(case, number=0):
    """The case's inputs, and more of other lengths: a vocabulary may have two tokens, so that texts of one token are few."""
    config, random = case["config"], np.random.default_rng([case["seed"], number] if number else case["seed"])
    if config["model_type"] == "vit":
        # Attention's weights hold the keys of the configuration's images.
        sides = [side + (0 if case["attention"] else int(random.integers(0, 3))) for side in config["image_size"]]
        return {"pixel_values": random.standard_normal((len(case["lengths"]), config["num_channels"], *sides)).astype(np.float32)}
    most = min(config.get(key, 10000) for key in ("n_positions", "max_position_embeddings", "max_length"))
    lengths = [min(random.integers(1, 17) if number else length, most) for length in case["lengths"]]
    found = dict(zip(("input_ids", "attention_mask"), padded(random, lengths, config["vocab_size"])))
    if config["model_type"] == "bert" and random.random() < 0.7:
        found["token_type_ids"] = random.integers(0, config["type_vocab_size"], found["input_ids"].shape)
    if configs.is_encoder_decoder(config):
        words = config.get("decoder_vocab_size") or config["vocab_size"]
        found.update(zip(("decoder_input_ids", "decoder_attention_mask"), padded(random, case["targets"], words)))
    return found


# ---- both programs ---------------------------------------------------------------------------------------------------

def reference_program(tools, case, model, folder):
    """The text that the evaluator runs: with the storage and the quantization of the compiled one."""
    imported, stored = folder / "imported.mlir", folder / "stored.mlir"
    made = must("raptc", [tools.raptc, model, "--emit=imported", *configs.flags(case), *cache_of(case), "-o", imported])
    if isinstance(made, Outcome):
        return made
    passes = [f"attn-select-storage{{dtype={case['dtype']}}}"]
    if case["quantize"] != "none":
        group = case["group"] if case["quantize"] != "w8a8" else 32
        passes += ["attn-fuse-epilogues", "attn-inline-calls", "symbol-dce",
                   f"attn-quantize-weights{{mode={case['quantize']} group={group} zero-points={str(case['zeros']).lower()}}}"]
    made = must("raptc", [tools.rapt_opt, imported, f"--pass-pipeline=builtin.module({','.join(passes)})", "-o", stored])
    return made if isinstance(made, Outcome) else stored


def cache_of(case):
    """The type of a cache that nobody asked for follows from the weights', which the imported text does not have yet."""
    return [] if case["cache"] or not configs.has_cache(case["config"]) else [f"--cache-dtype={case['dtype']}"]


def outputs_of(text):
    """Names of the outputs of an imported model."""
    names = re.findall(r'attn\.name = "(\w+)"', " ".join(re.findall(r"func\.func @\w+\(.*\) -> \(?(.*)attributes \{attn\.entry", text)))
    return [name for name in dict.fromkeys(names) if name not in ("cache", "state", "conv_state")]


def run_program(command, inputs, outputs, folder, label):
    """{output: array} of a program, or an Outcome."""
    command, at = list(command), lambda name: folder / f"{label}-{name}.npy"
    for name, array in inputs.items():
        np.save(at(name), array)
        command += ["--input", f"{name}={at(name)}"]
    for name in outputs:
        command += ["--output", f"{name}={at('out-' + name)}"]
    printed = must(label, command)
    return printed if isinstance(printed, Outcome) else {name: np.load(at("out-" + name)) for name in outputs}


def run_draws(command, draws, outputs, folder, label):
    """{output: its arrays for each of the inputs}, or an Outcome."""
    found = {name: [] for name in outputs}
    for inputs in draws:
        made = run_program(command, inputs, outputs, folder, label)
        if isinstance(made, Outcome):
            return made
        for name in outputs:
            found[name].append(made[name])
    return found


def draw_enough(case, command, outputs, folder):
    """Inputs for which each output has enough numbers to compare, and these outputs as the reference has them, or an Outcome."""
    draws, right = [], {name: [] for name in outputs}
    while not draws or len(draws) < ENOUGH and any(sum(array.size for array in arrays) < ENOUGH for arrays in right.values()):
        draws.append(inputs_of(case, len(draws)))
        more = run_draws(command, draws[-1:], outputs, folder, "rapt-reference")
        if isinstance(more, Outcome):
            return draws, more
        for name in outputs:
            right[name] += more[name]
    return draws, right


def relative_error(found, right):
    return np.linalg.norm(found - right) / (np.linalg.norm(right.astype(np.float64)) or 1)


def difference(name, found, right, allowed):
    """The fault of an output, or None; `found` and `right` are its arrays, one for each of the inputs, which are judged together."""
    for one, other in zip(found, right, strict=True):
        if one.shape != other.shape:
            return f"{name} is {one.shape}, expected {other.shape}"
    found, right = (np.concatenate([array.ravel() for array in arrays]) for arrays in (found, right))
    if not np.isfinite(right).all():
        return None if not np.isfinite(found).all() else f"{name} is finite, the reference's is not"
    error = relative_error(found, right)
    return None if error <= allowed else f"{name}: relative L2 {error:.1e}, allowed {allowed:.1e}"


def in_steps(context, case, inputs, right):
    """The logits of the tokens of each sequence in steps of any lengths."""
    random, ids, lengths = np.random.default_rng(case["seed"]), inputs["input_ids"], inputs["attention_mask"].sum(1)
    sequences, done = [context.sequence() for _ in lengths], [0] * len(lengths)
    found = np.zeros(right.shape, np.float32)
    while any(done[row] < length for row, length in enumerate(lengths)):
        chunks, rows = [], [row for row, length in enumerate(lengths) if done[row] < length and random.random() < 0.8]
        single = random.random() < 0.6
        for row in rows:
            count = 1 if single else int(random.integers(1, min(40, lengths[row] - done[row]) + 1))
            chunks.append((row, count))
        if not chunks:
            continue
        logits, status = context.step([(sequences[row], ids[row, done[row]:done[row] + count]) for row, count in chunks])
        context.must(status)
        for (row, count), part in zip(chunks, logits):
            found[row, done[row]:done[row] + count] = part
            done[row] += count
    return found


def fault_in_steps(tools, case, library, draws, right, allowed):
    """Steps of any lengths give the logits that all tokens at once give; the fault, or None."""
    found = []
    for inputs, logits in zip(draws, right):
        context = Context(str(tools.runtime), str(library), case["config"]["vocab_size"], cache_tokens=64 * 64)
        found.append(in_steps(context, case, inputs, logits))
        context.close()
    return difference("logits in steps", found, right, allowed)


def plain_errors(tools, case, draws, right, folder):
    """{output: the error of the reference itself in the case's types}: in f32, where a state is nearly 0, or a quantized value next to another, last
    bits decide about a token's logits; with activations in bf16 where the processor rounds them, the few logits of a small vocabulary add up
    errors of one sign. Where the case rounds activations, sums in another order round to other neighbors: their error counts that is left out
    of what is right."""
    program = folder / "stored.mlir"
    if rounds_activations(case) and case["activations"] == "f32":
        program = folder / "rounded.mlir"
        made = must("raptc", [tools.rapt_opt, folder / "stored.mlir", "--attn-select-activations=dtype=bf16", "-o", program])
        if isinstance(made, Outcome):
            return dict.fromkeys(right, 0)
    elif rounds_activations(case) and case["activations"] == "f16" and case["dtype"] == "bf16":
        program = folder / "rounded.mlir"
        program.write_text((folder / "stored.mlir").read_text().replace("xf16>", "xbf16>"))
    command = [tools.reference, program, f"--weights={folder / 'checkpoint'}", "--precision=f32"]
    found = run_draws(command, draws, list(right), folder, "rapt-reference-f32")
    if isinstance(found, Outcome):
        return dict.fromkeys(right, 0)
    flat = lambda arrays: np.concatenate([array.ravel() for array in arrays])
    errors = {name: relative_error(flat(found[name]), flat(right[name])) for name in right}
    if case["activations"] == "f32":
        return errors
    unrounded = folder / "unrounded"
    unrounded.mkdir(exist_ok=True)
    program = reference_program(tools, {**case, "activations": "f32"}, folder / "model", unrounded)
    if isinstance(program, Outcome):
        return errors
    exact = run_draws([tools.reference, program, f"--weights={folder / 'checkpoint'}", "--precision=f64"], draws, list(right), folder, "rapt-reference-unrounded")
    if isinstance(exact, Outcome):
        return errors
    return {name: max(errors[name], relative_error(flat(exact[name]), flat(right[name]))) for name in right}


def most_allowed(allowed, plain):
    """Twice the plain formula's error, where that is more than the table allows. Where already the plain formula is off by more, the model is
    ill-conditioned, and one error says no more than the magnitude of another."""
    return max(allowed, 2 * plain if plain <= allowed else 4 * plain)


def check_compiled(tools, case, library, draws, right, folder, least_errors):
    """`least_errors()` gives the error of each output that cannot be helped; it is asked where more is found than is allowed."""
    allowed, names = tolerance(case), list(right)
    if case["processor"] == "aarch64":
        command = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", tools.run_tensors, library]
    else:
        command = [tools.rapt_run, library]
    first = None
    for threads in ((2,) if case["processor"] == "aarch64" else (1, 3)):
        found = run_draws([*command, "--threads", threads], draws, names, folder, "rapt-run")
        if isinstance(found, Outcome):
            return found
        first = first or found
        for name in names:
            if [array.tobytes() for array in first[name]] != [array.tobytes() for array in found[name]]:
                return failed("threads", f"{name} has other bits with {threads} threads")
            wrong = difference(name, found[name], right[name], allowed)
            if wrong:
                wrong = difference(name, found[name], right[name], most_allowed(allowed, least_errors()[name]))
            if wrong:
                return failed("numbers", wrong)
    if configs.is_decoder(case["config"]) and case["processor"] != "aarch64":
        steps = lambda most: in_child(lambda: fault_in_steps(tools, case, library, draws, right["logits"], most))
        wrong = steps(allowed)
        if isinstance(wrong, str):
            wrong = steps(most_allowed(allowed, least_errors()["logits"]))
        if wrong:
            return wrong if isinstance(wrong, Outcome) else failed("steps", wrong)
    return Outcome("passed")


def check(tools, case, folder):
    model, checkpoint = folder / "model", folder / "checkpoint"
    shutil.rmtree(folder, ignore_errors=True)
    for directory in (model, checkpoint):
        directory.mkdir(parents=True)
        (directory / "config.json").write_text(json.dumps(case["config"]))
    library = folder / "model.so"
    # The evaluator reads the checkpoint: in one of 16 bits norms and biases are rounded too.
    made = must("raptc", [tools.raptc, model, "-j1", "-o", library, *configs.compile_flags(case), f"--codegen={case['codegen']}", f"--save-weights={checkpoint}/model.safetensors"])
    if isinstance(made, Outcome):
        return made
    program = reference_program(tools, case, model, folder)
    if isinstance(program, Outcome):
        return program
    command = [tools.reference, program, f"--weights={checkpoint}"]
    draws, right = draw_enough(case, [*command, "--precision=f64"], outputs_of((folder / "imported.mlir").read_text()), folder)
    if isinstance(right, Outcome):
        return right
    return check_compiled(tools, case, library, draws, right, folder, lambda: plain_errors(tools, case, draws, right, folder))


# ---- the command -----------------------------------------------------------------------------------------------------

def is_foreign(case):
    """Whether this processor cannot run what the case is compiled for."""
    return case["processor"] == "x86-64-v4" and not processor.HAS_WIDE_VECTORS


def draw(tools, index):
    """The case of this index. One for AVX-512 is compiled for AVX2, too, where the processor has no more, so that its library runs."""
    case = configs.draw(tools.seed, index, tools.target)
    return {**case, "processor": "both" if is_foreign(case) else case["processor"], "codegen": tools.codegen or level.level_of(f"model {index}", tools.seed)}


def check_index(job):
    tools, index = job
    folder = Path(tools.scratch) / f"model{index}"
    outcome = check(tools, draw(tools, index), folder)
    if not tools.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return index, outcome


def reduce(tools, index, case, outcome):
    """A smaller case that fails in the same way, and how."""
    end, tried, found = time.monotonic() + tools.reduce_seconds, set(), True
    while found and time.monotonic() < end:
        found = False
        for candidate in configs.smaller(case):
            key = json.dumps(candidate)
            if time.monotonic() > end or key in tried:
                continue
            tried.add(key)
            result = check(tools, candidate, Path(tools.scratch) / f"reduce{index}")
            if result.status == "failed" and result.kind == outcome.kind:
                case, outcome, found = candidate, result, True
                break
    return case, outcome


def build_run_tensors(tools):
    """rapt-run's part for the AArch64 processor that is emulated."""
    made, library = Path(tools.scratch) / "run_tensors", Path(tools.build) / "aarch64" / "lib"
    source = HERE.parents[2]
    done = run([tools.clang, "--target=aarch64-linux-gnu", "-fuse-ld=lld", "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-O1", "-I", source / "lib/Runtime/include",
                source / "test/Execute/Inputs/run_tensors.c", "-o", made, "-L", library, f"-Wl,-rpath,{library}", "-lrapt_runtime", "-lm", "-lpthread"])
    if done.returncode:
        sys.exit(done.stderr)
    return made


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--build", "--clang", "--scratch"):
        parser.add_argument(name, required=True)
    parser.add_argument("--target", help="instead of the one that a case draws")
    parser.add_argument("--keep", action="store_true", help="keep the models and outputs in the scratch folder")
    add_case_options(parser, count=30, reduced=3, seconds=60)
    add_level_option(parser)
    parser.add_argument("--reference", help="instead of the build's")
    tools = parser.parse_args()
    programs = Path(tools.build).resolve() / "bin"
    tools.raptc, tools.reference = programs / "raptc", tools.reference or programs / "rapt-reference"
    tools.rapt_opt, tools.rapt_run, tools.runtime = programs / "rapt-opt", programs / "rapt-run", programs.parent / "lib" / "librapt_runtime.so"
    Path(tools.scratch).mkdir(parents=True, exist_ok=True)
    tools.scratch = str(Path(tools.scratch).resolve())
    tools.run_tensors = build_run_tensors(tools)
    return tools


def main():
    tools, begin, counts, refusals, failures = parse(), time.monotonic(), Counter(), Counter(), []
    indices = case_indices(tools)
    with multiprocessing.Pool(tools.jobs) as pool:
        for index, outcome in pool.imap(check_index, [(tools, index) for index in indices]):
            counts[outcome.status] += 1
            if outcome.status == "refused":
                refusals[outcome.why[-120:]] += 1
            if outcome.status == "failed":
                failures.append((index, outcome))
                case = draw(tools, index)
                again = f"--seed {tools.seed} --only {index} --codegen {case['codegen']}" + (f" --target {tools.target}" if tools.target else "")
                print(f"FAIL {index}: {outcome.why.strip()}\n  again: {Path(__file__).name} {again}\n  {json.dumps(case)}", flush=True)
    for index, outcome in failures[:tools.reduce]:
        case, outcome = reduce(tools, index, draw(tools, index), outcome)
        print(f"  {index} reduced: {outcome.why.strip()}\n  raptc {' '.join(configs.compile_flags(case))} --codegen={case['codegen']}\n  {json.dumps(case)}", flush=True)
    foreign = sum(is_foreign(configs.draw(tools.seed, index, tools.target)) for index in indices)
    if foreign:
        print(f"skipped: the code for AVX-512 of {foreign} models, which this processor cannot run; their code for AVX2 ran")
    for message, number in refusals.most_common():
        print(f"refused {number}: {message}")
    print(f"generated: models of all families: {len(indices)}, seed {tools.seed}: {counts['passed']} right, {counts['refused']} refused, "
          f"{counts['failed']} wrong, {time.monotonic() - begin:.0f} s; {level.summary(draw(tools, index)['codegen'] for index in indices)}")
    if len(indices) > 20 and counts["refused"] > MOST_REFUSED * len(indices):
        sys.exit(f"more than {MOST_REFUSED:.0%} of the models were refused")
    sys.exit(counts["failed"] > 0)


if __name__ == "__main__":
    main()
