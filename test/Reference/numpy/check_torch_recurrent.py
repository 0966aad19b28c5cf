#!/usr/bin/env python3
"""Compares recurrent.py with PyTorch's modules: torch.nn.RNN (tanh, relu), GRU and LSTM, one layer and several, one direction and both,
with and without biases, over rows of unequal lengths, outputs and last states; then a whole Bahdanau decoder of
torch.nn modules, that of test/models/date-translator.

    /usr/bin/python3 check_torch_recurrent.py        needs Debian's python3-torch; not part of the test command
"""

import os
import sys

import numpy
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "..", "..", "models", "date-translator")
sys.path[:0] = [HERE, MODEL]

import recurrent  # noqa: E402
import train  # noqa: E402

MODULES = {"rnn_tanh": lambda *a, **k: torch.nn.RNN(*a, nonlinearity="tanh", **k), "rnn_relu": lambda *a, **k: torch.nn.RNN(*a, nonlinearity="relu", **k),
           "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}


def relative(found, expected):
    return numpy.linalg.norm(found - expected) / numpy.linalg.norm(expected)


@torch.no_grad()
def compareStack(cell, layers, bidirectional, bias):
    module = MODULES[cell](5, 7, layers, bidirectional=bidirectional, bias=bias, batch_first=True).double()
    tensors = {"rnn." + name: value.numpy() for name, value in module.state_dict().items()}
    stack = recurrent.Stack(tensors, "rnn", cell, 7, layers, bidirectional)
    lengths = [4, 9, 1]
    x = torch.randn(3, 9, 5, dtype=torch.float64)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    outputs, last = module(packed)
    outputs = torch.nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)[0].numpy()
    last = last if cell == "lstm" else (last,)
    worst, directions = 0, 1 + bidirectional
    for row, length in enumerate(lengths):
        found, finals = stack.encode(list(x[row, :length].numpy()))
        worst = max(worst, relative(numpy.array(found), outputs[row, :length]))
        for layer in range(layers):
            for state, values in zip(finals[layer], last):
                parts = values[layer * directions:(layer + 1) * directions, row].numpy()
                worst = max(worst, relative(state, parts.reshape(-1)))
    return worst


@torch.no_grad()
def compareTranslator():
    model = train.Translator()
    train.loadWeights(model)
    model.double()
    numpyModel = recurrent.load(MODEL)
    source, target = train.idsOf("Sat, 21 nov 2026"), [train.START] + train.idsOf("2026-11-21")
    found = numpyModel.decode(target, numpyModel.encode(source))
    memory, state = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    rows = []
    for token in target:
        logits, state, _ = model.step(torch.tensor([token]), state, memory)
        rows.append(logits[0].numpy())
    return relative(found, numpy.array(rows))


def main():
    torch.manual_seed(3)
    worst = 0
    for cell in MODULES:
        for layers in (1, 3):
            for bidirectional in (False, True):
                for bias in (False, True):
                    worst = max(worst, compareStack(cell, layers, bidirectional, bias))
    print(f"stacks: relative L2 at most {worst:.1e}")
    decoder = compareTranslator()
    print(f"additive attention: relative L2 {decoder:.1e}")
    sys.exit(int(max(worst, decoder) > 1e-12))


if __name__ == "__main__":
    main()
