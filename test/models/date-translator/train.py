#!/usr/bin/env python3
"""Trains date-translator with PyTorch and writes the model directory.

    OMP_NUM_THREADS=1 /usr/bin/python3 train.py              trains, then writes model.safetensors, the files beside it, and what --evaluate writes
    OMP_NUM_THREADS=1 /usr/bin/python3 train.py --evaluate   only heldout.tsv and expected.json, from model.safetensors

A bidirectional LSTM reads the characters of a date; an LSTM with additive attention (Bahdanau et al. 2015) writes it as
ISO 8601. The loss is the cross entropy of the characters and, so that the alignment means something, that of the
attention's mass on the characters that a digit comes from (guided alignment, Chen et al. 2016).
"""

import argparse
import json
import os
import random
import struct
import time

import torch

import dates

HERE = os.path.dirname(os.path.abspath(__file__))
WIDTH, ENCODER, DECODER, ATTENTION, STEPS, BATCH, HELD = 32, 64, 96, 64, 2000, 128, 2000
TOKENS = dates.vocabulary()
IDS = {token: i for i, token in enumerate(TOKENS)}
START, END = IDS["<s>"], IDS["</s>"]
# The checkpoint has the vector that torch.nn.Linear(n, 1) keeps as a matrix of one row.
MATRIX, VECTOR = "attention.score.weight", "attention.score"
LENGTH = 11  # ten characters and the end


class Translator(torch.nn.Module):
    """The modules and parameters have the names of the checkpoint; docs/Recurrent.md has the equations."""

    def __init__(self):
        super().__init__()
        nn = torch.nn
        self.encoder_embedding, self.decoder_embedding = nn.Embedding(len(TOKENS), WIDTH), nn.Embedding(len(TOKENS), WIDTH)
        self.encoder = nn.LSTM(WIDTH, ENCODER, bidirectional=True, batch_first=True)
        self.decoder = nn.LSTM(WIDTH + 2 * ENCODER, DECODER, batch_first=True)
        self.bridge = nn.ModuleDict({part: nn.Linear(2 * ENCODER, DECODER) for part in ("h_l0", "c_l0")})
        self.attention = nn.ModuleDict({"query": nn.Linear(DECODER, ATTENTION, bias=False), "key": nn.Linear(2 * ENCODER, ATTENTION, bias=False),
                                        "score": nn.Linear(ATTENTION, 1, bias=False)})
        self.lm_head = nn.Linear(DECODER + 2 * ENCODER + WIDTH, len(TOKENS))

    def encode(self, ids, lengths):
        packed = torch.nn.utils.rnn.pack_padded_sequence(self.encoder_embedding(ids), lengths, batch_first=True, enforce_sorted=False)
        outputs, (h, _) = self.encoder(packed)
        memory, _ = torch.nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
        last = torch.cat([h[0], h[1]], 1)
        state = tuple(torch.tanh(self.bridge[part](last))[None] for part in ("h_l0", "c_l0"))
        mask = torch.arange(memory.shape[1])[None] < lengths[:, None]
        return (memory, self.attention["key"](memory), mask), state

    def step(self, tokens, state, source):
        memory, keys, mask = source
        scores = self.attention["score"](torch.tanh(self.attention["query"](state[0][-1])[:, None] + keys))[..., 0]
        weights = torch.softmax(scores.masked_fill(~mask, -1e30), 1)
        context = (weights[:, None] @ memory)[:, 0]
        embedded = self.decoder_embedding(tokens)
        output, state = self.decoder(torch.cat([embedded, context], 1)[:, None], state)
        return self.lm_head(torch.cat([output[:, 0], context, embedded], 1)), state, weights


def idsOf(text):
    return [IDS.get(c, IDS["<unk>"]) for c in text.lower()]


def batchOf(examples):
    sources = [idsOf(source) for source, _, _ in examples]
    lengths = torch.tensor([len(ids) for ids in sources])
    most = int(lengths.max())
    ids = torch.tensor([row + [0] * (most - len(row)) for row in sources])
    targets = torch.tensor([idsOf(target) + [END] for _, target, _ in examples])
    spans = torch.zeros(len(examples), LENGTH, most)
    for row, (_, _, found) in enumerate(examples):
        for i, span in enumerate(found):
            if span:
                spans[row, i, span[0]:span[1]] = 1
    return ids, lengths, targets, spans


