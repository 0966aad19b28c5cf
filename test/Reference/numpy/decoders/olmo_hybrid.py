"""The olmo_hybrid family: layers of the gated delta rule among those of olmo2."""

import numpy

from .common import frequencies, linear_shapes, norm_shapes, rms_norm, rotate, silu
from .delta_hybrids import DELTA, Qwen3Next, mlp_shapes
from .states import F32_TENSORS, sigmoid


class OlmoHybrid(Qwen3Next):
    # transformers, models/olmo_hybrid/modular_olmo_hybrid.py (text of autumn 2026), which has one convolution of q, k and v; published files
    # have three. Attention has no rotation where rope_parameters is null, as there.
    convolutions, out = ("q_conv1d", "k_conv1d", "v_conv1d"), "o_proj"

    def sizes(self):
        return olmo_sizes(self.config)

    def norm(self, x, name):
        return self.rms(x, name, self.get("rms_norm_eps", 1e-6))

    def attention(self, x, at, layer):
        size, new = x.shape[-1] // self.config["num_attention_heads"], len(x)
        x = self.whole(x, layer)
        q, k, v = (self.dense(x, at + name + "_proj") for name in "qkv")
        if self.has("norms of all heads"):
            q, k = self.norm(q, at + "q_norm"), self.norm(k, at + "k_norm")
        q, k, v = (part.reshape(len(x), -1, size) for part in (q, k, v))
        theta = self.get("rope_parameters", {}).get("rope_theta")
        if theta is not None and self.has("rotation"):
            q, k = (rotate(part, frequencies(theta, size)) for part in (q, k))
        return self.dense(self.attend(q, k, v, size**-0.5)[-new:], at + "o_proj")

    def split(self, x, at):
        rows = numpy.concatenate([self.dense(x, at + name + "_proj") for name in "qkv"], axis=-1)
        return rows, self.dense(x, at + "g_proj"), self.dense(x, at + "b_proj"), self.dense(x, at + "a_proj")

    def strength(self, beta):
        return sigmoid(beta) * (2 if self.get("linear_allow_neg_eigval", True) and self.has("twice beta") else 1)

    def gated(self, y, gate, at):
        epsilon = 1e-5 if self.has("epsilon of the gated norm") else self.get("rms_norm_eps", 1e-6)
        weight = self.weight(at + "o_norm.weight")
        return rms_norm(y, weight, epsilon) * silu(gate) if self.has("norm before the gate") else rms_norm(y * silu(gate), weight, epsilon)

    def continued(self, ids):
        x = self.weight("model.embed_tokens.weight")[numpy.asarray(ids)]
        behind = (lambda y, name: self.norm(y, name)) if self.has("norms behind") else (lambda y, name: y)
        for layer, kind in enumerate(olmo_types(self.config)):
            at = f"model.layers.{layer}."
            if kind == "linear_attention":
                x = x + self.delta(self.norm(x, at + "input_layernorm"), at + "linear_attn.", layer)
                x = x + self.mlp(self.norm(x, at + "post_attention_layernorm"), at + "mlp.")
            else:
                x = x + behind(self.attention(x, at + "self_attn.", layer), at + "post_attention_layernorm")
                x = x + behind(self.mlp(x, at + "mlp."), at + "post_feedforward_layernorm")
        return self.head(self.norm(x, "model.norm"), "lm_head.weight", "model.embed_tokens.weight")


def olmo_types(c):
    types = ["full_attention" if layer % 4 == 3 else "linear_attention" for layer in range(c["num_hidden_layers"])]
    if "full_attention" not in types:
        types[-1] = "full_attention"
    return c.get("layer_types") or types


def olmo_sizes(c):
    keys, values = c.get("linear_num_key_heads") or c["num_attention_heads"], c.get("linear_num_value_heads") or c["num_attention_heads"]
    key_size = c.get("linear_key_head_dim") or int(0.75 * c["hidden_size"] / keys)
    return keys, values, key_size, c.get("linear_value_head_dim") or 2 * key_size


def olmo_shapes(c):
    width, heads, bias = c["hidden_size"], c["num_attention_heads"], c.get("attention_bias", False)
    size, groups = width // heads, c.get("num_key_value_heads") or heads
    keys, values, key_size, value_size = olmo_sizes(c)
    columns = {"q": keys * key_size, "k": keys * key_size, "v": values * value_size}
    table = {"model.embed_tokens.weight": (c["vocab_size"], width)}
    for layer, kind in enumerate(olmo_types(c)):
        at = f"model.layers.{layer}."
        linear = kind == "linear_attention"
        for name in ("input_layernorm", "post_attention_layernorm") if linear else ("post_attention_layernorm", "post_feedforward_layernorm"):
            norm_shapes(table, at + name, width)
        if linear:
            part = at + "linear_attn."
            for name, count in {**columns, "g": values * value_size, "a": values, "b": values}.items():
                linear_shapes(table, part + name + "_proj", count, width)
            for name, count in columns.items():
                table[part + name + "_conv1d.weight"] = (count, 1, c.get("linear_conv_kernel_dim", 4))
            table[part + "dt_bias"] = table[part + "A_log"] = (values,)
            norm_shapes(table, part + "o_norm", value_size)
            linear_shapes(table, part + "o_proj", width, values * value_size)
        else:
            part = at + "self_attn."
            for name, count in (("q_proj", heads * size), ("k_proj", groups * size), ("v_proj", groups * size), ("o_proj", width)):
                linear_shapes(table, part + name, count, width, bias)
            norm_shapes(table, part + "q_norm", heads * size)
            norm_shapes(table, part + "k_norm", groups * size)
        mlp_shapes(table, at + "mlp.", width, c["intermediate_size"])
    norm_shapes(table, "model.norm", width)
    if not c.get("tie_word_embeddings", False):
        linear_shapes(table, "lm_head", c["vocab_size"], width)
    return table


FAMILIES = {
    "olmo_hybrid": dict(
        SMALL={"model_type": "olmo_hybrid", "vocab_size": 97, "hidden_size": 48, "intermediate_size": 36, "num_hidden_layers": 4, "num_attention_heads": 4,
               "num_key_value_heads": 4, "max_position_embeddings": 136, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 10,
               "linear_value_head_dim": 14, "linear_conv_kernel_dim": 4, "linear_allow_neg_eigval": True, "rope_parameters": None},
        CASES={"plain": {},
               "usual-sizes": {"num_hidden_layers": 2, "linear_num_key_heads": "absent", "linear_num_value_heads": "absent", "linear_key_head_dim": "absent",
                               "linear_value_head_dim": "absent", "linear_allow_neg_eigval": False, "rms_norm_eps": 1e-3,
                               "tie_word_embeddings": True, "attention_bias": True},
               "rope": {"num_hidden_layers": 2, "layer_types": ["full_attention", "linear_attention"], "num_key_value_heads": 2,
                        "rope_parameters": {"rope_type": "default", "rope_theta": 300.0}}},
        QUIRKS=(*DELTA, "norms of all heads", "rotation", "twice beta", "epsilon of the gated norm", "norms behind"), Model=OlmoHybrid, shapes=olmo_shapes,
        F32=F32_TENSORS),
}
