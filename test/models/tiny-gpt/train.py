#!/usr/bin/python3
"""Trains tiny-gpt and writes this directory's Hugging Face files. Needs Debian's python3-torch, python3-numpy, bible-kjv.

    OMP_NUM_THREADS=1 train.py --work /tmp/tiny-gpt              train, or go on from the last checkpoint there
    OMP_NUM_THREADS=1 train.py --work /tmp/tiny-gpt --evaluate   only expected.json, from model.safetensors

Every --save steps the checkpoint, the model and expected.json are written, so that a run may be cut short; the learning
rate falls to zero at --steps. One seed fixes the initial weights, the separators and the order of the windows; with
one thread the run is repeatable on one machine and one version of PyTorch. The held-out text is only measured, never
used to choose anything.
"""

import argparse
import hashlib
import json
import math
import os
import struct
import time

import numpy
import torch
import torch.nn.functional as F

import bytepair
import text

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 1611
VOCABULARY, POSITIONS, WIDTH, LAYERS, HEADS, INNER, EPSILON = 1536, 256, 128, 4, 4, 384, 1e-5
BATCH, PEAK_RATE, WARMUP, DECAY = 8, 3e-3, 200, 0.1
PROMPTS = ["And God said,", "Genesis 1\nIn the beginning"]
CONTINUATION = 64

CONFIG = {
    "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.0,
    "bos_token_id": VOCABULARY - 1, "embd_pdrop": 0.0, "eos_token_id": VOCABULARY - 1, "initializer_range": 0.02,
    "layer_norm_epsilon": EPSILON, "model_type": "gpt2", "n_ctx": POSITIONS, "n_embd": WIDTH, "n_head": HEADS,
    "n_inner": INNER, "n_layer": LAYERS, "n_positions": POSITIONS, "resid_pdrop": 0.0, "scale_attn_weights": True,
    "tie_word_embeddings": True, "torch_dtype": "float32", "use_cache": True, "vocab_size": VOCABULARY,
}
GENERATION = {"_from_model_config": True, "bos_token_id": VOCABULARY - 1, "eos_token_id": VOCABULARY - 1}
TOKENIZER = {
    "add_prefix_space": False, "bos_token": bytepair.END_OF_TEXT, "clean_up_tokenization_spaces": False,
    "eos_token": bytepair.END_OF_TEXT, "model_max_length": POSITIONS, "tokenizer_class": "GPT2Tokenizer",
    "unk_token": bytepair.END_OF_TEXT,
}


def shapes():
    """Name -> shape in the order of the file. The four matmuls of a layer are stored [in, out], as GPT-2 does."""
    table = {"wte.weight": (VOCABULARY, WIDTH), "wpe.weight": (POSITIONS, WIDTH)}
    for layer in range(LAYERS):
        for name, shape in (
            ("ln_1.weight", (WIDTH,)), ("ln_1.bias", (WIDTH,)),
            ("attn.c_attn.weight", (WIDTH, 3 * WIDTH)), ("attn.c_attn.bias", (3 * WIDTH,)),
            ("attn.c_proj.weight", (WIDTH, WIDTH)), ("attn.c_proj.bias", (WIDTH,)),
            ("ln_2.weight", (WIDTH,)), ("ln_2.bias", (WIDTH,)),
            ("mlp.c_fc.weight", (WIDTH, INNER)), ("mlp.c_fc.bias", (INNER,)),
            ("mlp.c_proj.weight", (INNER, WIDTH)), ("mlp.c_proj.bias", (WIDTH,)),
        ):
            table[f"h.{layer}.{name}"] = shape
    table.update({"ln_f.weight": (WIDTH,), "ln_f.bias": (WIDTH,)})
    return table


def initial():
    generator = torch.Generator().manual_seed(SEED)
    weights = {}
    for name, shape in shapes().items():
        if name.endswith("bias"):
            weights[name] = torch.zeros(shape)
        elif len(shape) == 1:
            weights[name] = torch.ones(shape)
        else:
            scale = 0.02 if name.startswith("w") else 1 / math.sqrt(shape[0])
            if name.endswith("c_proj.weight"):
                scale /= math.sqrt(2 * LAYERS)
            weights[name] = torch.randn(shape, generator=generator) * scale
        weights[name].requires_grad_(True)
    return weights