def lossOf(model, batch):
    ids, lengths, targets, spans = batch
    source, state = model.encode(ids, lengths)
    tokens, loss = torch.full((len(ids),), START), 0
    for i in range(LENGTH):
        logits, state, weights = model.step(tokens, state, source)
        loss = loss + torch.nn.functional.cross_entropy(logits, targets[:, i])
        guided = spans[:, i].any(1)
        if guided.any():
            loss = loss - 0.3 * torch.log((weights * spans[:, i]).sum(1)[guided] + 1e-9).mean()
        tokens = targets[:, i]
    return loss / LENGTH


def train(model):
    generator = random.Random(1)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, STEPS)
    begin = time.time()
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = lossOf(model, batchOf([dates.example(generator, False) for _ in range(BATCH)]))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        schedule.step()
        if (step + 1) % 100 == 0:
            print(f"step {step + 1} loss {loss.item():.4f}, {time.time() - begin:.0f} s", flush=True)


@torch.no_grad()
def translate(model, texts):
    """Greedy: of each text the ISO date that the model writes and the place of each step's largest attention weight."""
    results = []
    for text in texts:
        ids = torch.tensor([idsOf(text)])
        source, state = model.encode(ids, torch.tensor([len(text)]))
        token, written, places = torch.tensor([START]), [], []
        while len(written) < 2 * LENGTH:
            logits, state, weights = model.step(token, state, source)
            token = logits.argmax(1)
            if int(token) == END:
                break
            written.append(TOKENS[int(token)])
            places.append(int(weights.argmax()))
        results.append(("".join(written), places))
    return results


def evaluate(model):
    generator = random.Random(2)
    examples = [dates.example(generator, True) for _ in range(HELD)]
    found = translate(model, [source for source, _, _ in examples])
    right = sum(text == target for (text, _), (_, target, _) in zip(found, examples))
    digits = aligned = 0
    for (text, places), (_, target, spans) in zip(found, examples):
        for i, span in enumerate(spans):
            if span and i < len(places):
                digits += 1
                aligned += span[0] <= places[i] < span[1]
    with open(os.path.join(HERE, "heldout.tsv"), "w", encoding="utf-8") as file:
        file.writelines(f"{source}\t{target}\t{text}\n" for (source, target, _), (text, _) in zip(examples, found))
    save({"dates": HELD, "right": right, "digits": digits, "aligned": aligned}, "expected.json")
    print(f"{right} of {HELD} dates right, {100 * aligned / digits:.2f} % of {digits} digits aligned")


def save(value, name):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1, ensure_ascii=False)
        file.write("\n")


def saveWeights(model):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, value in model.state_dict().items():
        if name == MATRIX:
            name, value = VECTOR, value[0]
        bytes_ = value.detach().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(bytes_)]}
        data += bytes_
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(HERE, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def loadWeights(model):
    with open(os.path.join(HERE, "model.safetensors"), "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    state = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            values = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32).reshape(entry["shape"])
            state[MATRIX if name == VECTOR else name] = values[None] if name == VECTOR else values
    model.load_state_dict(state)


def saveFiles():
    save({
        "architectures": ["RecurrentForConditionalGeneration"], "model_type": "recurrent-encoder-decoder", "cell": "lstm", "vocab_size": len(TOKENS),
        "embedding_size": WIDTH, "encoder_hidden_size": ENCODER, "hidden_size": DECODER, "bidirectional": True, "attention": "bahdanau",
        "attention_size": ATTENTION, "bridge": "dense", "max_length": 64, "decoder_start_token_id": START, "eos_token_id": END, "torch_dtype": "float32",
    }, "config.json")
    special = [{"id": i, "content": TOKENS[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i in range(4)]
    save({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": {"type": "Lowercase"}, "pre_tokenizer": None,
        "post_processor": None, "decoder": {"type": "Fuse"},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                  "byte_fallback": False, "vocab": IDS, "merges": []},
    }, "tokenizer.json")
    save({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "clean_up_tokenization_spaces": False,
          "tokenizer_class": "PreTrainedTokenizerFast"}, "tokenizer_config.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluate", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Translator()
    if options.evaluate:
        loadWeights(model)
    else:
        train(model)
        saveFiles()
        saveWeights(model)
    evaluate(model)


if __name__ == "__main__":
    main()
