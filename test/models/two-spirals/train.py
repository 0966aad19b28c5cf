#!/usr/bin/env python3
"""Trains two-spirals, a multilayer perceptron, with PyTorch and writes the model directory.

    OMP_NUM_THREADS=1 /usr/bin/python3 train.py

Points are on two spirals that wind three times around each other (Lang and Witbrock 1988, "Learning to tell two spirals
apart"): 97 of each are learned. No straight line separates them, so that a logistic regression is right for half.
"""

import math
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import saving  # noqa: E402

HIDDEN, STEPS = [32, 32], 4000


def spirals(steps):
    """Points of both spirals, and the spiral of each: those to learn are at whole steps 0 to 96."""
    angle, radius = steps * math.pi / 16, 6.5 * (104 - steps) / 104
    first = torch.stack([radius * angle.sin(), radius * angle.cos()], 1)
    return torch.cat([first, -first]), torch.cat([torch.zeros(len(steps)), torch.ones(len(steps))]).long()


class Perceptron(torch.nn.Module):
    """The modules and parameters have the names of the checkpoint; docs/FeedForward.md has the equations."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(n, m) for n, m in zip([2, *HIDDEN], HIDDEN))
        self.classifier = torch.nn.Linear(HIDDEN[-1], 2)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.classifier(x)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Perceptron()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, STEPS)
    x, labels = spirals(torch.arange(97.0))
    for step in range(STEPS):
        loss = torch.nn.functional.cross_entropy(model(x + 0.2 * torch.randn(x.shape)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    saving.saveModel(model, {"architectures": ["FeedForwardForTabularClassification"], "model_type": "feed-forward", "num_features": 2,
                             "hidden_sizes": HIDDEN, "activation": "tanh", "id2label": {0: "first", 1: "second"}}, HERE)
    with torch.no_grad():
        learned = (model(x).argmax(1) == labels).sum().item()
        between, of = spirals(torch.arange(96.0) + 0.5)  # none of which was learned
        right = (model(between).argmax(1) == of).sum().item()
        saving.save({"learned": [learned, len(x)], "between": [right, len(between)], "inputs": between.tolist(), "labels": of.tolist(),
                     "logits": model(between).tolist()}, HERE, "expected.json")
    print(f"{learned} of {len(x)} learned points right, {right} of {len(between)} between them")


if __name__ == "__main__":
    main()
