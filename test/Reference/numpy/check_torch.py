#!/usr/bin/python3
"""Checks gpt2.py against a GPT-2 of torch.nn modules in float64, on every configuration of cases.py. Run by hand, with
Debian's python3-torch; the result stands in README.md. The test command needs no PyTorch.
"""

import math
import sys
import tempfile

import numpy
import torch
from torch import nn

import cachetypes
import cases
import gpt2
import make_model

ACTIVATIONS = {
    "gelu": nn.GELU(), "gelu_new": nn.GELU(approximate="tanh"), "relu": nn.ReLU(), "silu": nn.SiLU(),
}


def linear(model, name):
    weight, bias = model.weight(name + ".weight"), model.weight(name + ".bias")
    module = nn.Linear(*weight.shape).double()
    module.weight.data, module.bias.data = torch.from_numpy(weight.T.copy()), torch.from_numpy(bias)
    return module


def norm(model, name):
    module = nn.LayerNorm(model.settings["n_embd"], eps=model.settings["layer_norm_epsilon"]).double()
    module.weight.data = torch.from_numpy(model.weight(name + ".weight"))
    module.bias.data = torch.from_numpy(model.weight(name + ".bias"))
    return module


def attention(model, layer):
    """nn.MultiheadAttention; its scale of 1/sqrt(head size) is corrected in the query's projection."""
    s, at = model.settings, f"h.{layer}.attn."
    size = s["n_embd"] // s["n_head"]
    factor = (1 if s["scale_attn_weights"] else math.sqrt(size)) / (layer + 1 if s["scale_attn_by_inverse_layer_idx"] else 1)
    weight, bias = model.weight(at + "c_attn.weight").T.copy(), model.weight(at + "c_attn.bias").copy()
    weight[: s["n_embd"]] *= factor
    bias[: s["n_embd"]] *= factor
    module = nn.MultiheadAttention(s["n_embd"], s["n_head"], batch_first=True).double()
    module.in_proj_weight.data, module.in_proj_bias.data = torch.from_numpy(weight), torch.from_numpy(bias)
    out = linear(model, at + "c_proj")
    module.out_proj.weight.data, module.out_proj.bias.data = out.weight.data, out.bias.data
    return module


def logits(model, ids):
    s, length = model.settings, len(ids)
    embed = lambda name, at: nn.Embedding.from_pretrained(torch.from_numpy(model.weight(name)))(torch.as_tensor(at))
    x = (embed("wte.weight", ids) + embed("wpe.weight", range(length)))[None]
    mask = torch.full((length, length), -math.inf, dtype=torch.float64).triu(1)
    for layer in range(s["n_layer"]):
        at = f"h.{layer}."
        y = norm(model, at + "ln_1")(x)
        x = x + attention(model, layer)(y, y, y, attn_mask=mask, need_weights=False)[0]
        mlp = nn.Sequential(linear(model, at + "mlp.c_fc"), ACTIVATIONS[s["activation_function"]], linear(model, at + "mlp.c_proj"))
        x = x + mlp(norm(model, at + "ln_2")(x))
    head = model.weight("wte.weight" if s["tie_word_embeddings"] else "lm_head.weight")
    return norm(model, "ln_f")(x)[0] @ torch.from_numpy(head).T


def main():
    torch.set_num_threads(1)
    worst = 0.0
    for name, (config, options) in cases.CASES.items():
        with tempfile.TemporaryDirectory() as directory:
            full = make_model.makeModel(directory, config, seed=7, **cachetypes.split(options)[0])
            model = gpt2.load(directory)
        length = min(full["n_positions"], 50)
        ids = numpy.random.RandomState(1).randint(0, full["vocab_size"], length)
        ours = model.logits(ids)
        cache = model.emptyCache()
        pieces = numpy.concatenate([model.logits(ids[a:b], cache) for a, b in ((0, 17), (17, 18), (18, length))])
        with torch.no_grad():
            theirs = logits(model, ids).numpy()
        error = max(numpy.linalg.norm(x - theirs) / numpy.linalg.norm(theirs) for x in (ours, pieces))
        worst = max(worst, error)
        print(f"{name}: relative L2 {error:.1e}")
    print(f"{len(cases.CASES)} configurations, largest relative L2 {worst:.1e}, PyTorch {torch.__version__}")
    sys.exit(1 if worst > 1e-13 else 0)


if __name__ == "__main__":
    main()
