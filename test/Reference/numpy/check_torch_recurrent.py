#!/usr/bin/env python3
"""Compares recurrent.py with PyTorch's modules: torch.nn.RNN (tanh, relu), GRU and LSTM, one layer and several, one direction and both,
with and without biases and projections, over rows of unequal lengths, outputs and last states; then whole models of torch.nn modules, those of
test/models that train.py trains: additive attention (date-translator), general attention with input feeding (postfix-writer), a
reversed source (number-translator), labels of texts and of tokens (bracket-acceptor, word-tagger).

    /usr/bin/python3 check_torch_recurrent.py        needs Debian's python3-torch; not part of the test command
"""

import importlib.util
import os
import sys

import numpy
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "..", "..", "models")
sys.path.insert(0, HERE)

import recurrent  # noqa: E402

MODULES = {"rnn_tanh": lambda *a, **k: torch.nn.RNN(*a, nonlinearity="tanh", **k), "rnn_relu": lambda *a, **k: torch.nn.RNN(*a, nonlinearity="relu", **k),
           "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}


def relative(found, expected):
    return numpy.linalg.norm(found - expected) / numpy.linalg.norm(expected)


@torch.no_grad()
def compareStack(cell, layers, bidirectional, bias, **more):
    module = MODULES[cell](5, 7, layers, bidirectional=bidirectional, bias=bias, batch_first=True, **more).double()
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


def trained(name):
    """train.py of a model as a module, and the model in numpy."""
    directory = os.path.join(MODELS, name)
    sys.path.insert(0, directory)
    specification = importlib.util.spec_from_file_location("train_" + name.replace("-", "_"), os.path.join(directory, "train.py"))
    train = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(train)
    return train, recurrent.load(directory)


def filled(module, numpyModel):
    """The module in float64 with the model's weights."""
    module.double().load_state_dict({name: torch.from_numpy(values) for name, values in numpyModel.tensors.items()})
    return module


@torch.no_grad()
def compareTranslator():
    train, numpyModel = trained("date-translator")
    model = train.Translator()
    train.loadWeights(model)
    model.double()
    source, target = train.idsOf("Sat, 21 nov 2026"), [train.START] + train.idsOf("2026-11-21")
    found = numpyModel.decode(target, numpyModel.encode(source))
    memory, state = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    rows = []
    for token in target:
        logits, state, _ = model.step(torch.tensor([token]), state, memory)
        rows.append(logits[0].numpy())
    return relative(found, numpy.array(rows))


@torch.no_grad()
def compareReversed():
    train, numpyModel = trained("number-translator")
    model, worst = filled(train.Translator(-1), numpyModel), 0
    for number in (7, 80, 1971):
        target = [train.START] + train.TARGET_IDS(train.french(number).split())
        found = numpyModel.decode(target, numpyModel.encode(train.SOURCE_IDS(train.english(number).split())))
        worst = max(worst, relative(found, model.decode(torch.tensor([target]), model.encode([number]))[0][0].numpy()))
    return worst


@torch.no_grad()
def compareGeneral():
    train, numpyModel = trained("postfix-writer")
    model = filled(train.Writer(), numpyModel)
    text, target = "a*(b-c)", [train.START] + train.IDS("abc-*")
    source, (states, fed) = model.encode([text])
    state, rows = (states, fed.double()), []
    for token in target:
        logits, state, _ = model.step(torch.tensor([token]), state, source)
        rows.append(logits[0].numpy())
    return relative(numpyModel.decode(target, numpyModel.encode(train.IDS(text))), numpy.array(rows))


@torch.no_grad()
def compareLabels(name, module, texts):
    train, numpyModel = trained(name)
    model = filled(module(train), numpyModel)
    return max(relative(numpyModel.forward(train.IDS(text)), model([text])[0].numpy()) for text in texts)


def main():
    torch.manual_seed(3)
    worst = 0
    for cell in MODULES:
        for layers in (1, 3):
            for bidirectional in (False, True):
                for bias in (False, True):
                    worst = max(worst, compareStack(cell, layers, bidirectional, bias))
                    if cell == "lstm":
                        worst = max(worst, compareStack(cell, layers, bidirectional, bias, proj_size=3))
    print(f"stacks: relative L2 at most {worst:.1e}")
    models = {"additive attention": compareTranslator(), "general attention with input feeding": compareGeneral(), "reversed source": compareReversed(),
              "labels of texts": compareLabels("bracket-acceptor", lambda train: train.Acceptor(), ("(", "(()())", "())(")),
              "labels of tokens": compareLabels("word-tagger", lambda train: train.Tagger(True), (["the", "old", "man", "the", "boats", "."], ["it"]))}
    for name, off in models.items():
        print(f"{name}: relative L2 {off:.1e}")
    sys.exit(int(max(worst, *models.values()) > 1e-12))


if __name__ == "__main__":
    main()
