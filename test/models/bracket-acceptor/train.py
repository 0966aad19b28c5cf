#!/usr/bin/env python3
"""Trains bracket-acceptor, an acceptor (Elman 1990), with PyTorch and writes the model directory.

    OMP_NUM_THREADS=1 /usr/bin/python3 train.py

A tanh RNN reads brackets and accepts a text if they are balanced and never deeper than 3. Nobody tells it a depth: it sees whole
texts of at most 24 brackets, each with one label.
"""

import os
import random
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

import training  # noqa: E402

TOKENS = ["<pad>", "<unk>", "(", ")"]
IDS, LABELS = training.encoder(TOKENS), ["reject", "accept"]
WIDTH, HIDDEN, DEEPEST, LONGEST, STEPS, BATCH = 8, 24, 3, 24, 2000, 128


def accepts(text):
    """The language: a finite automaton whose states are the depths."""
    depth = 0
    for bracket in text:
        depth += 1 if bracket == "(" else -1
        if not 0 <= depth <= DEEPEST:
            return False
    return depth == 0


def example(generator, longest):
    """A text, about half of the time an accepted one; most others differ from one in a bracket."""
    size, text, depth = 2 * generator.randint(1, longest // 2), "", 0
    while len(text) < size:
        opens = depth == 0 or depth < min(DEEPEST, size - len(text)) and generator.random() < 0.5
        text, depth = text + ")("[opens], depth + (1 if opens else -1)
    if generator.random() < 0.5:
        return text
    i, kind = generator.randrange(size), generator.randrange(3)
    if kind == 0:
        return text[:i] + generator.choice("()") + text[i + 1:]
    if kind == 1:
        return text[:i] + text[i + 1:] + text[i]
    return "".join(generator.choice("()") for _ in text)


class Acceptor(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(len(TOKENS), WIDTH)
        self.rnn = torch.nn.RNN(WIDTH, HIDDEN, batch_first=True)
        self.classifier = torch.nn.Linear(HIDDEN, len(LABELS))

    def forward(self, texts):
        ids, lengths = training.padded(map(IDS, texts))
        return self.classifier(training.run(self.rnn, self.embedding(ids), lengths)[1][0])


def main():
    training.arguments(__doc__)
    generator, model = random.Random(1), Acceptor()

    def loss():
        texts = [example(generator, LONGEST) for _ in range(BATCH)]
        return torch.nn.functional.cross_entropy(model(texts), torch.tensor([int(accepts(text)) for text in texts]))

    training.fit(model, loss, STEPS, 4e-3)
    held, right = random.Random(2), {}
    with torch.no_grad():
        for longest in (LONGEST, 4 * LONGEST):
            texts = sorted({example(held, longest) for _ in range(2000)})
            scores = torch.softmax(model(texts), 1)[:, 1].tolist()
            right[longest] = sum((score > 0.5) == accepts(text) for text, score in zip(texts, scores)) / len(texts)
    examples = [{"text": text, "label": LABELS[score > 0.5], "score": max(score, 1 - score)} for text, score in list(zip(texts, scores))[::40]]
    training.save(HERE, "expected.json", {"right": right, "examples": examples})
    config = {"model_type": "recurrent", "architectures": ["RecurrentForSequenceClassification"], "cell": "rnn_tanh", "vocab_size": len(TOKENS),
              "embedding_size": WIDTH, "hidden_size": HIDDEN, "num_layers": 1, "id2label": dict(enumerate(LABELS)), "max_length": 512, "torch_dtype": "float32"}
    training.saveModel(HERE, config, model, tokenizer=training.tokenizer(TOKENS, ""))
    print(f"right: {right}")


if __name__ == "__main__":
    main()
