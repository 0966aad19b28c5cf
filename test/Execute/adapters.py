#!/usr/bin/env python3
"""Adapters of peft's format (LoRA), merged while packing: a compiled model with --adapter gives what the evaluator gives for a model whose weights are merged here in
float64; of quantized weights and of texts, what one compiled from merged weights gives. Ranks, scales, transposed weights, embeddings, whole tensors, several adapters with weights; faulty ones give one line."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "Reference", "numpy"), os.path.join(HERE, "..", "Reference", "transformers")]

import encoders  # noqa: E402
import random_models  # noqa: E402
import recorded_models  # noqa: E402
import tensorfiles  # noqa: E402
import weights  # noqa: E402

random = numpy.random.default_rng(11)


def pair(out, into, rank, stored=numpy.float32):
    return {"A": (random.standard_normal((rank, into)) / numpy.sqrt(into)).astype(stored), "B": (random.standard_normal((out, rank)) / 2).astype(stored)}


def write_adapter(directory, config, pairs, whole=None, embeddings=None, dtype="F32"):
    """`pairs`: {module: {"A", "B"}}, `whole`: {tensor: array}, `embeddings`: as `pairs`."""
    os.makedirs(directory, exist_ok=True)
    ranks = {module: len(both["A"]) for module, both in (pairs | (embeddings or {})).items()}
    ofAll = next(iter(ranks.values()), 8)
    with open(os.path.join(directory, "adapter_config.json"), "w") as file:
        json.dump({"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "x/y", "r": ofAll, "rank_pattern": {module: rank for module, rank in ranks.items() if rank != ofAll}, "lora_alpha": 16, "lora_dropout": 0.1, "bias": "none",
                   "target_modules": ["q_proj"], "init_lora_weights": True, "inference_mode": True, "megatron_core": "megatron.core", "use_dora": False} | config, file)
    tensors = {f"base_model.model.{module}.lora_{part}.weight": array for module, both in pairs.items() for part, array in both.items()}
    tensors |= {f"base_model.model.{module}.lora_embedding_{part}": array for module, both in (embeddings or {}).items() for part, array in both.items()}
    tensors |= {f"base_model.model.{name}": array for name, array in (whole or {}).items()}
    tensorfiles.write(os.path.join(directory, "adapter_model.safetensors"), tensors, dtype)


def product(both, scale):
    return scale * both["B"].astype(numpy.float64) @ both["A"].astype(numpy.float64)


# Adapters change weights before they are packed: these are the same for each target, and the generic one compiles faster.
FAST = () if os.environ.get("RAPT_FULL") == "1" else ("--target=generic",)
plain = {}  # logits without adapters, by model, storage and flags


def outputs(options, source, directory, label, inputs, flags=(), output="logits"):
    command = random_models.program(options, source, directory, list(flags))
    return encoders.run_batch(options, command, label, directory, inputs, [output])[output]


def evaluated(options, source, directory, label, inputs, output="logits"):
    """As the evaluator has them, of a model without adapters."""
    return outputs(argparse.Namespace(**vars(options) | {"rapt_reference": options.evaluator}), source, directory, label, inputs, output=output)


def compare(options, directory, name, changed, adapters, tolerance=1e-5, storage="F32", flags=()):
    """The recorded model `name` with the adapters against the model of the `changed` tensors."""
    recorded = recorded_models.read(name)
    source, merged = os.path.join(directory, name), os.path.join(directory, name + "-merged")
    recorded_models.write(recorded, source, storage)
    tensors = {tensor: weights.tensor(tensor, shape) for tensor, shape in recorded["tensors"].items()}
    inputs, kind = recorded_models.given(recorded["cases"][-1]["inputs"]), (name, storage, flags)
    isQuantized = any(flag.startswith("--quantize") for flag in flags)
    bare = lambda source, label: outputs(options, source, directory, label, inputs, flags) if isQuantized else evaluated(options, source, directory, label, inputs)
    if kind not in plain:
        plain[kind] = bare(source, "plain")
    for tensor, change in changed.items():
        assert tensors[tensor].shape == change.shape
        base = tensorfiles.bf16Values(tensorfiles.bf16Bits(tensors[tensor])) if storage == "BF16" else tensors[tensor]
        tensors[tensor] = (base.astype(numpy.float64) + change).astype(numpy.float32)
    recorded_models.write(recorded, merged, storage)
    tensorfiles.write(os.path.join(merged, "model.safetensors"), tensors, storage)
    found = outputs(options, source, directory, "adapted", inputs, [*flags, *(f"--adapter={adapter}" for adapter in adapters)])
    wanted = bare(merged, "merged")
    error, moved = (numpy.linalg.norm(a - wanted) / numpy.linalg.norm(wanted) for a in (found, plain[kind]))
    assert error <= tolerance and moved > 0.02, f"{name}: relative L2 {error:.2e}, allowed {tolerance:.0e}; without adapters {moved:.2e}"
    print(f"PASS {name} {storage} {' '.join(flags)}: relative L2 {error:.1e}, without adapters {moved:.1e}")


def write_base(directory, config, tensors):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "config.json"), "w") as file:
        json.dump(config, file)
    tensorfiles.write(os.path.join(directory, "model.safetensors"), tensors, "F32")


def check_head(options, directory, name, base, trained, adapter, module, head, output="logits", bare="", old=None):
    """An adapter of a model with a head, whose base model has another one or none. `base` and `trained` are the keys of their configurations that differ,
    `adapter` those of the adapter's, `head` {tensor: shape}, `bare` a prefix that the base model's names lack, `old` its own head."""
    recorded = recorded_models.read(name)
    config = {key: value for key, value in recorded["config"].items() if key not in ("id2label", "label2id", "num_labels")}
    tensors = {tensor: weights.tensor(tensor, shape) for tensor, shape in recorded["tensors"].items() if tensor not in head}
    at = lambda part: os.path.join(directory, f"{name}-{part}")
    of_base = tensors | {tensor: weights.tensor(tensor + ".old", shape) for tensor, shape in (old or {}).items()}
    write_base(at("base"), config | base, {tensor.removeprefix(bare): array for tensor, array in of_base.items()})
    own, whole = pair(*tensors[module + ".weight"].shape, 3), {tensor: weights.tensor(tensor, shape) for tensor, shape in head.items()}
    write_adapter(at("task"), adapter, {module: own}, whole)
    changed = (tensors[module + ".weight"].astype(numpy.float64) + product(own, 16 / 3)).astype(numpy.float32)
    write_base(at("trained"), config | trained, tensors | whole | {module + ".weight": changed})
    inputs = recorded_models.given(recorded["cases"][0]["inputs"])
    wanted = evaluated(options, at("trained"), directory, "trained", inputs, output)
    found = outputs(options, at("base"), directory, "found", inputs, [*FAST, f"--adapter={at('task')}"], output)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
    assert error <= 1e-5, f"{name}: relative L2 {error:.2e}"
    print(f"PASS head of an adapter on {name}: relative L2 {error:.1e}")


def check_heads(options, directory):
    labels = {"num_labels": 5}
    classes = lambda name: {"architectures": [name]}
    bert = recorded_models.read("bert-classifier")["tensors"]
    width = bert["classifier.weight"][1]
    classifier = {"classifier.weight": bert["classifier.weight"], "classifier.bias": bert["classifier.bias"]}
    query = "bert.encoder.layer.0.attention.self.query"
    texts = {"task_type": "SEQ_CLS", "modules_to_save": ["classifier", "score"]}
    # Labels of the base model's configuration are those of a head that it does not have.
    base = {**classes("BertModel"), "id2label": {"0": "a", "1": "b"}, "label2id": {"a": 0, "b": 1}}
    check_head(options, directory, "bert-classifier", base, classes("BertForSequenceClassification") | labels, texts, query, classifier)
    check_head(options, directory, "bert-span", classes("BertForMaskedLM"), classes("BertForQuestionAnswering"), {"task_type": "QUESTION_ANS"}, query,
               {"qa_outputs.weight": [2, width], "qa_outputs.bias": [2]}, "end_logits")
    llama = recorded_models.read("llama")["tensors"]
    check_head(options, directory, "llama", {}, classes("LlamaForSequenceClassification") | {"num_labels": 3}, texts, "model.layers.0.self_attn.q_proj",
               {"score.weight": [3, llama["model.embed_tokens.weight"][1]]})
    images = {"task_type": None, "auto_mapping": {"base_model_class": "ViTForImageClassification", "parent_library": "transformers.models.vit.modeling_vit"}}
    vit = recorded_models.read("vit")["tensors"]
    of_vit = {name: vit[name] for name in classifier}
    check_head(options, directory, "vit", classes("ViTModel"), classes("ViTForImageClassification") | labels, images, "vit.encoder.layer.0.attention.attention.value", of_vit)
    # A base model that was saved without the name of its part, one of other labels, and old spellings of their number.
    check_head(options, directory, "bert-classifier", classes("BertModel"), classes("BertForSequenceClassification") | labels, texts, query, classifier, bare="bert.")
    other = {**classes("BertForSequenceClassification"), "_num_labels": 3, "problem_type": "multi_label_classification"}
    kept = {name: [3, *shape[1:]] for name, shape in classifier.items()}
    check_head(options, directory, "bert-classifier", other, classes("BertForSequenceClassification") | labels, texts, query, classifier, old=kept)
    # A head that is missing, one more than the model has, two heads, and classes of something else.
    source, own = os.path.join(directory, "bert-classifier-base"), pair(*bert[query + ".weight"], 2)
    at = lambda name: os.path.join(directory, name)
    whole = {name: numpy.ones(shape, numpy.float32) for name, shape in classifier.items()}
    write_base(source, recorded_models.read("bert-classifier")["config"] | classes("BertModel"), {name: weights.tensor(name, shape) for name, shape in bert.items() if name not in classifier})
    write_adapter(at("headless"), texts, {query: own})
    refused(options, source, at("headless"), '"classifier.weight"')
    write_adapter(at("more"), texts, {query: own}, whole | {"crf.weight": numpy.ones((5, 5), numpy.float32)})
    refused(options, source, at("more"), 'tensor "crf.weight" of the adapter is none that the model has')
    task = f"--adapter={at('bert-classifier-task')}"
    write_adapter(at("tokens"), {"task_type": "TOKEN_CLS"}, {query: own})
    refused(options, source, at("tokens"), "the adapter is of a model with other heads than that of another adapter", task, first=True)
    write_adapter(at("again"), texts, {}, whole)
    refused(options, source, at("again"), "is whole in another adapter, too", task, first=True)
    write_adapter(at("fewer"), texts, {}, {name: array[:2] for name, array in whole.items()})
    refused(options, source, at("fewer"), "the adapter is of a model with other labels than that of another adapter", task, first=True)
    write_adapter(at("generates"), {}, {query: own}, whole)
    refused(options, source, at("generates"), 'tensor "classifier.bias" of the adapter is none that the model has')
    write_adapter(at("choices"), {"task_type": None, "auto_mapping": {"base_model_class": "BertForMultipleChoice", "parent_library": "transformers"}}, {query: own})
    refused(options, source, at("choices"), "auto_mapping has the class BertForMultipleChoice, which is none that is known for BertModel")
    write_adapter(at("layers"), {"task_type": None, "auto_mapping": {"base_model_class": "BertModel", "parent_library": "transformers"}}, {query: own})
    random_models.run([options.raptc, source, f"--adapter={at('layers')}", "-o", source + ".so"])
    done = subprocess.run([options.raptc, source, f"--named-adapter=a={at('bert-classifier-task')}", "-o", source + ".so"], capture_output=True, text=True)
    assert done.returncode == 1 and "the adapter has a head, labels or tokens that the base model does not have; merge the adapter instead: --adapter" in done.stderr, done.stderr
    encoder_decoder, t5 = os.path.join(directory, "t5"), recorded_models.read("t5")
    recorded_models.write(t5, encoder_decoder)
    write_adapter(at("of-t5"), texts, {"encoder.block.0.layer.0.SelfAttention.q": pair(*t5["tensors"]["encoder.block.0.layer.0.SelfAttention.q.weight"], 2)})
    refused(options, encoder_decoder, at("of-t5"), "the head of an adapter is that of a class ...ForSequenceClassification, which is not supported; supported are ")
    print("PASS heads of adapters")


def check_tokens(options, directory):
    """An adapter that was trained with two more tokens: whole tables, and a tokenizer of its own."""
    recorded, at = recorded_models.read("llama"), lambda name: os.path.join(directory, f"tokens-{name}")
    tensors = {tensor: weights.tensor(tensor, shape) for tensor, shape in recorded["tensors"].items()}
    more = {name: numpy.concatenate([tensors[name], random.standard_normal((2, tensors[name].shape[1])).astype(numpy.float32)]) for name in ("model.embed_tokens.weight", "lm_head.weight")}
    own = pair(*tensors["model.layers.0.self_attn.q_proj.weight"].shape, 3)
    rows = len(more["lm_head.weight"])
    tokenizer = lambda words: {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": None, "truncation": None, "padding": None, "post_processor": None,
                               "model": {"type": "WordLevel", "vocab": words, "unk_token": "w0"}}
    write_base(at("base"), recorded["config"], tensors)
    write_adapter(at("more"), {}, {"model.layers.0.self_attn.q_proj": own}, more)
    changed = (tensors["model.layers.0.self_attn.q_proj.weight"].astype(numpy.float64) + product(own, 16 / 3)).astype(numpy.float32)
    write_base(at("trained"), recorded["config"] | {"vocab_size": rows}, tensors | more | {"model.layers.0.self_attn.q_proj.weight": changed})
    turned = {f"w{id}": rows - 1 - id for id in range(rows)}
    for folder, words in (("base", {f"w{id}": id for id in range(rows - 2)}), ("more", turned), ("trained", turned)):
        with open(os.path.join(at(folder), "tokenizer.json"), "w") as file:
            json.dump(tokenizer(words), file)
    inputs = {"input_ids": numpy.array([[1, rows - 1, 5, rows - 2]])}

    def run(source, label, *flags):
        command = random_models.program(options, source, directory, [*FAST, *flags])
        text = random_models.run([*command, "-p", "w1 w2 w9", "-n", "6", "--temperature", "0"])
        return encoders.run_batch(options, command, label, directory, inputs, ["logits"])["logits"], text

    (wanted, text), (found, other) = run(at("trained"), "trained"), run(at("base"), "found", f"--adapter={at('more')}")
    error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
    assert wanted.shape[-1] == rows and error <= 1e-5, error
    assert text == other and text.strip(), (text, other)
    print("PASS an adapter with more tokens and a tokenizer")


def check_initial_parts(options, directory):
    """Adapters of the base model without the part that they start from: largest singular values, or the first columns of Q and rows of R. Tall, wide and square weights,
    ranks beyond the smaller side; gpt2's are [in, out], also where fan_in_fan_out says otherwise."""
    llama, gpt2 = (recorded_models.read(name)["tensors"] for name in ("llama", "gpt2"))
    at = lambda name: os.path.join(directory, f"initial-{name}")

    def initial(weight, rank, how):
        if how == "olora":
            q, r = numpy.linalg.qr(weight)
            return q[:, :rank] @ r[:rank]
        left, values, right = numpy.linalg.svd(weight, full_matrices=False)
        return (left * values)[:, :rank] @ right[:rank]

    for name, how, weight in (("llama", "pissa", 1), ("llama", "OLoRA", 0.5), ("gpt2", "pissa_niter_16", 1)):
        shapes, isTransposed = (gpt2, True) if name == "gpt2" else (llama, False)
        prefix = "transformer.h" if isTransposed else "model.layers"
        parts = {"attn.c_proj": 3, "mlp.c_fc": 2} if isTransposed else {"self_attn.q_proj": 4, "mlp.up_proj": 3, "mlp.down_proj": 2, "self_attn.k_proj": 999}
        modules = {f"{prefix}.0.{part}": rank for part, rank in parts.items()}
        tensor = lambda module: next(key for key in shapes if (module + ".weight").endswith(key))
        pairs = {module: pair(*shapes[tensor(module)][:: -1 if isTransposed else 1], min(rank, *shapes[tensor(module)])) for module, rank in modules.items()}
        write_adapter(at(how), {"init_lora_weights": how, "fan_in_fan_out": False, "lora_alpha": 2}, pairs)
        changed = {}
        for module, both in pairs.items():
            stored = weights.tensor(tensor(module), shapes[tensor(module)]).astype(numpy.float64)
            change, rank = product(both, 2 / len(both["A"])), len(both["A"])
            factor = 2 / rank if how == "OLoRA" else 1  # peft subtracts OLoRA's part with the scale of the adapter
            changed[tensor(module)] = weight * ((change.T if isTransposed else change) - factor * initial(stored, rank, how.lower()[:5]))
        compare(options, directory, name, changed, [at(how) + (f",{weight}" if weight != 1 else "")], flags=FAST)
    source, q = os.path.join(directory, "llama"), {"model.layers.0.self_attn.q_proj": pair(*llama["model.layers.0.self_attn.q_proj.weight"], 2)}
    for how, expected in (("pissa_niter_2", "the exact ones are used"), ("lora_ga", "the whole base model is used, as peft does"), ("eva", None), ("orthogonal", None), ("mica", None), ("gaussian", None), (False, None)):
        write_adapter(at("told"), {"init_lora_weights": how}, q)
        done = subprocess.run([options.raptc, source, f"--adapter={at('told')}", "--emit=imported", "-o", source + ".mlir"], capture_output=True, text=True)
        assert done.returncode == 0 and (expected in done.stderr if expected else "init_lora_weights" not in done.stderr), done.stderr
    for how in ("corda", "loftq"):
        write_adapter(at("told"), {"init_lora_weights": how}, q)
        refused(options, source, at("told"), "which cannot be computed from it; merge the adapter with peft, and compile that model")
    write_adapter(at("told"), {"init_lora_weights": "pisa"}, q)
    refused(options, source, at("told"), 'init_lora_weights is "pisa", must be true, false, gaussian, eva')
    write_adapter(at("told"), {"init_lora_weights": "pissa"}, {"lm_head": pair(*llama["lm_head.weight"], 2)} | q)
    headless, whole = at("headless"), {tensor: weights.tensor(tensor, shape) for tensor, shape in llama.items() if tensor != "lm_head.weight"}
    write_base(headless, recorded_models.read("llama")["config"] | {"tie_word_embeddings": True}, whole)
    refused(options, headless, at("told"), 'init_lora_weights takes a part of "lm_head.weight", which the checkpoint does not have: it may be tied to the table of embeddings')
    whole["model.layers.0.self_attn.q_proj.weight"] = whole["model.layers.0.self_attn.q_proj.weight"] * numpy.float32(numpy.inf)
    write_base(headless, recorded_models.read("llama")["config"] | {"tie_word_embeddings": True}, whole)
    write_adapter(at("told"), {"init_lora_weights": "pissa"}, q)
    refused(options, headless, at("told"), 'tensor "model.layers.0.self_attn.q_proj.weight" of the checkpoint has numbers that are not finite, of which there are no singular values')
    print("PASS initial parts of adapters")


