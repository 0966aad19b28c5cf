"""The models of recorded_models.py and two relatives with weights in bf16 and f16, with quantized weights, and with attention's weights as outputs: compiled code
against the evaluator, which runs the same program on the same rounded weights.

Sums are all that differs: the code has no matmuls of bf16 pairs, which would round the other operand. With quantized weights an activation
rounds to another code of 8 bits now and then, as quantized_models.py says. That changes a model's outputs by less than quantization to 8 bits
does, and happens to some rows of them: others agree to 1e-5.
"""

import os
import platform
import types

import recorded_models  # finds the folders of the next ones

import cachetypes
import encoders
import numpy
import passed
import quantized_models
import random_models

STORAGES, QUANTIZED, WEIGHTS = ("BF16", "F16"), ("w8a8", "w8", "w4"), "attention-weights"
# swin merges its windows between the layers, whose weights have no common shape; convnext has no attention.
WITHOUT_WEIGHTS = {"swin", "convnext", "convnextv2"}


def as_camembert(recorded):
    """Camembert's models are xlm-roberta's with other names of classes."""
    return recorded | {"config": recorded["config"] | {"model_type": "camembert", "architectures": ["CamembertForMaskedLM"]}}


def as_convnextv2(recorded):
    """The second convnext normalizes responses instead of scaling layers."""
    tensors = {}
    for name, shape in recorded["tensors"].items():
        name = name.replace("convnext.", "convnextv2.")
        if not name.endswith("layer_scale_parameter"):
            tensors[name] = shape
        if name.endswith("pwconv1.bias"):
            tensors |= {name.replace("pwconv1.bias", f"grn.{part}"): [1, 1, 1, *shape] for part in ("weight", "bias")}
    config = {key: value for key, value in recorded["config"].items() if key != "layer_scale_init_value"}
    return recorded | {"config": config | {"model_type": "convnextv2", "architectures": ["ConvNextV2ForImageClassification"]}, "tensors": tensors}


# Families without a record of their own: nothing of the package is compared here.
RELATIVES = {"camembert": ("xlm-roberta", as_camembert), "convnextv2": ("convnext", as_convnextv2)}


def read(name):
    record, change = RELATIVES.get(name, (name, lambda recorded: recorded))
    return change(recorded_models.read(record))


def family(name):
    return read(name)["config"]["model_type"]


def modes(name):
    return [*STORAGES, *QUANTIZED, *([] if family(name) in WITHOUT_WEIGHTS else [WEIGHTS])]


NAMES = {f"{name}-{mode.lower()}": (name, mode) for name in [*recorded_models.KNOWN, *RELATIVES] for mode in modes(name)}
FEW = ["llama-w8", "bart-attention-weights"]


def evaluated(options, source, directory, mode, flags):
    """The evaluator; its command on the program that compiled code runs, and on the same program without quantization."""
    evaluator = types.SimpleNamespace(raptc=options.raptc, rapt_run=None, rapt_reference=options.evaluator)
    plain = random_models.program(evaluator, source, directory, flags)
    command = list(plain)
    if mode in QUANTIZED:
        command[1] = os.path.join(directory, "quantized.mlir")
        random_models.run([options.rapt_opt, plain[1], f"--pass-pipeline={quantized_models.passes(mode)}", "-o", command[1]])
    return evaluator, command, plain


def maps(recorded, case):
    """The attention weights that a case may be asked for."""
    if recorded["config"].get("is_encoder_decoder"):
        return ["encoder_attentions", "decoder_attentions", "cross_attentions"]
    return ["attentions"] if "text_embeds" not in case["outputs"] else ["text_attentions", "image_attentions"]


def tolerance_of(recorded, mode):
    """A cache has the type of the weights: sums that differ round to other neighbors."""
    outputs = recorded["cases"][0]["outputs"]
    readsImages = {"input_ids", "pixel_values"} <= recorded["cases"][0]["inputs"].keys() and "logits" in outputs
    hasCache = "greedy" in recorded or recorded["config"].get("is_encoder_decoder") or readsImages
    # gemma3 in f16 is 2.7e-4 apart, cachetypes allows 2e-4.
    return {"BF16": cachetypes.TOLERANCE["bf16"], "F16": random_models.TOLERANCE["F16"]}[mode] if mode in STORAGES and hasCache else random_models.TOLERANCE["F32"]


def inputs_of(recorded, mode):
    """The inputs of each case, and their names of outputs; where a quantized model has few cases, images and sounds of other values, too."""
    longest = recorded["config"].get("max_position_embeddings", 1 << 30)
    for case in recorded["cases"]:
        if recorded_models.length(case) > longest:
            continue
        inputs = recorded_models.given(case["inputs"])
        for factor in (1, -1, 0.5) if mode in QUANTIZED and len(recorded["cases"]) < 3 else (1,):
            yield {name: (factor * array).astype(array.dtype) if array.dtype.kind == "f" else array for name, array in inputs.items()}, case


def distance(found, wanted):
    return numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)


def check(name, options, directory):
    name, mode = NAMES[name]
    recorded, source = read(name), os.path.join(directory, "model")
    pairs, rows, tolerance = [], [], tolerance_of(recorded, mode)
    recorded_models.write(recorded, source, mode if mode in STORAGES else "F32")
    flags = ["--attention-weights"] if mode == WEIGHTS else []
    evaluator, reference, plain = evaluated(options, source, directory, mode, flags)
    flags += ["--mcpu=x86-64-v3"] if platform.machine() == "x86_64" else []
    flags += [f"--quantize={mode}"] if mode in QUANTIZED else []
    compiled = random_models.program(options, source, directory, flags)
    for number, (inputs, case) in enumerate(inputs_of(recorded, mode)):
        outputs = [*case["outputs"], *(maps(recorded, case) if mode == WEIGHTS else [])]
        wanted = recorded_models.run_case(evaluator, reference, f"evaluated-{number}", directory, inputs, outputs)
        found = recorded_models.run_case(options, compiled, f"case-{number}", directory, inputs, outputs)
        unquantized = recorded_models.run_case(evaluator, plain, f"plain-{number}", directory, inputs, outputs) if mode in QUANTIZED else wanted
        for output in outputs:
            quantization = distance(wanted[output], unquantized[output])
            tolerance = max(tolerance, quantization if mode == "w8a8" else min(quantization, quantized_models.TOLERANCE))
            pairs.append((f"case-{number}", found, {output: wanted[output]}))
            rows += [distance(*pair) for pair in zip(found[output], wanted[output]) if pair[1].any()]
    errors = [encoders.check_outputs(*pair, tolerance) for pair in pairs]
    assert mode not in QUANTIZED or min(rows) <= random_models.TOLERANCE["F32"], f"every row is wrong, relative L2 {min(rows):.1e} at least"
    os.remove(os.path.join(directory, "imported.mlir"))
    cell = WEIGHTS if mode == WEIGHTS else f"quantize {mode}" if mode in QUANTIZED else mode.lower()
    passed.note("compiled", f"family {recorded['config']['model_type']} {cell}")
    return max(errors)


MODELS = random_models.Models(check, NAMES, FEW, evaluated=(), cells=None)
