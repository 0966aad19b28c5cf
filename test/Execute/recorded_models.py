"""Compiles the models of test/Reference/transformers whose family Rapt knows, and compares with what the transformers package gave.

Relative L2 of every output against the package's float64 must be at most 1e-5; compiled code must give the same bits with 1, 2
and 7 threads, and the package's greedy tokens. A record that is wrong is named with the reason.
"""

import base64
import json
import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDED = os.path.join(HERE, "..", "Reference", "transformers")
sys.path[:0] = [os.path.join(HERE, "..", "Reference", "numpy"), RECORDED]

import encoders  # noqa: E402
import passed  # noqa: E402
import random_models  # noqa: E402
import tensorfiles  # noqa: E402
import weights  # noqa: E402
from decoder_families import FAMILIES  # noqa: E402

NAMES = sorted(file[:-5] for file in os.listdir(RECORDED) if file.endswith(".json"))
# Version 5.17 of the package adds falcon's linear biases twice: to the scores, and in the mask. With doubled biases the results agree to 3e-8.
# Models were trained with them once, which test/Reference/numpy has.
WRONG = ("falcon-alibi",)
KNOWN = [name for name in NAMES if name not in WRONG]


# The rules of generation_config.json are of the program that generates, not of the family: every day they are checked with these alone, each rule with
# one of them. Each rule takes a compilation.
FEW_RULES = ("llama", "bart")


def read(name):
    with open(os.path.join(RECORDED, name + ".json")) as file:
        return json.load(file)


# Random models of these families are compiled every day, by decoder_random.py and by the scripts of bert, deberta, encoders, gpt2, llama, stages, t5 and vit.
COMPILED_ELSEWHERE = {"bert", "convnext", "deberta-v2", "dinov3_vit", "distilbert", "electra", "gpt2", "mistral", "mt5", "qwen2", "roberta", "swin", "t5", "vit",
                      "xlm-roberta", *FAMILIES}


def few():
    """The first record of each family that no other daily test compiles."""
    first = {}
    for name in KNOWN:
        first.setdefault(read(name)["config"]["model_type"], name)
    return [name for family, name in first.items() if family not in COMPILED_ELSEWHERE]


def write_generation_config(recorded, directory, **members):
    forced = {key: value for key, value in recorded["config"].items() if key == "forced_eos_token_id"}
    with open(os.path.join(directory, "generation_config.json"), "w") as file:
        json.dump({"eos_token_id": recorded["searches"]["end"], "pad_token_id": 0, **forced, **members}, file)


def write(recorded, directory, storage="F32"):
    """The model's directory, as the package would have written it with weights of that type."""
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "config.json"), "w") as file:
        # The texts of searches have one end.
        json.dump(recorded["config"] | ({"eos_token_id": recorded["searches"]["end"]} if "searches" in recorded else {}), file)
    if "searches" in recorded:
        write_generation_config(recorded, directory)
    tensors = {name: weights.tensor(name, shape) for name, shape in recorded["tensors"].items()}
    tensorfiles.write(os.path.join(directory, "model.safetensors"), tensors, storage)


def decoded(output):
    return numpy.frombuffer(base64.b64decode(output["f32"]), "<f4").reshape(output["shape"])


def given(inputs):
    return {name: weights.signal(name, value["shape"]) if isinstance(value, dict) else numpy.array(value, numpy.int64)
            for name, value in inputs.items()}


def numbers(text):
    return [int(word) for word in text.replace(",", " ").split()]


def generate(options, library, inputs, *flags):
    """The lines of ids that rapt-run prints."""
    prompt = ",".join(map(str, inputs["input_ids"][0]))
    printed = random_models.run([options.rapt_run, library, "--tokens", prompt, *flags])
    return [numbers(line) for line in printed.splitlines()]


def check_greedy(options, library, greedy, isDecoder, forced):
    prompt, ids = greedy["inputs"]["input_ids"][0], greedy["ids"][0]
    expected = ids[len(prompt) if isDecoder else 1 :]
    if expected[-1] == forced:  # the package ends a text at its longest length, whatever the model says
        expected = expected[:-1]
    found = generate(options, library, greedy["inputs"], "-n", str(len(expected)), "--temperature", "0", "--ignore-eos")
    assert found == [expected], f"greedy tokens are {found}, expected {expected}"


FLAGS = {"num_beams": "--beams", "num_return_sequences": "--returns", "length_penalty": "--length-penalty",
         "early_stopping": "--early-stopping", "repetition_penalty": "--repetition-penalty"}