def forward(weights, ids):
    """Logits [batch, length, VOCABULARY] of ids [batch, length]."""
    batch, length = ids.shape
    size = WIDTH // HEADS
    x = F.embedding(ids, weights["wte.weight"]) + weights["wpe.weight"][:length]
    norm = lambda x, name: F.layer_norm(x, (WIDTH,), weights[name + ".weight"], weights[name + ".bias"], EPSILON)
    linear = lambda x, name: torch.addmm(weights[name + ".bias"], x.reshape(-1, x.shape[-1]), weights[name + ".weight"])
    mask = torch.full((length, length), -math.inf).triu(1)
    for layer in range(LAYERS):
        at = f"h.{layer}."
        qkv = linear(norm(x, at + "ln_1"), at + "attn.c_attn").view(batch, length, 3, HEADS, size).permute(2, 0, 3, 1, 4)
        scores = qkv[0] @ qkv[1].transpose(-1, -2) * (1 / math.sqrt(size)) + mask
        mixed = (scores.softmax(-1) @ qkv[2]).transpose(1, 2).reshape(batch, length, WIDTH)
        x = x + linear(mixed, at + "attn.c_proj").view(batch, length, WIDTH)
        inner = F.gelu(linear(norm(x, at + "ln_2"), at + "mlp.c_fc"), approximate="tanh")
        x = x + linear(inner, at + "mlp.c_proj").view(batch, length, WIDTH)
    return norm(x, "ln_f") @ weights["wte.weight"].T


def saveSafetensors(weights, path):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in weights.items():
        end = offset + 4 * tensor.numel()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    with open(path + ".part", "wb") as file:
        file.write(struct.pack("<Q", len(encoded)) + encoded)
        for tensor in weights.values():
            file.write(tensor.detach().numpy().astype("<f4").tobytes())
    os.replace(path + ".part", path)


def loadSafetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__")
    at = lambda entry: numpy.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"]).copy()
    return {name: torch.from_numpy(at(entry)) for name, entry in header.items()}


def saveJson(value, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=2)
        file.write("\n")


def evaluate(weights, pairs, data):
    """The loss of `data` by the rule of docs/TinyGPT.md, with its bits per byte."""
    ids = pairs.encode(data)
    total, windows, done = 0.0, 0, 1
    with torch.no_grad():
        while done < len(ids):
            end = min(len(ids), POSITIONS if done == 1 else done + POSITIONS - 1)
            begin = max(0, end - POSITIONS)
            logits = forward(weights, torch.tensor([ids[begin : end - 1]]))[0, done - begin - 1 :].double()
            total -= logits.log_softmax(-1)[torch.arange(end - done), ids[done:end]].sum().item()
            done, windows = end, windows + 1
    predicted, size = len(ids) - 1, len(pairs.decode(ids[1:]))
    return {
        "tokens": len(ids), "windows": windows, "predicted_tokens": predicted, "predicted_bytes": size,
        "loss": total / predicted, "bits_per_byte": total / math.log(2) / size,
    }


def continuation(weights, pairs, prompt):
    """CONTINUATION greedy tokens; the smallest lead of a chosen logit says how safe the comparison is."""
    ids = pairs.encode(prompt.encode("ascii"))
    begin, lead = len(ids), math.inf
    with torch.no_grad():
        for _ in range(CONTINUATION):
            best = forward(weights, torch.tensor([ids]))[0, -1].topk(2)
            lead = min(lead, (best.values[0] - best.values[1]).item())
            ids.append(best.indices[0].item())
    return {
        "prompt": prompt, "prompt_ids": ids[:begin], "continuation_ids": ids[begin:],
        "continuation": pairs.decode(ids[begin:]).decode("ascii"), "smallest_lead": lead,
    }


