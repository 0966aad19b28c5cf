#!/usr/bin/env python3
"""Compiles random models of the bert family with every head and compares them with the formulas of Devlin et al. 2019 in
numpy's float64.

    bert_random.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run [--work DIR] [--only NAME ...]

Each model runs on three rows of different lengths, with token types and without. Relative L2 of each output must be at most
1e-5, and what lies behind a row's end must be 0. Prints "N passed, N failed"; exit status 1 if any failed.
"""

import argparse
import concurrent.futures
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import safetensors  # noqa: E402

SMALL = {"model_type": "bert", "hidden_size": 40, "num_hidden_layers": 3, "num_attention_heads": 5, "intermediate_size": 72,
         "max_position_embeddings": 70, "vocab_size": 101, "type_vocab_size": 3}
# name -> (class, changes of SMALL, outputs)
CASES = {
    "model": ("BertModel", {"hidden_size": 36, "num_attention_heads": 2}, ["last_hidden_state", "pooler_output", "sentence_embedding"]),
    "masked-lm": ("BertForMaskedLM", {"hidden_act": "gelu_new", "num_hidden_layers": 1}, ["logits"]),
    "untied": ("BertForMaskedLM", {"tie_word_embeddings": False, "layer_norm_eps": 0.1}, ["logits"]),
    "sequences": ("BertForSequenceClassification", {"num_labels": 5, "hidden_size": 64, "num_attention_heads": 1}, ["logits"]),
    "tokens": ("BertForTokenClassification", {"id2label": {"0": "O", "1": "B", "2": "I"}, "hidden_act": "relu"}, ["logits"]),
    "spans": ("BertForQuestionAnswering", {"intermediate_size": 7}, ["start_logits", "end_logits"]),
}
erf = np.vectorize(math.erf)


