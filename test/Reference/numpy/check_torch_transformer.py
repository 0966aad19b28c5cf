#!/usr/bin/python3
"""Checks transformer.py against torch.nn.Transformer in float64, with torch's own loading of the tensors' names, on every
configuration of test/Execute/transformer_random.py. Run by hand, with Debian's python3-torch; the result stands in
README.md. The test command needs no PyTorch.
"""

import math
import os
import sys
import tempfile

import numpy
import torch
from torch import nn

import transformer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Execute"))
import transformer_random  # noqa: E402


def module(model):
    s = model.settings
    built = nn.Transformer(
        s["d_model"], s["nhead"], s["num_encoder_layers"], s["num_decoder_layers"], s["dim_feedforward"], dropout=0.0, activation=s["activation"],
        layer_norm_eps=s["layer_norm_eps"], batch_first=True, norm_first=s["norm_first"], dtype=torch.float64)
    if not s["final_norm"]:
        built.encoder.norm = built.decoder.norm = None
    names = {name for name in model.tensors if name.startswith(("encoder.", "decoder."))}
    built.load_state_dict({name: torch.from_numpy(model.tensors[name].astype(numpy.float64)) for name in names})
    return built.eval()


def embed(model, ids, name):
    """The positional encoding of PyTorch's tutorial on this module."""
    s = model.settings
    width, tensor = s["d_model"], torch.from_numpy(model.tensors[name].astype(numpy.float64))
    position = torch.arange(len(ids), dtype=torch.float64)[:, None]
    divisor = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))
    table = torch.zeros(len(ids), width, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * divisor)
    table[:, 1::2] = torch.cos(position * divisor[: width // 2])
    return (tensor[torch.from_numpy(ids)] * (math.sqrt(width) if s["scale_embedding"] else 1) + table)[None]


def results(model, sources, targets):
    """The encoder's output and the logits of each row; rows are batched with torch's padding masks."""
    s, built = model.settings, module(model)
    tables = ("embedding.weight",) * 2 if s["share_embeddings"] else ("src_embedding.weight", "tgt_embedding.weight")
    pad = lambda rows: nn.utils.rnn.pad_sequence([row[0] for row in rows], batch_first=True)
    absent = lambda rows: torch.tensor([[i >= len(row) for i in range(max(map(len, rows)))] for row in rows])
    hidden = built.encoder(pad([embed(model, row, tables[0]) for row in sources]), src_key_padding_mask=absent(sources))
    longest = max(map(len, targets))
    causal = torch.full((longest, longest), -math.inf, dtype=torch.float64).triu(1)
    x = built.decoder(pad([embed(model, row, tables[1]) for row in targets]), hidden, tgt_mask=causal, tgt_key_padding_mask=absent(targets),
                      memory_key_padding_mask=absent(sources))
    head = model.tensors[tables[1] if s["tie_word_embeddings"] else "generator.weight"].astype(numpy.float64)
    bias = model.tensors["generator.bias"].astype(numpy.float64) if s["generator_bias"] else 0
    return [(h[: len(a)].numpy(), y[: len(b)].numpy() @ head.T + bias) for h, y, a, b in zip(hidden, x, sources, targets)]


def main():
    torch.set_num_threads(1)
    worst, random = 0.0, numpy.random.RandomState(1)
    for name in transformer_random.CASES:
        with tempfile.TemporaryDirectory() as directory:
            model = transformer_random.build(name, directory)
        rows = lambda lengths, size: [random.randint(0, model.settings[size], length) for length in lengths]
        sources, targets = rows((5, 70, 1), "vocab_size"), rows((9, 1, 33), "decoder_vocab_size")
        with torch.no_grad():
            theirs = results(model, sources, targets)
        largest = 0.0
        for source, target, (hidden, logits) in zip(sources, targets, theirs):
            ours = model.encode(source)
            cache = []
            pieces = [model.decode(target[a:b], ours, cache) for a, b in ((0, 4), (4, 5), (5, len(target))) if a < min(b, len(target))]
            for mine, other in ((ours, hidden), (model.decode(target, ours), logits), (numpy.concatenate(pieces), logits)):
                largest = max(largest, numpy.linalg.norm(mine - other) / numpy.linalg.norm(other))
        print(f"{name}: {largest:.1e}", flush=True)
        worst = max(worst, largest)
    print(f"largest relative L2 {worst:.1e}")
    sys.exit(worst > 1e-12)


if __name__ == "__main__":
    main()
