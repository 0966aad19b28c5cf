#!/usr/bin/env python3
"""Trains grammar-writer, a character language model of two LSTM layers (Graves 2013), with PyTorch and writes the model directory.

    OMP_NUM_THREADS=1 /usr/bin/python3 train.py

The text is lines of a grammar in which a verb agrees with a subject that stands before a clause: "the dogs that the cat sees sleep."
The grammar knows the probability of each of its lines, so that the loss has a floor.
"""

import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

import grammar  # noqa: E402
import training  # noqa: E402

TOKENS = ["<unk>", "\n"] + sorted(set(grammar.CHARACTERS))
IDS = training.encoder(TOKENS)
WIDTH, HIDDEN, LENGTH, STEPS, BATCH = 16, 64, 64, 600, 16


class Writer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(len(TOKENS), WIDTH)
        self.rnn = torch.nn.LSTM(WIDTH, HIDDEN, num_layers=2, batch_first=True)
        self.lm_head = torch.nn.Linear(HIDDEN, len(TOKENS))

    def loss(self, texts):
        ids = torch.tensor([IDS(text) for text in texts])
        logits = self.lm_head(self.rnn(self.embedding(ids[:, :-1]))[0])
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())

    def goOn(self, text):
        """The likeliest characters up to the line's end."""
        states, ids = None, torch.tensor([IDS(text)])
        for _ in range(80):
            output, states = self.rnn(self.embedding(ids), states)
            ids = self.lm_head(output[:, -1:]).argmax(2)
            if TOKENS[int(ids)] == "\n":
                break
            text += TOKENS[int(ids)]
        return text


def main():
    training.arguments(__doc__)
    lines, model = grammar.Grammar(1), Writer()
    training.fit(model, lambda: model.loss([lines.text(LENGTH) for _ in range(BATCH)]), STEPS, 1e-2)
    held = grammar.Grammar(2)
    text = "".join(held.line() for _ in range(100))
    with open(os.path.join(HERE, "heldout.txt"), "w", encoding="utf-8") as file:
        file.write(text)
    with torch.no_grad():
        figures = {"loss": model.double().loss([text]).item(), "floor": held.nats / len(text), "characters": len(text) - 1}
        begins = ["the dogs that the cat sees", "the dog that the cats see", "two kings that hear a dog", "a king that hears two dogs",
                  "two horses that the child that two birds follow sees"]
        training.save(HERE, "expected.json", {**figures, "examples": [{"text": begin, "result": model.goOn(begin)[len(begin):]} for begin in begins]})
    print(figures, [model.goOn(begin) for begin in begins])
    config = {"model_type": "recurrent", "architectures": ["RecurrentForCausalLM"], "cell": "lstm", "vocab_size": len(TOKENS), "embedding_size": WIDTH,
              "hidden_size": HIDDEN, "num_layers": 2, "eos_token_id": 1, "max_length": 8192, "torch_dtype": "float32"}
    training.saveModel(HERE, config, model.float(), tokenizer=training.tokenizer(TOKENS, ""))


if __name__ == "__main__":
    main()
