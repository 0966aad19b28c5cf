#!/usr/bin/env python3
"""Trains mood-averager, a deep averaging network (Iyyer et al. 2015), with PyTorch and writes the model directory.

    OMP_NUM_THREADS=1 /usr/bin/python3 train.py

A review has words of praise and blame, each with a weight, among words that say nothing. Its mood is the sign of the sum of
the weights. The order of the words does not matter, so that the mean of their embeddings has all that is needed.
"""

import os
import random
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import saving  # noqa: E402

WEIGHTS = {2: "superb wonderful brilliant moving", 1: "good nice pleasant clever funny", -1: "weak slow flat loud odd", -2: "awful terrible dreadful tedious"}
OTHERS = "[UNK] the a this that film plot score acting cast script scene story music camera was is and but with its of in some rather here there".split()
MOODS = ["negative", "mixed", "positive"]
WORDS = [*OTHERS, *(word for group in WEIGHTS.values() for word in group.split())]
NUMBERS = {word: i for i, word in enumerate(WORDS)}
OF = {word: weight for weight, group in WEIGHTS.items() for word in group.split()}
SIZE, HIDDEN, STEPS, BATCH, LEARNED, HELD = 16, [24, 24], 1500, 128, 5000, 300


def review(generator):
    """Words, and the number of their mood."""
    words = [generator.choice(list(OF) if generator.random() < 0.4 else OTHERS) for _ in range(generator.randint(1, 24))]
    total = sum(OF.get(word, 0) for word in words)
    return words, (total > 0) - (total < 0) + 1


class AveragingNetwork(torch.nn.Module):
    """The modules and parameters have the names of the checkpoint; docs/FeedForward.md has the equations."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(len(WORDS), SIZE)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(n, m) for n, m in zip([SIZE, *HIDDEN], HIDDEN))
        self.classifier = torch.nn.Linear(HIDDEN[-1], len(MOODS))

    def forward(self, ids, lengths):
        x = self.embedding(ids) * (torch.arange(ids.shape[1])[None] < lengths[:, None])[..., None]  # zeros behind each text
        x = x.sum(1) / lengths[:, None]
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.classifier(x)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    generator = random.Random(1)
    texts, moods = zip(*(review(generator) for _ in range(LEARNED)))
    (ids, lengths), moods = saving.padded(texts, NUMBERS), torch.tensor(moods)
    model = AveragingNetwork()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, STEPS)
    for _ in range(STEPS):
        batch = torch.randint(0, LEARNED, (BATCH,))
        loss = torch.nn.functional.cross_entropy(model(ids[batch], lengths[batch]), moods[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    saving.saveModel(model, {"architectures": ["FeedForwardForSequenceClassification"], "model_type": "feed-forward", "vocab_size": len(WORDS),
                             "embedding_size": SIZE, "hidden_sizes": HIDDEN, "activation": "relu", "pooling": "mean", "max_length": 512,
                             "id2label": dict(enumerate(MOODS))}, HERE)
    saving.saveWords(WORDS, HERE)
    with torch.no_grad():
        saving.saveHeld([review(random.Random(2 + i)) for i in range(HELD)], NUMBERS, model, MOODS, HERE)


if __name__ == "__main__":
    main()