def check_searches(options, library, recorded):
    """Beams and penalties, with the token that ends a text in the model's generation_config.json."""
    searches = recorded["searches"]
    isSimulated = options.column == "cuda" and os.environ.get("RAPT_FULL") != "1"  # beams are of the program that generates, as rules are
    for search in searches["results"][: 1 if isSimulated else None]:
        options_of = {key: value for key, value in search["options"].items() if value != 1 or key != "num_beams"}
        flags = [text for key, value in options_of.items() for text in (FLAGS[key], str(value).lower())]
        flags += [] if "num_beams" in options_of else ["--temperature", "0"]
        found = generate(options, library, searches["inputs"], "-n", "12", *flags)
        expected = [row[:-1] if row[-1] == searches["end"] else row for row in search["ids"]]
        assert found == expected, f"{' '.join(flags)} gives {found}, expected {expected}"


def rules_of(tools, name, recorded):
    """They depend neither on the target nor on the CPU, nor on who evaluates."""
    rules = recorded.get("searches", {}).get("rules", [])
    if tools.column != "cpu" or tools.case.cpu:
        return []
    if os.environ.get("RAPT_FULL") == "1":
        return rules
    return rules[FEW_RULES.index(name) :: len(FEW_RULES)] if name in FEW_RULES else []


def check_rules(options, source, library, recorded, rules):
    """Texts under the rules that are in generation_config.json."""
    searches = recorded["searches"]
    for search in rules:
        write_generation_config(recorded, source, max_new_tokens=12, **search["options"])
        random_models.run([options.raptc, source, "-o", library])
        found = generate(options, library, searches["inputs"])
        expected = [row[:-1] if row[-1] == searches["end"] else row for row in search["ids"]]
        assert found == expected, f"{search['options']} gives {found}, expected {expected}"


def length(case):
    return numpy.shape(case["inputs"].get("input_ids", [[]]))[-1]


def check(name, options, directory):
    recorded, source = read(name), os.path.join(directory, "model")
    write(recorded, source)
    command = random_models.program(options, source, directory)
    # The base of dynamic rotary embedding grows with texts that are longer than the model's positions, which Rapt refuses.
    most = recorded["config"].get("max_position_embeddings", 1 << 30)
    cases = [case for case in recorded["cases"] if length(case) <= most]
    worst = check_cases(options, command, directory, cases, "recorded")
    check_tokens(options, command, recorded, source, rules_of(options, name, recorded))
    if name == "marian":
        check_stored_positions(options, command, recorded, directory)
    if name == "m2m_100":
        check_padding_inside(options, command, recorded, directory)
    assert len(cases) > len(recorded["cases"]) / 2
    return worst


def check_stored_positions(options, command, recorded, directory):
    """A table of positions that a checkpoint has counts instead of sinusoids. Here it has other numbers, and the rows of words make up for the difference: logits
    of words that neither text has stay as they were."""
    config, source = recorded["config"], os.path.join(directory, "stored")
    tensors = {tensor: weights.tensor(tensor, shape) for tensor, shape in recorded["tensors"].items()}
    name = next(tensor for tensor in tensors if tensor.endswith("shared.weight"))
    width, most = config["d_model"], config["max_position_embeddings"]
    angles = numpy.arange(most)[:, None] * 10000.0 ** (-numpy.arange(width // 2) / (width // 2))
    sinusoids, random = numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], 1), numpy.random.RandomState(4)
    scale = numpy.sqrt(width) if config["scale_embedding"] else 1
    texts = {"encoder": numpy.arange(3, 11), "decoder": numpy.arange(20, 25)}
    table = tensors[name].astype(numpy.float64)
    for side, ids in texts.items():
        stored = random.standard_normal((most, width))
        tensors[f"model.{side}.embed_positions.weight"] = stored.astype(numpy.float32)
        table[ids] += (sinusoids[: len(ids)] - stored[: len(ids)]) / scale
    write(recorded, source)
    tensorfiles.write(os.path.join(source, "model.safetensors"), tensors | {name: table.astype(numpy.float32)}, "F32")
    inputs = {"input_ids": texts["encoder"][None], "decoder_input_ids": texts["decoder"][None]}
    run = lambda command, label: encoders.run_batch(options, command, label, directory, inputs, ["logits"])["logits"]
    kept = numpy.setdiff1d(numpy.arange(config["vocab_size"]), numpy.concatenate(list(texts.values())))
    wanted, found = run(command, "computed")[..., kept], run(random_models.program(options, source, directory), "stored")[..., kept]
    error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
    assert error <= random_models.TOLERANCE["F32"], f"with stored positions: relative L2 {error:.1e}"


