#!/usr/bin/env python3
"""Trains roman-reader, a transformer with sinusoidal positions (Vaswani et al. 2017), with PyTorch.

    OMP_NUM_THREADS=1 /usr/bin/python3 train.py

It reads Roman numerals from 1 to 3999 and writes them in digits. Every tenth number is held out and never seen in training.
"""

import math
import os
import random
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

import training  # noqa: E402
from training import END, PAD, SPECIAL, START  # noqa: E402

TOKENS = SPECIAL + list("MDCLXVI0123456789")
IDS = training.encoder(TOKENS)
WIDTH, HEADS, LAYERS, INNER, LONGEST, STEPS, BATCH = 48, 4, 2, 96, 32, 1000, 64


def roman(n):
    text = ""
    for one, five, ten, unit in ("M", "-", "-", 1000), ("C", "D", "M", 100), ("X", "L", "C", 10), ("I", "V", "X", 1):
        digit = n // unit % 10
        text += one + ten if digit == 9 else one + five if digit == 4 else five * (digit // 5) + one * (digit % 5)
    return text


class Reader(torch.nn.Transformer):
    """torch.nn.Transformer and an embedding; docs/Transformer.md has the equations."""

    def __init__(self):
        super().__init__(WIDTH, HEADS, LAYERS, LAYERS, INNER, dropout=0, batch_first=True)
        self.embedding = torch.nn.Embedding(len(TOKENS), WIDTH)
        torch.nn.init.normal_(self.embedding.weight, std=WIDTH ** -0.5)
        angles = torch.arange(LONGEST)[:, None] / 10000 ** (torch.arange(0, WIDTH, 2) / WIDTH)
        self.positions = torch.stack([angles.sin(), angles.cos()], 2).flatten(1)

    def embed(self, ids):
        return math.sqrt(WIDTH) * self.embedding(ids) + self.positions[:ids.shape[1]]

    def forward(self, source, target):
        hidden = source == PAD
        later = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        memory = self.encoder(self.embed(source), src_key_padding_mask=hidden)
        return self.decoder(self.embed(target), memory, tgt_mask=later, memory_key_padding_mask=hidden) @ self.embedding.weight.T

    def loss(self, numbers):
        source, _ = training.padded([IDS(roman(n)) for n in numbers])
        target, _ = training.padded([[START] + IDS(str(n)) + [END] for n in numbers])
        return training.crossEntropy(self(source, target[:, :-1]), target[:, 1:])

    @torch.no_grad()
    def read(self, numbers):
        """The likeliest token at each step, of each number."""
        source, _ = training.padded([IDS(roman(n)) for n in numbers])
        target = torch.full((len(numbers), 1), START)
        for _ in range(6):
            target = torch.cat([target, self(source, target)[:, -1:].argmax(2)], 1)
        return ["".join(TOKENS[i] for i in row[:(row + [END]).index(END)]) for row in target[:, 1:].tolist()]


def main():
    training.arguments(__doc__)
    numbers, generator, model = list(range(1, 4000)), random.Random(1), Reader()
    generator.shuffle(numbers)
    held, seen = sorted(numbers[:400]), numbers[400:]
    training.fit(model, lambda: model.loss(generator.sample(seen, BATCH)), STEPS, 3e-3)
    found = model.read(held)
    figures = {"numbers": len(held), "right": sum(text == str(n) for n, text in zip(held, found))}
    print(figures)
    training.save(HERE, "expected.json", {**figures, "examples": [{"text": roman(n), "result": text} for n, text in zip(held, found)][::10]})
    config = {"model_type": "transformer", "vocab_size": len(TOKENS), "d_model": WIDTH, "nhead": HEADS, "num_encoder_layers": LAYERS, "num_decoder_layers": LAYERS,
              "dim_feedforward": INNER, "n_positions": LONGEST, "pad_token_id": PAD, "decoder_start_token_id": START, "eos_token_id": END, "torch_dtype": "float32"}
    training.saveModel(HERE, config, model, tokenizer=training.tokenizer(TOKENS, ""))


if __name__ == "__main__":
    main()
