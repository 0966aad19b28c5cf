#!/usr/bin/env python3
"""Trains verse-writer, a neural probabilistic language model (Bengio et al. 2003), with PyTorch and writes the model directory.

    OMP_NUM_THREADS=1 /usr/bin/python3 train.py

It reads the last ten characters. The text is the King James Bible's part in ../tiny-gpt/heldout.txt, whose last tenth is
held out here, too.
"""

import math
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import saving  # noqa: E402

CONTEXT, EMBEDDING, HIDDEN, STEPS, BATCH = 10, 16, 128, 2000, 256
UNKNOWN = "\ufffd"


class LanguageModel(torch.nn.Module):
    """The modules and parameters have the names of the checkpoint; docs/FeedForward.md has the equations."""

    def __init__(self, vocabulary):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, EMBEDDING)
        self.hidden = torch.nn.Linear(CONTEXT * EMBEDDING, HIDDEN)
        self.lm_head = torch.nn.Linear(HIDDEN, vocabulary)
        self.direct = torch.nn.Linear(CONTEXT * EMBEDDING, vocabulary, bias=False)

    def forward(self, ids):
        """Logits behind each of the tokens `ids`, which begin a text: zeros stand for the characters before."""
        x = torch.nn.functional.pad(self.embedding(ids), (0, 0, CONTEXT - 1, 0))
        return self.classify(x.unfold(0, CONTEXT, 1).transpose(1, 2))

    def classify(self, x):
        x = x.reshape(len(x), -1)
        return self.lm_head(torch.tanh(self.hidden(x))) + self.direct(x)


def train(model, ids):
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, STEPS)
    windows = ids.unfold(0, CONTEXT + 1, 1)
    for step in range(STEPS):
        batch = windows[torch.randint(0, len(windows), (BATCH,))]
        # A part of the contexts is a text's beginning, whose embeddings before are zeros.
        given = torch.arange(CONTEXT)[None] >= torch.randint(-6 * CONTEXT, CONTEXT, (BATCH, 1))
        x = torch.nn.functional.dropout(model.embedding(batch[:, :-1]) * given[..., None], 0.05)
        loss = torch.nn.functional.cross_entropy(model.classify(x), batch[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if (step + 1) % 1000 == 0:
            print(f"step {step + 1} loss {loss.item():.3f}", flush=True)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    with open(os.path.join(HERE, "..", "tiny-gpt", "heldout.txt"), encoding="utf-8") as file:
        text = file.read()
    characters = [UNKNOWN, *sorted(set(text))]
    numbers = {character: i for i, character in enumerate(characters)}
    ids = torch.tensor([numbers[character] for character in text])
    learned, held = ids[:len(ids) * 9 // 10], ids[len(ids) * 9 // 10:]
    model = LanguageModel(len(characters))
    train(model, learned)
    saving.saveModel(model, {"architectures": ["NeuralProbabilisticForCausalLM"], "model_type": "neural-probabilistic", "vocab_size": len(characters),
                             "context_size": CONTEXT, "embedding_size": EMBEDDING, "hidden_size": HIDDEN, "direct_connections": True, "max_length": 16384}, HERE)
    saving.saveCharacters(characters, HERE)
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(model(held)[:-1], held[1:]).item()
        texts = []
        for prompt in ("And God said", "The children of Israel", "In the day"):
            written, lead = [numbers[character] for character in prompt], math.inf
            for _ in range(64):
                best = model(torch.tensor(written))[-1].topk(2)
                written.append(int(best.indices[0]))
                lead = min(lead, (best.values[0] - best.values[1]).item())
            texts.append({"prompt": prompt, "text": "".join(characters[i] for i in written[len(prompt):]), "lead": lead})
    saving.save({"held": len(held), "loss": loss, "bits_per_character": loss / math.log(2), "greedy": texts}, HERE, "expected.json")
    with open(os.path.join(HERE, "heldout.txt"), "w", encoding="utf-8") as file:
        file.write("".join(characters[i] for i in held))
    print(f"loss {loss:.4f}, {loss / math.log(2):.3f} bits per character of {len(held)}")


if __name__ == "__main__":
    main()
