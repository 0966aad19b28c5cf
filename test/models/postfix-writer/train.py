#!/usr/bin/env python3
"""Trains postfix-writer, an encoder-decoder with general attention and input feeding (Luong et al. 2015), with PyTorch.

    OMP_NUM_THREADS=1 /usr/bin/python3 train.py

Modules have the names of docs/Recurrent.md. It writes expressions in reverse Polish notation: each character that it writes is one of the source, at another place. The loss has
a term for the attention's mass on that character (guided alignment, Chen et al. 2016).
"""

import os
import random
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

import postfix  # noqa: E402
import training  # noqa: E402
from training import END, SPECIAL, START  # noqa: E402

TOKENS = SPECIAL + list(postfix.LETTERS + "+-*/()")
IDS = training.encoder(TOKENS)
WIDTH, ENCODER, HIDDEN, STEPS, BATCH = 16, 32, 64, 800, 64


class Writer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        nn, memory = torch.nn, 2 * ENCODER
        self.encoder_embedding, self.decoder_embedding = nn.Embedding(len(TOKENS), WIDTH), nn.Embedding(len(TOKENS), WIDTH)
        self.encoder = nn.LSTM(WIDTH, ENCODER, bidirectional=True, batch_first=True)
        self.decoder = nn.LSTM(WIDTH + HIDDEN, HIDDEN, batch_first=True)
        self.bridge = nn.ModuleDict({part: nn.Linear(memory, HIDDEN) for part in ("h_l0", "c_l0")})
        self.attention = nn.ModuleDict({"key": nn.Linear(memory, HIDDEN, bias=False), "combine": nn.Linear(memory + HIDDEN, HIDDEN, bias=False)})
        self.lm_head = nn.Linear(HIDDEN, len(TOKENS))

    def encode(self, texts):
        ids, lengths = training.padded(map(IDS, texts))
        memory, (h, _) = training.run(self.encoder, self.encoder_embedding(ids), lengths)
        last = torch.cat([h[0], h[1]], 1)
        states = tuple(torch.tanh(self.bridge[part](last))[None] for part in ("h_l0", "c_l0"))
        return (memory, self.attention["key"](memory), torch.arange(memory.shape[1]) < lengths[:, None]), (states, torch.zeros(len(texts), HIDDEN))

    def step(self, ids, state, source):
        (memory, keys, mask), (states, fed) = source, state
        output, states = self.decoder(torch.cat([self.decoder_embedding(ids), fed], 1)[:, None], states)
        scores = (keys @ output[:, 0, :, None])[..., 0].masked_fill(~mask, -1e30)
        weights = torch.softmax(scores, 1)
        context = (weights[:, None] @ memory)[:, 0]
        fed = torch.tanh(self.attention["combine"](torch.cat([context, output[:, 0]], 1)))
        return self.lm_head(fed), (states, fed), weights

    def loss(self, examples):
        source, state = self.encode([text for text, _ in examples])
        ids, _ = training.padded([[START] + IDS(text[i] for i in order) + [END] for text, order in examples])
        places, _ = training.padded([order + [-1] for _, order in examples])
        known, logits, mass = ids[:, 1:] > END, [], []
        for i in range(ids.shape[1] - 1):
            made, state, weights = self.step(ids[:, i], state, source)
            logits.append(made)
            mass.append(weights.gather(1, places[:, i, None].clamp(min=0))[:, 0])
        return training.crossEntropy(torch.stack(logits, 1), ids[:, 1:]) - 0.3 * torch.log(torch.stack(mass, 1) + 1e-9)[known].mean()

    @torch.no_grad()
    def convert(self, texts):
        source, state = self.encode(texts)
        ids, made, places = torch.full((len(texts),), START), [], []
        for _ in range(2 * postfix.MOST):
            logits, state, weights = self.step(ids, state, source)
            ids = logits.argmax(1)
            made.append(ids)
            places.append(weights.argmax(1))
        made, places = torch.stack(made, 1).tolist(), torch.stack(places, 1).tolist()
        ends = [(row + [END]).index(END) for row in made]
        return [("".join(TOKENS[i] for i in row[:end]), where[:end]) for row, where, end in zip(made, places, ends)]


def main():
    training.arguments(__doc__)
    generator, model = random.Random(1), Writer()
    training.fit(model, lambda: model.loss([postfix.example(generator) for _ in range(BATCH)]), STEPS, 5e-3)
    held = random.Random(2)
    texts = [postfix.example(held) for _ in range(1000)]
    found = model.convert([text for text, _ in texts])
    right = sum(made == "".join(text[i] for i in order) for (made, _), (text, order) in zip(found, texts))
    aligned = sum(a == b for (_, where), (_, order) in zip(found, texts) for a, b in zip(where, order))
    figures = {"expressions": len(texts), "right": right, "characters": sum(len(order) for _, order in texts), "aligned": aligned}
    print(figures)
    examples = [{"text": text, "result": made, "alignment": where} for (text, _), (made, where) in zip(texts, found)][:40]
    training.save(HERE, "expected.json", {**figures, "examples": examples})
    config = {"model_type": "recurrent-encoder-decoder", "architectures": ["RecurrentForConditionalGeneration"], "cell": "lstm", "vocab_size": len(TOKENS),
              "embedding_size": WIDTH, "encoder_hidden_size": ENCODER, "hidden_size": HIDDEN, "bidirectional": True, "attention": "luong_general",
              "input_feeding": True, "encoder_layers": 1, "decoder_layers": 1, "decoder_start_token_id": START, "eos_token_id": END, "max_length": 64, "torch_dtype": "float32"}
    training.saveModel(HERE, config, model, tokenizer=training.tokenizer(TOKENS, ""))


if __name__ == "__main__":
    main()
