#!/usr/bin/python3
"""Trains shape-captioner. Needs Debian's python3-torch, python3-numpy, python3-pil.

    OMP_NUM_THREADS=1 train.py [--steps N]    draws the pictures (scenes.py), trains, writes model.safetensors, and what --evaluate writes
    OMP_NUM_THREADS=1 train.py --evaluate     only expected.json and golden/, from model.safetensors

The loss is the cross entropy of the words and, so that the attention means something, that of its mass on the shape that a word is
about (guided alignment, Chen et al. 2016). One seed fixes everything. Held-out pictures are only measured.
"""

import json
import os
import sys
import time

import numpy
import PIL.Image
import torch
from torch.nn import functional as F

import scenes
from network import CONFIG, HERE, Captioner

sys.path.insert(0, os.path.join(HERE, "..", "..", "Reference", "numpy"))
import tensorfiles  # noqa: E402

STEPS, BATCH, PICTURES, HELD, GOLDEN, LENGTH, GRID = 1400, 64, 9000, 1000, 8, 18, 8
PATH, PAD, START, END = os.path.join(HERE, "model.safetensors"), 0, CONFIG["decoder_start_token_id"], CONFIG["eos_token_id"]


def load(seed, count):
    """Pixels, ids, for each id the cells [8 x 8] of the grid that touch the box of its shape (zeros: it is about none), captions."""
    cell, side = scenes.SIDE // GRID, numpy.arange(GRID)
    found = [scenes.scene(seed, i) for i in range(count)]
    ids, looks = numpy.full((count, LENGTH), PAD), numpy.zeros((count, LENGTH, GRID * GRID), numpy.float32)
    for row, (_, words, boxes, about) in enumerate(found):
        ids[row, :len(words) + 1] = [scenes.WORDS.index(word) for word in words] + [END]
        for place, shape in enumerate(about):
            if shape >= 0:
                left, top, right, bottom = (edge / cell for edge in boxes[shape])
                touches = lambda low, high: (side + 1 > low) & (side < high)
                looks[row, place] = numpy.outer(touches(top, bottom), touches(left, right)).ravel()
    pixels = numpy.stack([pixels for pixels, _, _, _ in found]).astype(numpy.float32).transpose(0, 3, 1, 2) / 127.5 - 1
    return torch.tensor(pixels), torch.tensor(ids), torch.tensor(looks), [" ".join(words) for _, words, _, _ in found]


def train(model, steps):
    (pixels, ids, looks, _), begin = load(scenes.TRAINING, PICTURES), time.time()
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, steps)
    for number in range(steps):
        chosen = torch.randint(PICTURES, (BATCH,))
        (source, state), token, loss = model.encode(pixels[chosen]), torch.full((BATCH,), START), 0
        for i in range(LENGTH):
            logits, state, alpha = model.step(token, state, source)
            token, look = ids[chosen, i], looks[chosen, i]
            loss = loss + F.cross_entropy(logits, token, ignore_index=PAD, reduction="sum") / BATCH
            loss = loss - 0.3 * (torch.log((alpha * look).sum(1) + 1e-9) * look.any(1)).mean()
        optimizer.zero_grad()
        (loss / LENGTH).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        schedule.step()
        if (number + 1) % 100 == 0:
            print(f"step {number + 1}: loss {loss.item() / LENGTH:.4f}, {time.time() - begin:.0f} s", flush=True)


@torch.no_grad()
def evaluate(model):
    pixels, _, looks, captions = load(scenes.HELD_OUT, HELD)
    (source, state), token, ids, words, hits = model.encode(pixels), torch.full((HELD,), START), [], 0, 0
    for i in range(LENGTH):
        logits, state, alpha = model.step(token, state, source)
        token, isWord = logits.argmax(1), looks[:, i].any(1)
        ids, words = ids + [token], words + int(isWord.sum())
        hits += int((looks[:, i].gather(1, alpha.argmax(1, keepdim=True))[:, 0] * isWord).sum())
    rows = [row[:row.index(END)] if END in row else row for row in torch.stack(ids, 1).tolist()]
    made = [" ".join(scenes.WORDS[i] for i in row) for row in rows]
    right = sum(a == b for a, b in zip(made, captions))
    os.makedirs(os.path.join(HERE, "golden"), exist_ok=True)
    for i in range(GOLDEN):
        PIL.Image.fromarray(scenes.scene(scenes.HELD_OUT, i)[0]).save(os.path.join(HERE, "golden", f"{i}.png"), optimize=True)
    with open(os.path.join(HERE, "expected.json"), "w", encoding="utf-8") as file:
        json.dump({"pictures": HELD, "right": right, "words": words, "looked_at": hits, "captions": made}, file, indent=1)
        file.write("\n")
    print(f"{right} of {HELD} captions right; {hits} of {words} times the largest weight lies on the shape")


if __name__ == "__main__":
    torch.manual_seed(2015)
    torch.set_num_threads(1)
    model = Captioner()
    if "--evaluate" not in sys.argv:
        train(model, int(sys.argv[2]) if "--steps" in sys.argv else STEPS)
        tensorfiles.write(PATH, {name: value.numpy() for name, value in model.state_dict().items()}, "F16")
    model.load_state_dict({name: torch.tensor(value.astype(numpy.float32)) for name, value in tensorfiles.read(PATH).items()})
    evaluate(model)
