#!/usr/bin/env python3
"""Trains dispatcher, a classifier of texts by attention pooling, with PyTorch and writes the model directory.

    OMP_NUM_THREADS=1 /usr/bin/python3 train.py

A message tells of several troubles, and the most urgent one decides who gets it: fire before flood before theft before
noise, however often the others are named. A mean counts all of them; attention can look at the most urgent one alone.
"""

import os
import random
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import saving  # noqa: E402

# From the most urgent to the least.
TROUBLES = {"fire": "fire flames smoke burning", "flood": "flood water leak pipe", "theft": "theft stolen thief robbed",
            "noise": "noise loud music shouting"}
OTHERS = "[UNK] the a there is was in at our my street house door room car shop night please come help now and again since behind old".split()
LABELS = [*TROUBLES, "other"]
WORDS = [*OTHERS, *(word for words in TROUBLES.values() for word in words.split())]
NUMBERS = {word: i for i, word in enumerate(WORDS)}
SIZE, STEPS, BATCH, LEARNED, HELD = 16, 500, 128, 5000, 300


def message(generator):
    """Words, and the number of the most urgent trouble, or of none."""
    urgent = generator.randrange(len(LABELS))
    words = [generator.choice(OTHERS) for _ in range(generator.randint(1, 20))]
    milder = [word for trouble in LABELS[urgent + 1:-1] for word in TROUBLES[trouble].split()]
    words += [generator.choice(milder) for _ in range(generator.randint(0, 10)) if milder]
    if urgent < len(TROUBLES):
        words += [generator.choice(TROUBLES[LABELS[urgent]].split()) for _ in range(generator.randint(1, 2))]
    generator.shuffle(words)
    return words, urgent


class AttentionClassifier(torch.nn.Module):
    """The modules and parameters have the names of the checkpoint; docs/FeedForward.md has the equations."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(len(WORDS), SIZE)
        self.attention = torch.nn.ModuleDict({"query": torch.nn.Linear(SIZE, 1, bias=False)})
        self.classifier = torch.nn.Linear(SIZE, len(LABELS))

    def forward(self, ids, lengths):
        x = self.embedding(ids)
        behind = torch.arange(ids.shape[1])[None] >= lengths[:, None]
        weights = torch.softmax(self.attention["query"](x)[..., 0].masked_fill(behind, -1e30), 1)
        return self.classifier((weights[:, None] @ x)[:, 0])


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    generator = random.Random(1)
    texts, labels = zip(*(message(generator) for _ in range(LEARNED)))
    (ids, lengths), labels = saving.padded(texts, NUMBERS), torch.tensor(labels)
    model = AttentionClassifier()
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, STEPS)
    for _ in range(STEPS):
        batch = torch.randint(0, LEARNED, (BATCH,))
        loss = torch.nn.functional.cross_entropy(model(ids[batch], lengths[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    saving.saveModel(model, {"architectures": ["FeedForwardForSequenceClassification"], "model_type": "feed-forward", "vocab_size": len(WORDS),
                             "embedding_size": SIZE, "pooling": "attention", "max_length": 512, "id2label": dict(enumerate(LABELS))}, HERE)
    saving.saveWords(WORDS, HERE)
    with torch.no_grad():
        saving.saveHeld([message(random.Random(2 + i)) for i in range(HELD)], NUMBERS, model, LABELS, HERE)


if __name__ == "__main__":
    main()
