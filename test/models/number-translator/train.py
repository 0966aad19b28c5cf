#!/usr/bin/env python3
"""Trains number-translator, LSTMs from sequence to sequence with the source reversed (Sutskever et al. 2014), with PyTorch.

    OMP_NUM_THREADS=1 /usr/bin/python3 train.py             writes the model directory
    OMP_NUM_THREADS=1 /usr/bin/python3 train.py --in-order  only tells how often it is right where the source is not reversed

It translates numbers from 0 to 9,999 from English to French. Every tenth number is held out and never seen in training.
"""

import os
import random
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

import training  # noqa: E402
from cardinals import english, french  # noqa: E402
from training import END, SPECIAL, START  # noqa: E402

WIDTH, HIDDEN, LAYERS, STEPS, BATCH = 24, 64, 1, 1600, 64
SOURCE, TARGET = (SPECIAL + sorted({word for n in range(2001) for word in f(n).split()}) for f in (english, french))
SOURCE_IDS, TARGET_IDS = training.encoder(SOURCE), training.encoder(TARGET)


class Translator(torch.nn.Module):
    """The last states of the encoder are the first ones of the decoder."""

    def __init__(self, order):
        super().__init__()
        self.order = order
        self.encoder_embedding, self.decoder_embedding = torch.nn.Embedding(len(SOURCE), WIDTH), torch.nn.Embedding(len(TARGET), WIDTH)
        self.encoder, self.decoder = (torch.nn.LSTM(WIDTH, HIDDEN, LAYERS, batch_first=True) for _ in range(2))
        self.lm_head = torch.nn.Linear(HIDDEN, len(TARGET))

    def encode(self, numbers):
        ids, lengths = training.padded([SOURCE_IDS(english(n).split())[::self.order] for n in numbers])
        return training.run(self.encoder, self.encoder_embedding(ids), lengths)[1]

    def decode(self, ids, states):
        output, states = self.decoder(self.decoder_embedding(ids), states)
        return self.lm_head(output), states

    def loss(self, numbers):
        ids, _ = training.padded([[START] + TARGET_IDS(french(n).split()) + [END] for n in numbers])
        return training.crossEntropy(self.decode(ids[:, :-1], self.encode(numbers))[0], ids[:, 1:])

    @torch.no_grad()
    def translate(self, numbers):
        """The likeliest word at each step, of each number."""
        ids, states, made = torch.full((len(numbers), 1), START), self.encode(numbers), []
        for _ in range(16):
            logits, states = self.decode(ids, states)
            ids = logits.argmax(2)
            made.append(ids)
        return [" ".join(TARGET[i] for i in row[:(row + [END]).index(END)]) for row in torch.cat(made, 1).tolist()]


def main():
    options = training.arguments(__doc__, ("--in-order", "the source as it stands"))
    numbers, generator, model = list(range(10000)), random.Random(1), Translator(1 if options.in_order else -1)
    generator.shuffle(numbers)
    held, seen = sorted(numbers[:1000]), numbers[1000:]
    training.fit(model, lambda: model.loss(generator.sample(seen, BATCH)), STEPS, 1e-2)
    found = model.translate(held)
    figures = {"numbers": len(held), "right": sum(text == french(n) for n, text in zip(held, found))}
    print(figures, model.loss(held).item())
    if not options.in_order:
        training.save(HERE, "expected.json", {**figures, "examples": [{"text": english(n), "result": text} for n, text in zip(held, found)][::10]})
        config = {"model_type": "recurrent-encoder-decoder", "architectures": ["RecurrentForConditionalGeneration"], "cell": "lstm", "vocab_size": len(SOURCE),
                  "decoder_vocab_size": len(TARGET), "embedding_size": WIDTH, "hidden_size": HIDDEN, "encoder_hidden_size": HIDDEN, "encoder_layers": LAYERS, "decoder_layers": LAYERS, "reverse_source": True,
                  "decoder_start_token_id": START, "eos_token_id": END, "max_length": 64, "torch_dtype": "float32"}
        training.saveModel(HERE, config, model, tokenizer=training.tokenizer(SOURCE, " "), target_tokenizer=training.tokenizer(TARGET, " "))


if __name__ == "__main__":
    main()
