#!/usr/bin/env python3
"""Trains led-digits, a logistic regression, with PyTorch and writes the model directory.

    OMP_NUM_THREADS=1 /usr/bin/python3 train.py

A display shows a digit by seven segments, and each segment is wrong with a probability of a tenth (Breiman et al. 1984,
"Classification and regression trees", section 2.6.1). No classifier can be right for more than 74 % of such displays.
"""

import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import saving  # noqa: E402

# The segments top, upper left, upper right, middle, lower left, lower right, bottom of each digit.
SEGMENTS = "1110111 0010010 1011101 1011011 0111010 1101011 1101111 1010010 1111111 1111011".split()
DIGITS = torch.tensor([[float(segment) for segment in digit] for digit in SEGMENTS])
WRONG, STEPS = 0.1, 1000


def displays(count, generator):
    """Segments of displays, and their digits."""
    digits = torch.randint(0, 10, (count,), generator=generator)
    wrong = (torch.rand(count, 7, generator=generator) < WRONG).float()
    return (DIGITS[digits] - wrong).abs(), digits


def likelihoods():
    """All displays, and the probability that each digit is shown so: [128, 7] and [128, 10]."""
    every = torch.tensor([[float(i >> segment & 1) for segment in range(7)] for i in range(128)])
    apart = (every[:, None] - DIGITS[None]).abs().sum(2)
    return every, WRONG ** apart * (1 - WRONG) ** (7 - apart)


class Regression(torch.nn.Module):
    """The module and its parameters have the names of the checkpoint; docs/FeedForward.md has the equations."""

    def __init__(self):
        super().__init__()
        self.classifier = torch.nn.Linear(7, 10)

    def forward(self, x):
        return self.classifier(x)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(1)
    model = Regression()
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, STEPS)
    for _ in range(STEPS):
        x, digits = displays(512, generator)
        loss = torch.nn.functional.cross_entropy(model(x), digits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    names = "zero one two three four five six seven eight nine".split()
    saving.saveModel(model, {"architectures": ["FeedForwardForTabularClassification"], "model_type": "feed-forward", "num_features": 7,
                             "id2label": dict(enumerate(names))}, HERE)
    with torch.no_grad():
        every, shown = likelihoods()
        best = shown.max(1).values.sum().item() / 10
        right = shown.gather(1, model(every).argmax(1, keepdim=True)).sum().item() / 10
        saving.save({"right": right, "best": best, "inputs": DIGITS.tolist(), "logits": model(DIGITS).tolist()}, HERE, "expected.json")
    print(f"right with a probability of {right:.4f}; the best possible is {best:.4f}")


if __name__ == "__main__":
    main()
