#!/usr/bin/python3
"""Trains number-speller and writes this directory's Hugging Face files. Needs Debian's python3-torch and python3-numpy.

    OMP_NUM_THREADS=1 train.py [--steps N]    trains, measures, writes all files
    OMP_NUM_THREADS=1 train.py --evaluate     only measures model.safetensors and writes expected.json

expected.json has what PyTorch writes for every held-out number, how many are right, and by how much the chosen logits
lead at least. One seed fixes everything; with one thread the run is repeatable on one machine and one version of
PyTorch. Held-out numbers are only measured.
"""

import argparse
import json
import math
import os
import sys
import time

import numpy
import torch
import torch.nn.functional as F

import spelling

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Reference", "numpy"))
import tensorfiles  # noqa: E402

SEED = 6
WIDTH, SIZE, HEADS, INNER, LAYERS, BUCKETS, FARTHEST, EPSILON = 64, 16, 4, 128, 2, 32, 128, 1e-6
VOCABULARY, POSITIONS, LONGEST = len(spelling.PIECES), 64, 16
BATCH, RATE, WARMUP = 128, 2e-3, 200
# How often a number of 1, 2, ... 6 digits is drawn.
SHARES = (1, 2, 3, 4, 5, 6)

CONFIG = {
    "architectures": ["T5ForConditionalGeneration"], "d_ff": INNER, "d_kv": SIZE, "d_model": WIDTH,
    "decoder_start_token_id": spelling.PAD, "dropout_rate": 0.0, "eos_token_id": spelling.END, "feed_forward_proj": "gated-gelu",
    "is_encoder_decoder": True, "layer_norm_epsilon": EPSILON, "model_type": "t5", "n_positions": POSITIONS,
    "num_decoder_layers": LAYERS, "num_heads": HEADS, "num_layers": LAYERS, "pad_token_id": spelling.PAD,
    "relative_attention_max_distance": FARTHEST, "relative_attention_num_buckets": BUCKETS, "tie_word_embeddings": False,
    "torch_dtype": "float32", "use_cache": True, "vocab_size": VOCABULARY,
}
GENERATION = {"decoder_start_token_id": spelling.PAD, "eos_token_id": spelling.END, "pad_token_id": spelling.PAD}
TOKENIZER = {"eos_token": "</s>", "extra_ids": 0, "model_max_length": POSITIONS, "pad_token": "<pad>", "tokenizer_class": "T5Tokenizer", "unk_token": "<unk>"}


def linear(out, count, deviation=None):
    layer = torch.nn.Linear(count, out, bias=False)
    torch.nn.init.normal_(layer.weight, std=deviation or count**-0.5)
    return layer


class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * self.weight


class Attention(torch.nn.Module):
    def __init__(self, has_bias=False):
        super().__init__()
        self.q, self.o = linear(HEADS * SIZE, WIDTH, (WIDTH * SIZE) ** -0.5), linear(WIDTH, HEADS * SIZE)
        self.k, self.v = linear(HEADS * SIZE, WIDTH), linear(HEADS * SIZE, WIDTH)
        if has_bias:
            self.relative_attention_bias = torch.nn.Embedding(BUCKETS, HEADS)
            torch.nn.init.normal_(self.relative_attention_bias.weight, std=WIDTH**-0.5)

    def forward(self, x, seen, bias):
        cut = lambda y: y.unflatten(2, (HEADS, SIZE)).transpose(1, 2)
        scores = cut(self.q(x)) @ cut(self.k(seen)).transpose(2, 3) + bias
        return self.o((scores.softmax(3) @ cut(self.v(seen))).transpose(1, 2).flatten(2))

    def bias(self, length, bidirectional):
        relative = torch.arange(length)[None, :] - torch.arange(length)[:, None]
        count = BUCKETS // 2 if bidirectional else BUCKETS
        start = (relative > 0) * count if bidirectional else 0
        distance = relative.abs() if bidirectional else -relative.clamp(max=0)
        exact = count // 2
        far = exact + (torch.log(distance.clamp(min=1) / exact) / math.log(FARTHEST / exact) * (count - exact)).long()
        bucket = start + torch.where(distance < exact, distance, far.clamp(max=count - 1))
        bias = self.relative_attention_bias(bucket).permute(2, 0, 1)[None]
        return bias if bidirectional else bias + torch.full((length, length), -math.inf).triu(1)


