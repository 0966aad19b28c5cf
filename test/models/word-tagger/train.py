#!/usr/bin/env python3
"""Trains word-tagger, a transducer: a bidirectional LSTM that labels each word (Graves and Schmidhuber 2005), with PyTorch.

    OMP_NUM_THREADS=1 /usr/bin/python3 train.py             writes the model directory
    OMP_NUM_THREADS=1 /usr/bin/python3 train.py --forward   only tells how often one direction is right

Many words may be a noun or a verb, or a noun or an adjective; the word that tells may stand before them or behind. A sentence is a
path of the automaton in sentences.py; sentences that two paths can make are left out.
"""

import os
import random
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

import sentences  # noqa: E402
import training  # noqa: E402

LABELS = list(sentences.WORDS)
TOKENS = ["<pad>", "<unk>"] + sorted({word for words in sentences.WORDS.values() for word in words})
IDS, TAGS = training.encoder(TOKENS), training.encoder(LABELS)
WIDTH, HIDDEN, STEPS, BATCH = 16, 32, 600, 64


class Tagger(torch.nn.Module):
    def __init__(self, bidirectional):
        super().__init__()
        self.embedding = torch.nn.Embedding(len(TOKENS), WIDTH)
        self.rnn = torch.nn.LSTM(WIDTH, HIDDEN, bidirectional=bidirectional, batch_first=True)
        self.classifier = torch.nn.Linear(HIDDEN * (1 + bidirectional), len(LABELS))

    def forward(self, texts):
        ids, lengths = training.padded(map(IDS, texts))
        return self.classifier(training.run(self.rnn, self.embedding(ids), lengths)[0])


def main():
    options = training.arguments(__doc__, ("--forward", "one direction"))
    generator, model = random.Random(1), Tagger(not options.forward)

    def loss():
        texts, tags = zip(*(sentences.example(generator) for _ in range(BATCH)))
        logits = model(texts)
        targets = torch.full(logits.shape[:2], -1)
        for row, labels in zip(targets, tags):
            row[:len(labels)] = torch.tensor(TAGS(labels))
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)

    training.fit(model, loss, STEPS, 1e-2)
    held = random.Random(2)
    texts, tags = zip(*(sentences.example(held) for _ in range(2000)))
    with torch.no_grad():
        best = torch.softmax(model(texts), 2).max(2)
    found = [[LABELS[i] for i in row[:len(words)]] for words, row in zip(texts, best.indices.tolist())]
    words = sum(map(len, tags))
    right = sum(a == b for row, labels in zip(found, tags) for a, b in zip(row, labels))
    whole = sum(row == labels for row, labels in zip(found, tags))
    figures = {"words": words, "right": right, "sentences": len(tags), "whole": whole}
    print(figures)
    if options.forward:
        return
    examples = [{"text": " ".join(text), "labels": row, "scores": scores[:len(text)]} for text, row, scores in zip(texts, found, best.values.tolist())][:40]
    training.save(HERE, "expected.json", {**figures, "examples": examples})
    config = {"model_type": "recurrent", "architectures": ["RecurrentForTokenClassification"], "cell": "lstm", "vocab_size": len(TOKENS), "embedding_size": WIDTH,
              "hidden_size": HIDDEN, "num_layers": 1, "bidirectional": True, "id2label": dict(enumerate(LABELS)), "max_length": 256, "torch_dtype": "float32"}
    training.saveModel(HERE, config, model, tokenizer=training.tokenizer(TOKENS, " "))


if __name__ == "__main__":
    main()
