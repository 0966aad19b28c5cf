#!/usr/bin/env python3
"""The models of recorded_models.py with weights in bf16 and f16: compiled code against the evaluator, which has the rounded weights, too.

    recorded_types.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --evaluator build/bin/rapt-reference [--only NAME ...]

Sums are all that differs: the code has no matmuls of bf16 pairs, which would round the other operand.
"""

import argparse
import os
import platform
import types

import recorded_models  # finds the folders of the next ones

import cachetypes
import encoders
import random_models

NAMES = {f"{name}-{storage.lower()}": (name, storage) for name in recorded_models.KNOWN for storage in ("BF16", "F16")}


def check(name, options, directory):
    recorded, source = recorded_models.read(NAMES[name][0]), os.path.join(directory, "model")
    storage, worst = NAMES[name][1], 0.0
    recorded_models.write(recorded, source, storage)
    evaluator = types.SimpleNamespace(raptc=options.raptc, rapt_run=None, rapt_reference=options.evaluator)
    evaluated = random_models.program(evaluator, source, directory)
    compiled = random_models.program(options, source, directory, ["--mcpu=x86-64-v3"] if platform.machine() == "x86_64" else [])
    # A cache has the type of the weights: sums that differ round to other neighbors.
    readsImages = {"input_ids", "pixel_values"} <= recorded["cases"][0]["inputs"].keys() and "logits" in recorded["cases"][0]["outputs"]
    hasCache = "greedy" in recorded or recorded["config"].get("is_encoder_decoder") or readsImages
    tolerance = cachetypes.TOLERANCE[storage.lower()] if hasCache else random_models.TOLERANCE["F32"]
    longest = recorded["config"].get("max_position_embeddings", 1 << 30)
    for number, case in enumerate(recorded["cases"]):
        if recorded_models.length(case) <= longest:
            inputs = recorded_models.given(case["inputs"])
            wanted = recorded_models.run_case(evaluator, evaluated, f"evaluated-{number}", directory, inputs, case["outputs"])
            found = recorded_models.run_case(options, compiled, f"case-{number}", directory, inputs, case["outputs"])
            error = encoders.check_outputs(f"case-{number}", found, wanted, tolerance)
            worst = max(worst, error)
    os.remove(os.path.join(directory, "imported.mlir"))
    return worst


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluator", required=True)
    random_models.main(parser, NAMES, list(NAMES), check)