class FeedForward(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wi_0, self.wi_1, self.wo = linear(INNER, WIDTH), linear(INNER, WIDTH), linear(WIDTH, INNER)

    def forward(self, x):
        return self.wo(F.gelu(self.wi_0(x), approximate="tanh") * self.wi_1(x))


def part(**modules):
    """A sublayer: its function under Hugging Face's name, and the norm before it."""
    return torch.nn.ModuleDict({**modules, "layer_norm": Norm()})


class Stack(torch.nn.Module):
    def __init__(self, is_decoder):
        super().__init__()
        self.is_decoder, self.block = is_decoder, torch.nn.ModuleList()
        for number in range(LAYERS):
            parts = [part(SelfAttention=Attention(number == 0))]
            if is_decoder:
                parts.append(part(EncDecAttention=Attention()))
            parts.append(part(DenseReluDense=FeedForward()))
            self.block.append(torch.nn.ModuleDict({"layer": torch.nn.ModuleList(parts)}))
        self.final_layer_norm = Norm()

    def forward(self, x, hidden=None, hidden_mask=None, mask=0):
        bias = self.block[0]["layer"][0]["SelfAttention"].bias(x.shape[1], not self.is_decoder) + mask
        for block in self.block:
            own, *cross, last = block["layer"]
            y = own["layer_norm"](x)
            x = x + own["SelfAttention"](y, y, bias)
            for other in cross:
                x = x + other["EncDecAttention"](other["layer_norm"](x), hidden, hidden_mask)
            x = x + last["DenseReluDense"](last["layer_norm"](x))
        return self.final_layer_norm(x)


class Model(torch.nn.Module):
    """Its state has the names of Hugging Face's T5ForConditionalGeneration."""

    def __init__(self):
        super().__init__()
        self.shared = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.encoder, self.decoder, self.lm_head = Stack(False), Stack(True), linear(VOCABULARY, WIDTH)

    def encode(self, ids):
        """Source ids [rows, length], padded with PAD: their states and the mask of scores."""
        mask = torch.where(ids == spelling.PAD, -math.inf, 0.0)[:, None, None, :]
        return self.encoder(self.shared(ids), mask=mask), mask

    def decode(self, tokens, hidden, mask):
        return self.lm_head(self.decoder(self.shared(tokens), hidden, mask))


def padded(rows):
    length = max(map(len, rows))
    return torch.tensor([row + [spelling.PAD] * (length - len(row)) for row in rows])


def batches(steps):
    """Numbers of all lengths, never a held-out one."""
    held, random = set(spelling.held_out()), numpy.random.RandomState(SEED)
    for _ in range(steps):
        numbers = []
        while len(numbers) < BATCH:
            digits = random.choice(len(SHARES), p=numpy.array(SHARES) / sum(SHARES)) + 1
            number = int(random.randint(*spelling.range_of(digits)))
            if number not in held:
                numbers.append(number)
        targets = [spelling.target(number) for number in numbers]
        yield padded([spelling.source(n) for n in numbers]), padded([[spelling.PAD] + t[:-1] for t in targets]), padded(targets)


def fit(model, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01, betas=(0.9, 0.98))
    begin, total = time.time(), 0.0
    for step, (sources, tokens, targets) in enumerate(batches(steps)):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min((step + 1) / WARMUP, 0.5 + 0.5 * math.cos(math.pi * step / steps))
        logits = model.decode(tokens, *model.encode(sources))
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=spelling.PAD)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        if (step + 1) % 250 == 0:
            print(f"step {step + 1}: loss {total / 250:.5f}, {time.time() - begin:.0f} s", flush=True)
            total = 0.0


def predict(model, numbers):
    """For each number the ids up to the end, chosen greedily, and the smallest lead of a chosen logit."""
    rows, smallest = [], math.inf
    with torch.no_grad():
        for first in range(0, len(numbers), 250):
            hidden, mask = model.encode(padded([spelling.source(n) for n in numbers[first : first + 250]]))
            tokens = torch.full((len(hidden), 1), spelling.PAD)
            done = torch.zeros(len(hidden), dtype=torch.bool)
            while not done.all() and tokens.shape[1] <= LONGEST:
                best = model.decode(tokens, hidden, mask)[:, -1].topk(2)
                smallest = min(smallest, float((best.values[:, 0] - best.values[:, 1])[~done].min()))
                tokens = torch.cat([tokens, best.indices[:, :1]], 1)
                done |= best.indices[:, 0] == spelling.END
            for row in tokens[:, 1:].tolist():
                rows.append(row[: row.index(spelling.END) + 1] if spelling.END in row else row)
    return rows, smallest


def load():
    model = Model()
    stored = tensorfiles.read(os.path.join(HERE, "model.safetensors"))
    model.load_state_dict({name: torch.tensor(tensor) for name, tensor in stored.items()})
    return model


def write(name, content):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2, sort_keys=True)
        file.write("\n")


def evaluate(model):
    numbers = spelling.held_out()
    rows, smallest = predict(model, numbers)
    texts = ["".join(spelling.PIECES[i] for i in row if i > spelling.UNKNOWN).replace(spelling.SPACE, " ").strip() for row in rows]
    right = sum(text == spelling.text(number) for number, text in zip(numbers, texts))
    write("expected.json", {"made_with": f"PyTorch {torch.__version__}, float32", "right": right / len(numbers), "smallest_lead": smallest,
                            "predictions": {str(number): text for number, text in zip(numbers, texts)}})
    print(f"right: {right} of {len(numbers)} held-out numbers; smallest lead of a chosen logit {smallest:.5f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--evaluate", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    if not options.evaluate:
        model = Model()
        print(f"{sum(p.numel() for p in model.parameters())} parameters", flush=True)
        fit(model, options.steps)
        tensors = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
        tensorfiles.write(os.path.join(HERE, "model.safetensors"), tensors, "F32")
        for name, content in (("config", CONFIG), ("generation_config", GENERATION), ("tokenizer_config", TOKENIZER), ("tokenizer", spelling.tokenizer())):
            write(name + ".json", content)
    evaluate(load())


if __name__ == "__main__":
    main()
