#!/usr/bin/env python3
"""Trains negation-reader, a convolutional text classifier (Kim 2014), with PyTorch and writes the model directory.

    OMP_NUM_THREADS=1 /usr/bin/python3 train.py

A review has one opinion among words that say nothing. "not", or "not very" and words like them, in front of it reverse
it, and stand in front of other words as well, which changes nothing. So the order of neighboring words decides.
"""

import os
import random
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import saving  # noqa: E402

GOOD, BAD = "good moving clever funny pleasant superb".split(), "dull slow weak flat tedious loud".split()
NEGATIONS, BETWEEN = "not never hardly".split(), "very so that really".split()
OTHERS = "[UNK] the a this film plot score acting cast script scene story music was is and with its of in long short new".split()
LABELS = ["negative", "positive"]
WORDS = [*OTHERS, *GOOD, *BAD, *NEGATIONS, *BETWEEN]
NUMBERS = {word: i for i, word in enumerate(WORDS)}
SIZE, KERNELS, FILTERS, STEPS, BATCH, LEARNED, HELD = 12, [2, 3], 24, 500, 128, 5000, 300


def some(generator, most):
    """Words that say nothing, some of which are negated."""
    words = []
    for _ in range(generator.randint(0, most)):
        words += [generator.choice(NEGATIONS)] if generator.random() < 0.15 else []
        words.append(generator.choice(OTHERS + BETWEEN))
    return words + ([generator.choice(OTHERS)] if words else [])


def review(generator):
    """Words, and whether they praise."""
    praises, negated = generator.random() < 0.5, generator.random() < 0.5
    opinion = [generator.choice(GOOD if praises != negated else BAD)]
    between = [generator.choice(BETWEEN)] if generator.random() < 0.5 else []
    ahead = [generator.choice(NEGATIONS)] if negated else []
    return some(generator, 10) + ahead + between + opinion + some(generator, 10), int(praises)


class ConvolutionalClassifier(torch.nn.Module):
    """The modules and parameters have the names of the checkpoint; docs/FeedForward.md has the equations."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(len(WORDS), SIZE)
        self.convolutions = torch.nn.ModuleList(torch.nn.Conv1d(SIZE, FILTERS, width) for width in KERNELS)
        self.classifier = torch.nn.Linear(len(KERNELS) * FILTERS, len(LABELS))

    def forward(self, ids, lengths):
        x = self.embedding(ids) * (torch.arange(ids.shape[1])[None] < lengths[:, None])[..., None]  # zeros behind each text
        found = []
        for width, convolution in zip(KERNELS, self.convolutions):
            outputs = torch.relu(convolution(x.transpose(1, 2)))
            behind = torch.arange(outputs.shape[2])[None] > (lengths - width).clamp(min=0)[:, None]  # windows that leave the text
            found.append(outputs.masked_fill(behind[:, None], 0).amax(2))
        return self.classifier(torch.nn.functional.dropout(torch.cat(found, 1), 0.3, self.training))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    generator = random.Random(1)
    texts, labels = zip(*(review(generator) for _ in range(LEARNED)))
    (ids, lengths), labels = saving.padded(texts, NUMBERS), torch.tensor(labels)
    model = ConvolutionalClassifier()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, STEPS)
    for _ in range(STEPS):
        batch = torch.randint(0, LEARNED, (BATCH,))
        loss = torch.nn.functional.cross_entropy(model(ids[batch], lengths[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    saving.saveModel(model.eval(), {"architectures": ["FeedForwardForSequenceClassification"], "model_type": "feed-forward",
                                    "vocab_size": len(WORDS), "embedding_size": SIZE, "pooling": "convolution", "kernel_sizes": KERNELS,
                                    "num_filters": FILTERS, "max_length": 512, "id2label": dict(enumerate(LABELS))}, HERE)
    saving.saveWords(WORDS, HERE)
    with torch.no_grad():
        saving.saveHeld([review(random.Random(2 + i)) for i in range(HELD)], NUMBERS, model, LABELS, HERE)


if __name__ == "__main__":
    main()
