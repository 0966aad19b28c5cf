#!/usr/bin/env python3
"""Makes golden files of seeded models in float64, by hand: README.md in test/Reference/golden tells time and memory.

    golden.py [NAME ...]        all of golden_cases.py

The outputs of decoders in steps through a cache and at once must agree to 1e-12. A file holds for each
output, a matrix of all rows' positions one after another, 512 columns of about 8 positions, the norm of every position,
and of logits argmax, the argmax's lead over the second and the log-sum-exp.
"""

import argparse
import json
import time

import numpy

import bert
import golden_cases
import gpt2
import llama
import randomweights
import tensorfiles
import t5
import vit
from golden_cases import CASES, COLUMNS, SEED, STEPS


def agree(steps, whole):
    drift = numpy.linalg.norm(whole - steps) / numpy.linalg.norm(steps)
    assert drift < 1e-12, f"steps differ from the whole by {drift:.1e}"


def decoded(model, rows, prompts):
    logits = []
    for row, prompt in zip(rows, prompts):
        ids, cache = row["input_ids"], model.emptyCache()
        pieces = [ids[:prompt], *(ids[i : i + 1] for i in range(prompt, len(ids)))]
        logits.append(numpy.concatenate([model.logits(piece, cache) for piece in pieces]))
        agree(logits[-1], model.logits(ids))
    return {"logits": logits}


def translated(model, rows, prompts):
    hidden, logits = [], []
    for row, prompt in zip(rows, prompts):
        ids, cache = row["decoder_input_ids"], []
        hidden.append(model.encode(row["input_ids"]))
        pieces = [ids[:prompt], *(ids[i : i + 1] for i in range(prompt, len(ids)))]
        logits.append(numpy.concatenate([model.decode(piece, hidden[-1], cache) for piece in pieces]))
        agree(logits[-1], model.decode(ids, hidden[-1]))
    return {"encoder_last_hidden_state": hidden, "logits": logits}


def outputs(case, config, rows):
    """{name: [matrix of each row]}"""
    family = config["model_type"]
    tensors = {"gpt2": randomweights, "bert": bert, "vit": vit, "t5": t5, "llama": llama}[family].tensors(config, SEED)
    if case.get("dtype") == "bfloat16":
        for name in tensors:
            tensors[name] = tensorfiles.bf16Values(tensorfiles.bf16Bits(tensors[name]))
    if family == "bert":
        return {"logits": [bert.Model(config, tensors).forward(row["input_ids"], row["token_type_ids"])["logits"] for row in rows]}
    if family == "vit":
        return {"logits": [vit.Model(config, tensors).forward(row["pixel_values"])["logits"][None] for row in rows]}
    if family == "t5":
        return translated(t5.Model(config, tensors), rows, case["prompts"])
    return decoded((gpt2 if family == "gpt2" else llama).Model(config, tensors), rows, case["prompts"])


def digits(values):
    return [float(f"{value:.10g}") for value in values]


def sampled(name, case, matrices):
    lengths, matrix = [len(one) for one in matrices], numpy.concatenate(matrices)
    prompts = case["prompts"] if name == "logits" and "prompts" in case else lengths
    positions = golden_cases.places(8, lengths, prompts)
    columns = numpy.unique(numpy.linspace(0, matrix.shape[1] - 1, min(COLUMNS, matrix.shape[1])).round().astype(int))
    result = {"shape": list(matrix.shape), "positions": positions, "columns": columns.tolist(),
              "values": [digits(matrix[p, columns]) for p in positions], "norm": digits(numpy.linalg.norm(matrix, axis=-1))}
    if name == "logits":
        best, top = numpy.sort(numpy.partition(matrix, -2, axis=-1)[:, -2:], axis=-1), matrix.max(-1)
        result["argmax"], result["lead"] = matrix.argmax(-1).tolist(), digits(best[:, 1] - best[:, 0])
        result["logsumexp"] = digits(top + numpy.log(numpy.exp(matrix - top[:, None]).sum(-1)))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    for name in options.names or CASES:
        case, begin = CASES[name], time.monotonic()
        config = golden_cases.read_config(case)
        rows = golden_cases.rows(case, config)
        document = {"seed": SEED, "steps": STEPS, **case,
                    "outputs": {output: sampled(output, case, matrices) for output, matrices in outputs(case, config, rows).items()}}
        with open(golden_cases.golden_path(name), "w", encoding="utf-8") as file:
            json.dump(document, file, separators=(",", ":"))
            file.write("\n")
        print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
