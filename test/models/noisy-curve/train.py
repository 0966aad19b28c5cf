#!/usr/bin/env python3
"""Trains noisy-curve, a Nadaraya-Watson kernel regression, with PyTorch and writes the model directory.

    OMP_NUM_THREADS=1 /usr/bin/python3 train.py

The examples are 60 points of y = 2 sin x + x^0.8 with noise. All that is trained is the bandwidth, on the error of each
example where it is left out of the sum: with itself in the sum, the best bandwidth is 0.
"""

import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import saving  # noqa: E402

EXAMPLES, NOISE, STEPS = 60, 0.5, 500


def curve(x):
    return 2 * torch.sin(x) + x ** 0.8


class Regression(torch.nn.Module):
    """The parameters have the names of the checkpoint; docs/FeedForward.md has the equations. The bandwidth is in its config."""

    def __init__(self, keys, values):
        super().__init__()
        self.register_buffer("keys", keys)
        self.register_buffer("values", values)

    def forward(self, x, bandwidth, leftOut=None):
        scores = -((x[:, None] - self.keys[None]) ** 2).sum(2) / (2 * bandwidth ** 2)
        if leftOut is not None:
            scores = scores.masked_fill(leftOut, -1e30)
        return torch.softmax(scores, 1) @ self.values


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    x = torch.rand(EXAMPLES, 1).sort(0).values * 5
    model = Regression(x, curve(x) + NOISE * torch.randn(EXAMPLES, 1))
    logarithm = torch.zeros((), requires_grad=True)  # of the bandwidth
    optimizer = torch.optim.Adam([logarithm], 0.05)
    for _ in range(STEPS):
        found = model(model.keys, logarithm.exp(), torch.eye(EXAMPLES).bool())
        loss = ((found - model.values) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    bandwidth = round(logarithm.exp().item(), 4)
    saving.saveModel(model, {"architectures": ["KernelRegressionForTabularRegression"], "model_type": "kernel-regression", "num_features": 1,
                             "num_examples": EXAMPLES, "bandwidth": bandwidth}, HERE, halves=False)
    with torch.no_grad():
        x = torch.linspace(0.25, 4.75, 19)[:, None]
        found = model(x, bandwidth)
        error = ((found - curve(x)) ** 2).mean().sqrt().item()
        saving.save({"bandwidth": bandwidth, "error": error, "noise": NOISE, "inputs": x.tolist(), "outputs": found.tolist()}, HERE, "expected.json")
    print(f"bandwidth {bandwidth}, root mean square error {error:.3f} from the curve without noise")


if __name__ == "__main__":
    main()
