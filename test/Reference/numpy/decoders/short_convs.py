"""The lfm2 and lfm2_moe families: short convolutions and attention."""

import numpy

from .common import frequencies, linear_shapes, norm_shapes, rotate, silu
from .states import F32_TENSORS, Stateful, of_experts, route


def layer_types(c):
    """conv or full_attention of each layer: a list, or the numbers of those of attention; all are where neither is there."""
    attention = c.get("full_attn_idxs") if c.get("full_attn_idxs") is not None else range(c["num_hidden_layers"])
    return c.get("layer_types") or ["full_attention" if layer in attention else "conv" for layer in range(c["num_hidden_layers"])]


def inner_width(c):
    """Columns of a feed-forward layer, which the configuration's number is not unless block_auto_adjust_ff_dim is false."""
    inner = c.get("block_ff_dim") or c.get("intermediate_size", 12288)
    if not c.get("block_auto_adjust_ff_dim", True):
        return inner
    inner = int(c.get("block_ffn_dim_multiplier", 1.0) * int(2 * inner / 3)) if c.get("block_ffn_dim_multiplier", 1.0) is not None else int(2 * inner / 3)
    unit = c.get("block_multiple_of", 256)
    return -(-inner // unit) * unit


class Lfm2(Stateful):
    # transformers, models/lfm2/configuration_lfm2.py (text of 2025-12): keys theta, block_ff_dim and tie_embedding come before the newer names.
    def norm(self, x, name):
        return self.rms(x, name, self.get("norm_eps", 1e-5))

    def theta(self):
        return self.get("rope_parameters", {}).get("rope_theta", self.get("theta", self.get("rope_theta", 1e6)))

    def attention(self, x, at, layer):
        size, new = x.shape[-1] // self.config["num_attention_heads"], len(x)
        x = self.whole(x, layer)
        q, k, v = (self.dense(x, at + name + "_proj").reshape(len(x), -1, size) for name in "qkv")
        if self.has("norms of heads"):
            q, k = self.norm(q, at + "q_layernorm"), self.norm(k, at + "k_layernorm")
        if self.has("rotation"):
            q, k = (rotate(y, frequencies(self.theta(), size)) for y in (q, k))
        return self.dense(self.attend(q, k, v, size**-0.5)[-new:], at + "out_proj")

    def conv(self, x, at, layer):
        first, last, rows = numpy.split(self.dense(x, at + "in_proj"), 3, axis=-1)
        rows = self.convolved(first * rows if self.has("first gate") else rows, at + "conv", layer)
        return self.dense(last * rows if self.has("last gate") else rows, at + "out_proj")

    def convolved(self, rows, names, layer):
        """Of a model whose tokens see both sides, the convolution of torch with zeros around a text, cut to its length."""
        if not self.around or not self.has("centered convolution"):
            return super().convolved(rows, names, layer)
        weight, biased = self.weight(names + ".weight"), names + ".bias" in self.tensors and self.has("bias of the convolution")
        taps = weight.shape[-1]
        padded = numpy.pad(rows, ((taps // 2, taps // 2), (0, 0)))
        return numpy.stack([(padded[at : at + taps] * weight[:, 0].T).sum(0) for at in range(len(rows))]) + (self.weight(names + ".bias") if biased else 0)

    def mlp(self, x, at):
        return self.dense(silu(self.dense(x, at + "w1")) * self.dense(x, at + "w3"), at + "w2")

    def feed_forward(self, x, at, layer):
        return self.mlp(x, at)

    def continued(self, ids):
        x = self.weight("model.embed_tokens.weight")[numpy.asarray(ids)]
        for layer, kind in enumerate(layer_types(self.config)):
            at = f"model.layers.{layer}."
            y = self.norm(x, at + "operator_norm")
            x = x + (self.attention(y, at + "self_attn.", layer) if kind == "full_attention" else self.conv(y, at + "conv.", layer))
            x = x + self.feed_forward(self.norm(x, at + "ffn_norm"), at + "feed_forward.", layer)
        x = self.norm(x, "model.embedding_norm") if self.has("norm at the end") else x
        return self.head(x, "lm_head.weight", "model.embed_tokens.weight")


def operator_shapes(c):
    """The tensors but those of the feed-forward layers."""
    width, heads = c["hidden_size"], c["num_attention_heads"]
    size, groups, bias = width // heads, c.get("num_key_value_heads", 8), c.get("conv_bias", False)
    table = {"model.embed_tokens.weight": (c["vocab_size"], width)}
    for layer, kind in enumerate(layer_types(c)):
        at = f"model.layers.{layer}."
        norm_shapes(table, at + "operator_norm", width)
        norm_shapes(table, at + "ffn_norm", width)
        if kind == "full_attention":
            for name, rows in (("q_proj", heads * size), ("k_proj", groups * size), ("v_proj", groups * size), ("out_proj", width)):
                linear_shapes(table, at + "self_attn." + name, rows, width)
            norm_shapes(table, at + "self_attn.q_layernorm", size)
            norm_shapes(table, at + "self_attn.k_layernorm", size)
        else:
            linear_shapes(table, at + "conv.in_proj", 3 * width, width, bias)
            table[at + "conv.conv.weight"] = (width, 1, c.get("conv_L_cache", 3))
            if bias:
                table[at + "conv.conv.bias"] = (width,)
            linear_shapes(table, at + "conv.out_proj", width, width, bias)
    norm_shapes(table, "model.embedding_norm", width)
    if not c.get("tie_embedding", c.get("tie_word_embeddings", True)):
        linear_shapes(table, "lm_head", c["vocab_size"], width)
    return table


def mlp_shapes(table, at, width, inner):
    for name in ("w1", "w2", "w3"):
        linear_shapes(table, at + name, width if name == "w2" else inner, inner if name == "w2" else width)


def lfm2_shapes(c):
    table = operator_shapes(c)
    for layer in range(c["num_hidden_layers"]):
        mlp_shapes(table, f"model.layers.{layer}.feed_forward.", c["hidden_size"], inner_width(c))
    return table


class Lfm2Moe(Lfm2):
    # transformers, models/lfm2_moe/configuration_lfm2_moe.py (text of 2026-01) and modular_lfm2_moe.py.
    def feed_forward(self, x, at, layer):
        if layer < self.get("num_dense_layers", 2):
            return self.mlp(x, at)
        biased = self.get("use_expert_bias", True)
        bias = self.weight(at + "expert_bias") if biased and self.has("bias of the choice") else None
        scale = self.get("routed_scaling_factor", 1.0) if self.has("routed_scaling_factor") else 1
        routes = route(self.dense(x, at + "gate"), self.get("num_experts_per_tok", 4), not self.has("sigmoid"), bias,
                       normalized=bool(self.get("norm_topk_prob", True)) == self.has("norm_topk_prob"), floor=1e-6, scale=scale)
        return of_experts(x, routes, lambda rows, number: self.mlp(rows, f"{at}experts.{number}."))


def lfm2_moe_shapes(c):
    table, width, experts = operator_shapes(c), c["hidden_size"], c["num_experts"]
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}.feed_forward."
        if layer < c.get("num_dense_layers", 2):
            mlp_shapes(table, at, width, c["intermediate_size"])
            continue
        linear_shapes(table, at + "gate", experts, width)
        if c.get("use_expert_bias", True):
            table[at + "expert_bias"] = (experts,)
        for number in range(experts):
            mlp_shapes(table, f"{at}experts.{number}.", width, c["moe_intermediate_size"])
    return table


SMALL = {"vocab_size": 97, "hidden_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 136,
         "rope_theta": 1000.0}
LFM2 = ("norms of heads", "rotation", "first gate", "last gate", "bias of the convolution", "norm at the end")
FAMILIES = {
    "lfm2": dict(
        SMALL={**SMALL, "model_type": "lfm2", "intermediate_size": 100, "block_multiple_of": 7, "full_attn_idxs": [1, 3]},
        CASES={"plain": {},
               "types": {"layer_types": ["full_attention", "conv", "conv"], "full_attn_idxs": "absent", "num_hidden_layers": 3, "conv_bias": True,
                         "conv_L_cache": 4, "block_auto_adjust_ff_dim": False, "tie_word_embeddings": False, "rope_theta": "absent",
                         "rope_parameters": {"rope_type": "default", "rope_theta": 500.0}},
               "old": {"block_ff_dim": 80, "block_dim": 48, "block_ffn_dim_multiplier": 1.3, "theta": 300.0, "rope_theta": "absent", "tie_embedding": True,
                       "num_key_value_heads": 4}},
        QUIRKS=LFM2, Model=Lfm2, shapes=lfm2_shapes),
    "lfm2_moe": dict(
        SMALL={**SMALL, "model_type": "lfm2_moe", "intermediate_size": 52, "moe_intermediate_size": 20, "num_dense_layers": 1, "num_experts": 6,
               "num_experts_per_tok": 2, "norm_topk_prob": True, "use_expert_bias": True, "layer_types": ["conv", "full_attention", "conv", "full_attention"]},
        CASES={"plain": {},
               "unbiased": {"use_expert_bias": False, "norm_topk_prob": False, "routed_scaling_factor": 1.7, "num_dense_layers": 0, "conv_bias": True,
                            "num_hidden_layers": 2, "layer_types": "absent", "full_attn_idxs": [0], "tie_word_embeddings": False, "rope_theta": "absent",
                            "rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}},
        QUIRKS=(*LFM2, "bias of the choice", "sigmoid", "routed_scaling_factor", "norm_topk_prob"), Model=Lfm2Moe, shapes=lfm2_moe_shapes, F32=F32_TENSORS),
}