def check_tied(options, directory):
    """A table and the head that is tied to it do not share the changes of an adapter: peft's layers are copies, or lie above the shared weight."""
    recorded = recorded_models.read("llama")
    tensors = {tensor: weights.tensor(tensor, shape) for tensor, shape in recorded["tensors"].items() if tensor != "lm_head.weight"}
    name, at = "model.embed_tokens.weight", lambda part: os.path.join(directory, f"tied-{part}")
    table = tensors[name]
    write_base(at("base"), recorded["config"] | {"tie_word_embeddings": True}, tensors)
    inputs = recorded_models.given(recorded["cases"][-1]["inputs"])
    low, other = pair(*table.shape, 3), random.standard_normal(table.shape).astype(numpy.float32)
    of_table = pair(table.shape[1], table.shape[0], 2)
    changed, turned = (table + product(low, 16 / 3)).astype(numpy.float32), (table + product(of_table, 16 / 2).T).astype(numpy.float32)
    saved = lambda *modules: {"modules_to_save": list(modules)}
    for label, config, pairs, whole, embeddings, (own_table, own_head) in (
            ("head", {}, {"lm_head": low}, {}, {}, (table, changed)),
            ("whole-head", saved("lm_head"), {}, {"lm_head.weight": other}, {}, (table, other)),
            ("whole-head-and-table", saved("lm_head", "embed_tokens"), {}, {"lm_head.weight": other, name: changed}, {}, (changed, other)),
            ("same", saved("lm_head", "embed_tokens"), {}, {"lm_head.weight": other, name: other}, {}, (other, other)),
            ("table", {}, {}, {"model.embed_tokens.base_layer.weight": table}, {"model.embed_tokens": of_table}, (turned, table)),
            ("whole-table", saved("embed_tokens"), {}, {name: other}, {}, (other, table)),
            ("table-of-both", {}, {}, {name: other}, {}, (other, other))):
        write_adapter(at("adapter"), config, pairs, whole, embeddings)
        write_base(at("trained"), recorded["config"] | {"tie_word_embeddings": False}, tensors | {name: own_table, "lm_head.weight": own_head})
        wanted = evaluated(options, at("trained"), directory, "trained", inputs)
        found = outputs(options, at("base"), directory, "found", inputs, [*FAST, f"--adapter={at('adapter')}"])
        error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
        assert error <= 1e-5, f"{label} of a tied head: relative L2 {error:.2e}"
    write_adapter(at("adapter"), {}, {"lm_head": {"A": low["A"], "B": low["B"][:, :2]}})
    refused(options, at("base"), at("adapter"), "are no matrices of one rank")
    write_adapter(at("adapter"), {}, {"lm_head": pair(table.shape[0] + 1, table.shape[1], 2)})
    refused(options, at("base"), at("adapter"), f'do not fit "lm_head.weight" [{table.shape[0]}, {table.shape[1]}]: the adapter is of another base model')
    write_adapter(at("adapter"), saved("embed_tokens"), {}, {name: numpy.concatenate([table, table[:2]])})
    done = subprocess.run([options.raptc, at("base"), f"--adapter={at('adapter')}", "--emit=imported", "-o", at("more.mlir")], capture_output=True, text=True)
    assert done.returncode == 0 and f'an adapter has "{name}" with other rows and no head: the head, which is tied to it, has these rows, too' in done.stderr, done.stderr
    print("PASS adapters of tied heads")


