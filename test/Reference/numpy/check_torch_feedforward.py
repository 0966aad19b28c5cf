#!/usr/bin/env python3
"""Checks feedforward.py against torch.nn: run by hand, as PyTorch is no prerequisite. Texts are a padded batch with masks, as training has them; numpy
computes each alone.

    check_torch_feedforward.py
"""

import sys
import tempfile

import numpy
import torch

import feedforward
import tensorfiles

NN, LENGTHS = torch.nn.functional, (1, 2, 3, 7, 40)
ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "gelu": NN.gelu}


def classify(config, t, x):
    activation = ACTIVATIONS[config.get("activation", "relu")]
    for layer in range(len(config.get("hidden_sizes", []))):
        x = activation(NN.linear(x, t[f"layers.{layer}.weight"], t[f"layers.{layer}.bias"]))
    return NN.linear(x, t["classifier.weight"], t["classifier.bias"])


def pool(config, t, ids, lengths):
    mask = torch.arange(ids.shape[1])[None] < lengths[:, None]
    x = NN.embedding(ids, t["embedding.weight"]) * mask[..., None]
    if config.get("pooling", "mean") == "mean":
        return x.sum(1) / lengths[:, None]
    if config["pooling"] == "attention":
        keys = torch.tanh(NN.linear(x, t["attention.key.weight"], t["attention.key.bias"])) if "attention_size" in config else x
        scores = NN.linear(keys, t["attention.query.weight"])[..., 0].masked_fill(~mask, -torch.inf)
        return (torch.softmax(scores, 1)[:, None] @ x)[:, 0]
    found = []
    for i, width in enumerate(config["kernel_sizes"]):
        outputs = NN.conv1d(x.transpose(1, 2), t[f"convolutions.{i}.weight"], t[f"convolutions.{i}.bias"])
        outputs = ACTIVATIONS[config.get("activation", "relu")](outputs)
        behind = torch.arange(outputs.shape[2])[None] > (lengths - width).clamp(min=0)[:, None]
        found.append(outputs.masked_fill(behind[:, None], -torch.inf).amax(2))
    return torch.cat(found, 1)


def languageModel(config, t, ids):
    x = NN.pad(NN.embedding(ids, t["embedding.weight"]), (0, 0, config["context_size"] - 1, 0))
    x = torch.stack([x[at:at + config["context_size"]].flatten() for at in range(len(ids))])
    logits = NN.linear(torch.tanh(NN.linear(x, t["hidden.weight"], t["hidden.bias"])), t["lm_head.weight"], t["lm_head.bias"])
    return NN.linear(x, t["direct.weight"]) + logits if "direct.weight" in t else logits


def regression(config, t, x):
    return torch.softmax(-torch.cdist(x, t["keys"]) ** 2 / (2 * config["bandwidth"] ** 2), 1) @ t["values"]


def difference(config, directory):
    feedforward.make(directory, config)
    model = feedforward.load(directory)
    t = {name: torch.from_numpy(values.astype(numpy.float64)) for name, values in tensorfiles.readDirectory(directory).items()}
    torch.manual_seed(3)
    if "num_features" in config:
        x = torch.randn(9, config["num_features"], dtype=torch.float64)
        found = regression(config, t, x) if config["model_type"] == "kernel-regression" else classify(config, t, x)
        wanted = [model.forward(row.numpy()) for row in x]
    else:
        ids, lengths = torch.randint(0, config["vocab_size"], (len(LENGTHS), max(LENGTHS))), torch.tensor(LENGTHS)
        texts = [row[:length] for row, length in zip(ids, LENGTHS)]
        if config["model_type"] == "neural-probabilistic":
            found = torch.cat([languageModel(config, t, text) for text in texts])
            wanted = numpy.concatenate([model.forward(text.numpy()) for text in texts])
        else:
            found, wanted = classify(config, t, pool(config, t, ids, lengths)), [model.forward(text.numpy()) for text in texts]
    return numpy.linalg.norm(found.numpy() - wanted) / numpy.linalg.norm(wanted)


def main():
    f, worst, cases = feedforward, 0.0, []
    for activation in ACTIVATIONS:
        cases += [{**f.TABULAR, "hidden_sizes": [9, 4], "activation": activation}, {**f.CONVOLUTION, "hidden_sizes": [8], "activation": activation}]
    cases += [f.TABULAR, f.TEXT, {**f.TEXT, "pooling": "attention"}, {**f.TEXT, "pooling": "attention", "attention_size": 7}, f.LM,
              {**f.LM, "direct_connections": True, "context_size": 7}, f.KERNEL]
    for config in cases:
        with tempfile.TemporaryDirectory() as directory:
            worst = max(worst, difference(config, directory))
    print(f"{len(cases)} cases, {worst:.1e} apart")
    sys.exit(bool(worst > 1e-12))


if __name__ == "__main__":
    main()
