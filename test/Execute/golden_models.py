#!/usr/bin/env python3
"""Compiles models of real size with seeded weights and compares them with the golden files of test/Reference/golden, which an
independent implementation computed in float64.

    golden_models.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --runtime build/lib/librapt_runtime.so [NAME ...]

The names are those of test/Reference/numpy/golden_cases.py; without any, all are compared. Encoders run through rapt-run;
decoders through the C interface: prompts of all rows at once, then one token of each row a step. The bound is relative L2
1e-5. Each library is deleted once no later name needs it; the largest takes 4.4 GB of disk and as much memory. Prints "N
passed, N failed"; exit status 1 if any failed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import compare  # noqa: E402
import golden_cases  # noqa: E402
from context import Context  # noqa: E402
from golden_cases import CASES, SEED, STEPS, TOLERANCE  # noqa: E402


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, f"exit status {done.returncode} of {' '.join(command)}\n{done.stderr}"


def through_rapt_run(options, library, inputs):
    """The logits of a batch of padded inputs."""
    at = lambda part: os.path.join(os.path.dirname(library), part + ".npy")
    command = [options.rapt_run, library, "--output", f"logits={at('logits')}"]
    for name, array in inputs.items():
        numpy.save(at(name), array)
        command += ["--input", f"{name}={at(name)}"]
    run(*command)
    return numpy.load(at("logits"))


def texts(options, library, rows):
    """All texts are one batch; what is behind a text's end must be 0."""
    lengths = [len(row["input_ids"]) for row in rows]
    padded = lambda name: numpy.array([numpy.pad(row[name], (0, max(lengths) - len(row[name]))) for row in rows])
    mask = (numpy.arange(max(lengths))[None, :] < numpy.array(lengths)[:, None]).astype(numpy.int64)
    inputs = {"input_ids": padded("input_ids"), "token_type_ids": padded("token_type_ids"), "attention_mask": mask}
    logits = through_rapt_run(options, library, inputs)
    assert not logits[mask == 0].any(), "logits behind a row's end are not 0"
    return {"logits": logits[mask == 1]}


def images(options, library, rows):
    each = [through_rapt_run(options, library, {"pixel_values": row["pixel_values"][None]}) for row in rows]
    return {"logits": numpy.concatenate(each)}


def decoded(options, library, case, config, rows):
    target = "decoder_input_ids" if "sources" in case else "input_ids"
    tokens = 128 * sum(2 + sum(map(len, row.values())) // 64 for row in rows)
    context, result = Context(options.runtime, library, config["vocab_size"], threads=2, cache_tokens=tokens), {}
    sequences = [context.sequence() for _ in rows]
    if "sources" in case:
        hidden = [numpy.empty((len(row["input_ids"]), config["d_model"]), numpy.float32) for row in rows]
        context.must(context.encode([(s, row["input_ids"]) for s, row in zip(sequences, rows)], hidden))
        result["encoder_last_hidden_state"] = numpy.concatenate(hidden)
    made = [[] for _ in rows]
    for step in range(STEPS + 1):
        begin = [prompt + step - 1 if step else 0 for prompt in case["prompts"]]
        end = [prompt + step for prompt in case["prompts"]]
        logits, status = context.step([(s, row[target][b:e]) for s, row, b, e in zip(sequences, rows, begin, end)])
        context.must(status)
        for one, all_made in zip(logits, made):
            all_made.append(one)
    context.close()
    result["logits"] = numpy.concatenate([piece for one in made for piece in one])
    return result


def check(options, name, library):
    """AssertionError with what is wrong, or the largest relative L2."""
    case = CASES[name]
    config = golden_cases.read_config(case)
    with open(golden_cases.golden_path(name), encoding="utf-8") as file:
        golden = json.load(file)
    assert {key: golden[key] for key in case} == case and golden["seed"] == SEED, "the golden file is of another case"
    if not os.path.exists(library):
        with open(os.path.join(os.path.dirname(library), "config.json"), "w", encoding="utf-8") as file:
            json.dump({**config, "torch_dtype": case.get("dtype", "float32")}, file)
        run(options.raptc, os.path.dirname(library), f"--random-weights={SEED}", "-o", library)
    rows = golden_cases.rows(case, config)
    if "lengths" in case:
        found = texts(options, library, rows)
    elif "images" in case:
        found = images(options, library, rows)
    else:
        found = decoded(options, library, case, config, rows)
    worst, wrong = 0.0, []
    assert found.keys() == golden["outputs"].keys(), f"outputs {list(found)}, expected {list(golden['outputs'])}"
    for output, expected in golden["outputs"].items():
        lines, error = compare.differences(expected, found[output], TOLERANCE)
        worst, wrong = max(worst, error), wrong + [f"{output}: {line}" for line in lines]
    assert not wrong, "\n".join(wrong[:20])
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    names, failed = options.names or list(CASES), 0
    key = lambda name: CASES[name]["model"] + CASES[name].get("dtype", "")
    with tempfile.TemporaryDirectory(prefix="rapt-golden-") as work:
        for number, name in enumerate(names):
            begin, folder = time.monotonic(), os.path.join(work, key(name))
            os.makedirs(folder, exist_ok=True)
            try:
                print(f"PASS {name}: relative L2 {check(options, name, os.path.join(folder, 'm.so')):.1e}, {time.monotonic() - begin:.1f} s", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
            if key(name) not in map(key, names[number + 1 :]):
                shutil.rmtree(folder)
    print(f"{len(names) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