def refused(options, source, adapter, expected, *flags, first=False):
    """`first`: the flags are ahead of the adapter."""
    own = [f"--adapter={adapter}"]
    done = subprocess.run([options.raptc, source, *([*flags, *own] if first else [*own, *flags]), "-o", source + ".so"], capture_output=True, text=True)
    assert done.returncode == 1 and expected in done.stderr and len(done.stderr.splitlines()) == 1, f"expected {expected!r}, found: {done.stderr}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    parser.add_argument("--rapt-reference", required=True, dest="evaluator")
    options = parser.parse_args()
    options.rapt_reference = None
    with tempfile.TemporaryDirectory() as directory:
        at = lambda name: os.path.join(directory, name)
        llama, gpt2 = (recorded_models.read(name)["tensors"] for name in ("llama", "gpt2"))
        shape = lambda tensor: llama[f"model.{tensor}.weight"]
        pairs = {f"model.layers.{layer}.{part}": pair(*shape(f"layers.{layer}.{part}"), 4) for layer in range(2) for part in ("self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj")}
        write_adapter(at("first"), {"lora_alpha": 8}, pairs)
        changed = {module + ".weight": product(both, 8 / 4) for module, both in pairs.items()}
        compare(options, directory, "llama", changed, [at("first")])
        compare(options, directory, "llama", changed, [at("first")], 1e-2, "BF16", FAST)
        compare(options, directory, "llama", changed, [at("first")], 2e-3, flags=("--quantize=w8",))
        # a second one of another rank, scaled by its root, in bf16; alphas of single modules; weights of both
        more = {"model.layers.0.self_attn.q_proj": pair(*shape("layers.0.self_attn.q_proj"), 9), "model.layers.1.mlp.up_proj": pair(*shape("layers.1.mlp.up_proj"), 3)}
        more = {module: {part: tensorfiles.bf16Values(tensorfiles.bf16Bits(array)).reshape(array.shape) for part, array in both.items()} for module, both in more.items()}
        write_adapter(at("second,2"), {"use_rslora": True, "alpha_pattern": {"up_proj": 5}, "rank_pattern": {"up_proj": 3}, "r": 9}, more, dtype="BF16")
        both = {tensor: 0.5 * change for tensor, change in changed.items()}
        for module, own, alpha in zip(more, more.values(), (16, 5)):
            both[module + ".weight"] = both.get(module + ".weight", 0) + product(own, -1.5 * alpha / numpy.sqrt(len(own["A"])))
        compare(options, directory, "llama", both, [at("first") + ",0.5", at("second,2") + ",-1.5"], flags=FAST)
        # an embedding, whose factors are transposed, and a whole tensor
        table = pair(llama["model.embed_tokens.weight"][1], llama["model.embed_tokens.weight"][0], 2)
        head = random.standard_normal(llama["lm_head.weight"]).astype(numpy.float32)
        write_adapter(at("whole"), {}, {}, {"lm_head.weight": head}, {"model.embed_tokens": table})
        changed = {"model.embed_tokens.weight": product(table, 16 / 2).T, "lm_head.weight": head - weights.tensor("lm_head.weight", llama["lm_head.weight"]).astype(numpy.float64)}
        compare(options, directory, "llama", changed, [at("whole")], flags=FAST)
        # weights [in, out]
        name = next(tensor for tensor in gpt2 if tensor.endswith("h.0.attn.c_attn.weight"))
        own = pair(gpt2[name][1], gpt2[name][0], 5)
        write_adapter(at("turned"), {"fan_in_fan_out": True}, {"transformer.h.0.attn.c_attn": own})
        compare(options, directory, "gpt2", {name: product(own, 16 / 5).T}, [at("turned")], flags=FAST)

        source = at("llama")
        refused(options, source, at("none"), "no adapter_config.json: not an adapter's directory")
        write_adapter(at("dora"), {"use_dora": True}, pairs)
        refused(options, source, at("dora"), "use_dora is true: magnitudes of weights are not supported")
        write_adapter(at("kind"), {"peft_type": "IA3"}, pairs)
        refused(options, source, at("kind"), 'peft_type is "IA3" (a string), must be LORA')
        write_adapter(at("rank"), {"r": 5}, pairs)
        refused(options, source, at("rank"), "has the rank 4, but r and rank_pattern of adapter_config.json say 5; peft refuses such an adapter")
        write_adapter(at("rank"), {"rank_pattern": {"down_proj": 6}}, pairs)
        refused(options, source, at("rank"), "has the rank 4, but r and rank_pattern of adapter_config.json say 6")
        write_adapter(at("key"), {"layer_replication": [[0, 2]]}, pairs)
        refused(options, source, at("key"), "layer_replication")
        write_adapter(at("pattern"), {"alpha_pattern": {"layers.[01].q": 4}}, pairs)
        refused(options, source, at("pattern"), "patterns are not supported")
        write_adapter(at("other"), {}, {"model.layers.7.self_attn.q_proj": pair(8, 8, 2)})
        refused(options, source, at("other"), "which the checkpoint does not have: the adapter is of another base model")
        write_adapter(at("wide"), {}, {"model.layers.0.self_attn.q_proj": pair(9, 8, 2)})
        refused(options, source, at("wide"), "the adapter is of another base model")
        half = {"model.layers.0.self_attn.q_proj": {"A": pair(8, 8, 2)["A"]}}
        write_adapter(at("half"), {}, half)
        refused(options, source, at("half"), 'has no "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight"')
        refused(options, source, at("whole") + ",2", "give the adapter the weight 1")
        refused(options, source, at("first"), "adapters change the weights of a model's directory, which are not read here", "--random-weights=1")
        os.remove(os.path.join(at("kind"), "adapter_model.safetensors"))
        shutil.copy(os.path.join(at("first"), "adapter_config.json"), at("kind"))
        open(os.path.join(at("kind"), "adapter_model.bin"), "w").close()
        refused(options, source, at("kind"), "adapter_model.bin is a PyTorch pickle")
        print("PASS faulty adapters")
        check_heads(options, directory)
        check_tokens(options, directory)
        check_initial_parts(options, directory)
        check_tied(options, directory)


main()
