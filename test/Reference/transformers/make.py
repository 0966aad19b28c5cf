#!/usr/bin/env python3
"""Records what the transformers package computes for one tiny model of each family, for machines that do not have the package.

    make.py FOLDER [NAME ...]      writes FOLDER/NAME.json; needs PyTorch and transformers; exit status 1 if a model failed

A record is a model's config.json, the names and shapes of the tensors in its file, and inputs with outputs in float64, rounded to float32.
weights.py makes the values of the tensors.
"""

import base64
import json
import os
import sys
import tempfile
import traceback

import numpy
import torch
import transformers
from safetensors import safe_open
from safetensors.numpy import save_file

import families
import weights


def encoded(array):
    array = numpy.asarray(array)
    return {"shape": list(array.shape), "f32": base64.b64encode(array.astype("<f4").tobytes()).decode()}


def file_of(model, directory):
    """{name: shape} of the floating-point tensors of the file that the package writes."""
    model.save_pretrained(directory)
    shapes = {}
    with safe_open(os.path.join(directory, "model.safetensors"), "pt") as file:
        for name in file.keys():
            tensor = file.get_tensor(name)
            if tensor.is_floating_point():
                shapes[name] = list(tensor.shape)
    return shapes


def given(case):
    """Inputs as tensors: lists of ids as they are, shapes of pictures and sounds filled by weights.py."""
    inputs = {}
    for key, value in case.items():
        if isinstance(value, dict):
            inputs[key] = torch.tensor(weights.signal(key, value["shape"]), dtype=torch.float64)
        else:
            inputs[key] = torch.tensor(value)
    return inputs


def outputs_of(model, case, names):
    with torch.no_grad():
        result = model(**given(case))
    found = {}
    for name in names:
        value = result[name]
        found[name] = encoded(value.numpy())
        assert numpy.isfinite(value.numpy()).all(), f"{name} has NaN or infinity"
    return found


SEARCHES = (
    {"num_beams": 3}, {"num_beams": 4, "num_return_sequences": 4, "length_penalty": 0.0, "early_stopping": True},
    {"num_beams": 3, "num_return_sequences": 2, "length_penalty": 2.0, "early_stopping": "never"},
    {"num_beams": 2, "length_penalty": -1.0}, {"num_beams": 1, "repetition_penalty": 1.5},
)


def searched(model, inputs):
    """Results of generate() for each of SEARCHES. Texts end with a token that the greedy one has, so that some hypotheses end early."""
    options = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    prompt = given(inputs)
    first = 1 if model.config.is_encoder_decoder else prompt["input_ids"].shape[1]
    with torch.no_grad():
        end = model.generate(**prompt, **options, min_new_tokens=12, eos_token_id=None)[0, first + 3].item()
        found = []
        for search in SEARCHES:
            ids = model.generate(**prompt, **options, **search, eos_token_id=end)[:, first:].tolist()
            found.append({"options": search, "ids": [row[: row.index(end) + 1] if end in row else row for row in ids]})
    return {"inputs": inputs, "end": end, "results": found}


def rules_of(end, first, length):
    """Members of generation_config.json that forbid tokens. `first`: a likely token; `length`: of the decoder's prompt."""
    return (
        {"no_repeat_ngram_size": 2}, {"num_beams": 3, "no_repeat_ngram_size": 2}, {"no_repeat_ngram_size": 1}, {"min_new_tokens": 8},
        {"num_beams": 4, "num_return_sequences": 4, "min_length": length + 5, "length_penalty": 0.0}, {"forced_bos_token_id": 7},
        {"num_beams": 3, "forced_bos_token_id": 7, "forced_eos_token_id": end}, {"suppress_tokens": [first]},
        {"num_beams": 3, "suppress_tokens": [first, 5], "begin_suppress_tokens": [end]}, {"begin_suppress_tokens": [first]},
        {"begin_suppress_tokens": [first, 9], "forced_bos_token_id": 7},
        {"num_beams": 3, "num_return_sequences": 3, "bad_words_ids": [[first], [11]], "renormalize_logits": True},
        {"num_beams": 2, "num_return_sequences": 2, "forced_eos_token_id": end, "renormalize_logits": True, "no_repeat_ngram_size": 2,
         "repetition_penalty": 1.2, "min_new_tokens": 3},
        {"forced_eos_token_id": end, "min_length": length + 30, "no_repeat_ngram_size": 3},
    )


def ruled(model, inputs, end):
    """Results of generate() for each of rules_of."""
    options = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    prompt = given(inputs)
    length = 1 if model.config.is_encoder_decoder else prompt["input_ids"].shape[1]
    found = []
    with torch.no_grad():
        likely = model.generate(**prompt, **options, min_new_tokens=12, eos_token_id=None)[0, length].item()
        for rules in rules_of(end, likely, length):
            ids = model.generate(**prompt, **options, **rules, eos_token_id=end)[:, length:].tolist()
            found.append({"options": rules, "ids": [row[: row.index(end) + 1] if end in row else row for row in ids]})
    return found


def record(name, spec):
    config = spec["config"]()
    kind = getattr(transformers, spec["model"])
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as directory:
        shapes = {**file_of(kind(config), directory), **spec.get("extra", {})}
        save_file({key: weights.tensor(key, shape) for key, shape in shapes.items()}, os.path.join(directory, "model.safetensors"),
                  metadata={"format": "pt"})
        experts = {"experts_implementation": "eager"} if any("experts" in key or "moe" in key for key in shapes) else {}  # the fast ones know no float64
        model, report = kind.from_pretrained(directory, dtype=torch.float64, attn_implementation="eager", output_loading_info=True, **experts)
        model.eval()
        bad = [key for key in report["missing_keys"] if key in shapes] + list(report["unexpected_keys"])
        assert not bad, f"not loaded: {bad}"
        with open(os.path.join(directory, "config.json")) as file:
            saved = json.load(file)
        found = {"name": name, "model": spec["model"], "transformers": transformers.__version__, "torch": torch.__version__,
                "config": saved, "tensors": shapes, "missing": sorted(report["missing_keys"]), "cases": []}
        for case in spec["cases"]:
            found["cases"].append({"inputs": case, "outputs": outputs_of(model, case, spec["outputs"])})
        if spec.get("greedy"):
            prompt = given(spec["greedy"])
            with torch.no_grad():
                ids = model.generate(**prompt, max_new_tokens=20, min_new_tokens=20, do_sample=False, num_beams=1, eos_token_id=None,
                                     pad_token_id=0)
            found["greedy"] = {"inputs": spec["greedy"], "ids": ids.tolist()}
        if spec.get("searches"):
            found["searches"] = searched(model, spec["greedy"])
            found["searches"]["rules"] = ruled(model, spec["greedy"], found["searches"]["end"])
        return found


def main():
    torch.set_num_threads(4)
    folder, only, failed = sys.argv[1], set(sys.argv[2:]), []
    for name, spec in families.FAMILIES.items():
        if only and name not in only:
            continue
        try:
            found = record(name, spec)
        except Exception as error:  # each failure is reported, the others go on
            last = traceback.extract_tb(error.__traceback__)[-1]
            failed.append(name)
            print(f"{name}: FAILED {type(error).__name__}: {error} ({os.path.basename(last.filename)}:{last.lineno})", flush=True)
            continue
        with open(os.path.join(folder, name + ".json"), "w") as file:
            file.write(json.dumps(found) + "\n")
        print(f"{name}: {len(found['tensors'])} tensors", flush=True)
    print(f"{len(failed)} failed: {' '.join(failed)}")
    sys.exit(len(failed) > 0)


if __name__ == "__main__":
    main()