def check_padding_inside(options, command, recorded, directory):
    """A token of padding inside a text has no sinusoids, and a source does not count it (M2M100SinusoidalPositionalEmbedding); a target, which the package
    writes token by token, does. Texts of other words, whose rows of the table make up for the difference, give the same logits of all other words."""
    config, source = recorded["config"], os.path.join(directory, "padding")
    tensors = {tensor: weights.tensor(tensor, shape) for tensor, shape in recorded["tensors"].items()}
    name = next(tensor for tensor in tensors if tensor.endswith("shared.weight"))
    width, pad = config["d_model"], config["pad_token_id"]
    half, scale = width // 2, numpy.sqrt(width)
    sinusoids = lambda at: numpy.concatenate([f((at + pad + 1) * 10000.0 ** (-numpy.arange(half) / (half - 1))) for f in (numpy.sin, numpy.cos)])
    table = tensors[name].astype(numpy.float64)
    texts = {"input_ids": numpy.array([[30, pad, 31, 32, pad, 33]]), "decoder_input_ids": numpy.array([[2, 40, pad, 41]])}
    others = {"input_ids": numpy.array([[30, 20, 21, 22, 23, 24]]), "decoder_input_ids": numpy.array([[2, 40, 25, 41]])}
    for place, counted in ((1, None), (2, 1), (3, 2), (4, None), (5, 3)):
        own = 0 if counted is None else sinusoids(counted)
        table[others["input_ids"][0, place]] = table[texts["input_ids"][0, place]] + (own - sinusoids(place)) / scale
    table[25] = table[pad] - sinusoids(2) / scale
    write(recorded, source)
    tensorfiles.write(os.path.join(source, "model.safetensors"), tensors | {name: table.astype(numpy.float32)}, "F32")
    run = lambda command, label, inputs: encoders.run_batch(options, command, label, directory, inputs, ["logits"])["logits"]
    kept = numpy.setdiff1d(numpy.arange(config["vocab_size"]), numpy.arange(20, 26))
    found, wanted = run(command, "padding", texts)[..., kept], run(random_models.program(options, source, directory), "others", others)[..., kept]
    error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
    assert error <= random_models.TOLERANCE["F32"], f"with padding inside: relative L2 {error:.1e}"


def check_tokens(options, command, recorded, source, rules):
    if options.rapt_run and "greedy" in recorded:
        config = recorded["config"]
        check_greedy(options, command[1], recorded["greedy"], not config.get("is_encoder_decoder"), config.get("forced_eos_token_id"))
        passed.note("compiled", f"family {config['model_type']} decode")
    if options.rapt_run and "searches" in recorded:
        check_searches(options, command[1], recorded)
    if rules:
        check_rules(options, source, command[1] + ".rules.so", recorded, rules)


def run_case(options, command, label, directory, inputs, names):
    """The outputs of a case. Two towers have an entry each, and one that compares their vectors; a decoder that reads images has one for them."""
    if "pixel_values" in inputs and "logits" in names and "input_ids" in inputs:
        pixels = {"pixel_values": inputs["pixel_values"]}
        vectors = encoders.run_batch(options, [*command, "--entry=encode_image"], f"{label}-image", directory, pixels, ["image_embeddings"])
        return encoders.run_batch(options, command, label, directory, {"input_ids": inputs["input_ids"]} | vectors, names)
    if "text_embeds" not in names:
        return encoders.run_batch(options, command, label, directory, inputs, names)
    found, maps = {}, {}
    for tower, of in (("text", "input_ids"), ("image", "pixel_values")):
        wanted = [f"{tower}_embeds", *(["attentions"] if f"{tower}_attentions" in names else [])]
        found |= encoders.run_batch(options, [*command, f"--entry=encode_{tower}"], f"{label}-{tower}", directory, {of: inputs[of]}, wanted)
        maps[f"{tower}_attentions"] = found.pop("attentions", None)
    found |= encoders.run_batch(options, [*command, "--entry=compare"], f"{label}-compare", directory, dict(found), ["logits_per_image"])
    return found | maps | {"logits_per_text": found["logits_per_image"].T}


def check_cases(options, command, directory, cases, label):
    worst = 0.0
    for number, case in enumerate(cases):
        wanted = {key: decoded(value) for key, value in case["outputs"].items()}
        found = run_case(options, command, f"{label}-case-{number}", directory, given(case["inputs"]), wanted)
        worst = max(worst, encoders.check_outputs(f"{label}-case-{number}", found, wanted, random_models.TOLERANCE["F32"]))
    return worst


MODELS = random_models.Models(check, KNOWN, few(), generic=("bert", "llama", "mt5", "vit"), cuda=("llama", "vit"))