class Bert:
    def __init__(self, config, weights):
        self.c, self.w = config, {name: tensor.astype(np.float64) for name, tensor in weights.items()}

    def dense(self, x, name):
        return x @ self.w[name + ".weight"].T + self.w[name + ".bias"]

    def norm(self, x, name):
        deviation = x - x.mean(-1, keepdims=True)
        scaled = deviation / np.sqrt((deviation**2).mean(-1, keepdims=True) + self.c.get("layer_norm_eps", 1e-12))
        return scaled * self.w[name + ".weight"] + self.w[name + ".bias"]

    def activate(self, x):
        kind = self.c.get("hidden_act", "gelu")
        if kind == "relu":
            return np.maximum(x, 0)
        if kind == "gelu":
            return x / 2 * (1 + erf(x / math.sqrt(2)))
        return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    def layer(self, x, at):
        heads, (tokens, width) = self.c["num_attention_heads"], x.shape
        q, k, v = (self.dense(x, f"{at}attention.self.{part}").reshape(tokens, heads, -1).transpose(1, 0, 2)
                   for part in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(width // heads)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(tokens, width)
        x = self.norm(x + self.dense(mixed, at + "attention.output.dense"), at + "attention.output.LayerNorm")
        wide = self.activate(self.dense(x, at + "intermediate.dense"))
        return self.norm(x + self.dense(wide, at + "output.dense"), at + "output.LayerNorm")

    def row(self, ids, types):
        """The outputs of one row of tokens, by name."""
        e = "bert.embeddings."
        x = self.w[e + "word_embeddings.weight"][ids] + self.w[e + "position_embeddings.weight"][: len(ids)]
        x = self.norm(x + self.w[e + "token_type_embeddings.weight"][types], e + "LayerNorm")
        for layer in range(self.c["num_hidden_layers"]):
            x = self.layer(x, f"bert.encoder.layer.{layer}.")
        head = self.c["architectures"][0]
        if head == "BertForMaskedLM":
            y = self.norm(self.activate(self.dense(x, "cls.predictions.transform.dense")), "cls.predictions.transform.LayerNorm")
            table = "cls.predictions.decoder.weight" if self.c.get("tie_word_embeddings") is False else e + "word_embeddings.weight"
            return {"logits": y @ self.w[table].T + self.w["cls.predictions.bias"]}
        if head == "BertForTokenClassification":
            return {"logits": self.dense(x, "classifier")}
        if head == "BertForQuestionAnswering":
            return dict(zip(("start_logits", "end_logits"), self.dense(x, "qa_outputs").T))
        pooled = np.tanh(self.dense(x[0], "bert.pooler.dense"))
        if head == "BertForSequenceClassification":
            return {"logits": self.dense(pooled, "classifier")}
        return {"last_hidden_state": x, "sentence_embedding": x.mean(0), "pooler_output": pooled}


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise AssertionError(f"exit status {done.returncode} of {' '.join(command)}\n{done.stdout}{done.stderr}".rstrip())


def compare(got, rows, lengths):
    """The relative L2 of a batch of outputs; `rows`: those expected."""
    isPadded = got.ndim == rows[0].ndim + 1 and rows[0].ndim > 0 and got.shape[1] == max(lengths) and len(rows[0]) == lengths[0]
    if isPadded:
        assert all(not got[r, n:].any() for r, n in enumerate(lengths)), "what lies behind a row's end is not 0"
        got = [got[r, :n] for r, n in enumerate(lengths)]
    flat = [np.concatenate([np.ravel(part) for part in parts]) for parts in (got, rows)]
    assert flat[0].shape == flat[1].shape, f"{flat[0].shape} elements, expected {flat[1].shape}"
    return np.linalg.norm(flat[0] - flat[1]) / np.linalg.norm(flat[1])


def check(name, options, work):
    """Raises AssertionError with what is wrong, or returns the largest relative L2."""
    architecture, changes, outputs = CASES[name]
    folder = os.path.join(work, name)
    os.makedirs(folder)
    config = {**SMALL, "architectures": [architecture], **changes}
    at = lambda file: os.path.join(folder, file)
    with open(at("config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    run([options.raptc, folder, "--random-weights=3", f"--save-weights={at('w.safetensors')}", "-o", at("m.so")])
    model = Bert(config, safetensors.read(at("w.safetensors")))
    random, lengths, worst = np.random.RandomState(5), (41, 1, 17), 0.0
    ids, mask = random.randint(0, config["vocab_size"], (3, 41)), np.zeros((3, 41), np.int64)
    for row, length in enumerate(lengths):
        mask[row, :length] = 1
    for types in (random.randint(0, config["type_vocab_size"], ids.shape), None):
        command = [options.rapt_run, at("m.so")]
        for tensor, values in {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}.items():
            if values is not None:
                np.save(at(tensor + ".npy"), values)
                command += ["--input", f"{tensor}={at(tensor + '.npy')}"]
        run(command + [word for output in outputs for word in ("--output", f"{output}={at(output + '.npy')}")])
        given = types if types is not None else np.zeros_like(ids)
        rows = [model.row(ids[r, :n], given[r, :n]) for r, n in enumerate(lengths)]
        worst = max([worst] + [compare(np.load(at(output + ".npy")), [row[output] for row in rows], lengths) for output in outputs])
    assert worst <= 1e-5, f"relative L2 {worst:.2e}"
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    parser.add_argument("--work")
    parser.add_argument("--only", nargs="*", choices=list(CASES))
    options = parser.parse_args()
    work, failed = options.work or tempfile.mkdtemp(prefix="rapt-bert-"), 0
    names = options.only or list(CASES)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = [(name, pool.submit(check, name, options, work)) for name in names]
    for name, result in results:
        error = result.exception()
        failed += error is not None
        print(f"FAIL {name}: {error}" if error else f"PASS {name}: relative L2 {result.result():.1e}")
    if not options.work:
        shutil.rmtree(work)
    print(f"{len(names) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