def writeExpected(weights, pairs, held):
    expected = {
        "made_with": f"PyTorch {torch.__version__}, float32", "held_out": "heldout.txt",
        "held_out_sha256": hashlib.sha256(held).hexdigest(), **evaluate(weights, pairs, held),
        "greedy": [continuation(weights, pairs, prompt) for prompt in PROMPTS],
    }
    saveJson(expected, os.path.join(HERE, "expected.json"))
    return expected


def stream(pairs, chapters):
    """All training chapters as one row of ids; half of the separators are empty lines, half <|endoftext|>."""
    coins = numpy.random.RandomState(SEED).randint(0, 2, len(chapters))
    newline = pairs.encode(b"\n")
    ids = []
    for coin, chapter in zip(coins, chapters):
        ids += [pairs.endOfText] if coin else newline
        ids += pairs.encode(chapter.encode("ascii"))
    return torch.tensor(ids)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", required=True)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--save", type=int, default=500)
    parser.add_argument("--evaluate", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    model, vocabulary = os.path.join(HERE, "model.safetensors"), os.path.join(HERE, "tokenizer.json")
    if options.evaluate:
        with open(os.path.join(HERE, "heldout.txt"), "rb") as file:
            print(json.dumps(writeExpected(loadSafetensors(model), bytepair.load(vocabulary), file.read()), indent=2))
        return

    os.makedirs(options.work, exist_ok=True)
    kept, heldChapters = text.split(text.chapters())
    held = text.join(heldChapters)
    with open(os.path.join(HERE, "heldout.txt"), "wb") as file:
        file.write(held)
    if not os.path.exists(os.path.join(options.work, "tokenizer.json")):
        bytepair.train(text.join(kept), VOCABULARY).save(os.path.join(options.work, "tokenizer.json"))
    pairs = bytepair.load(os.path.join(options.work, "tokenizer.json"))
    pairs.save(vocabulary)
    for name, value in (("config", CONFIG), ("generation_config", GENERATION), ("tokenizer_config", TOKENIZER)):
        saveJson(value, os.path.join(HERE, name + ".json"))

    ids = stream(pairs, kept)
    weights = initial()
    print(f"{ids.numel()} training tokens, {sum(w.numel() for w in weights.values())} parameters", flush=True)
    matrices = [w for w in weights.values() if w.dim() == 2]
    vectors = [w for w in weights.values() if w.dim() == 1]
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=PEAK_RATE, betas=(0.9, 0.95))
    checkpoint, first = os.path.join(options.work, "checkpoint.pt"), 0
    if os.path.exists(checkpoint):
        state = torch.load(checkpoint)
        first = state["step"]
        optimizer.load_state_dict(state["optimizer"])
        with torch.no_grad():
            for name, tensor in weights.items():
                tensor.copy_(state["weights"][name])

    started = time.monotonic()
    for step in range(first, options.steps):
        rate = PEAK_RATE * min((step + 1) / WARMUP, (options.steps - step) / (options.steps - WARMUP), 1)
        for group in optimizer.param_groups:
            group["lr"] = rate
        at = numpy.random.RandomState([SEED, step]).randint(0, ids.numel() - POSITIONS, BATCH)
        windows = torch.stack([ids[i : i + POSITIONS + 1] for i in at])
        logits = forward(weights, windows[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, VOCABULARY), windows[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
        optimizer.step()
        if (step + 1) % 50 == 0:
            print(f"step {step + 1} loss {loss.item():.4f} {time.monotonic() - started:.0f} s", flush=True)
        if (step + 1) % options.save == 0 or step + 1 == options.steps:
            state = {"step": step + 1, "weights": weights, "optimizer": optimizer.state_dict()}
            torch.save(state, checkpoint + ".part")
            os.replace(checkpoint + ".part", checkpoint)
            saveSafetensors(weights, model)
            expected = writeExpected(weights, pairs, held)
            print(f"step {step + 1} held-out {expected['loss']:.4f} bits/byte {expected['bits_per_byte']:.4f}", flush=True)


if __name__ == "__main__":
    main()
