"""The qwen3_next, qwen3_5_text and qwen3_5_moe_text families: layers of the gated delta rule among layers of gated attention."""

import math

import numpy

from .common import ACTIVATIONS, frequencies, linear_shapes, norm_shapes, rms_norm, rotate, silu
from .states import F32_TENSORS, Stateful, of_experts, route, sigmoid, softplus


def layer_types(c):
    every = c.get("full_attention_interval", 4)
    return c.get("layer_types") or ["full_attention" if (layer + 1) % every == 0 else "linear_attention" for layer in range(c["num_hidden_layers"])]


def delta_sizes(c):
    """heads of keys, heads of values, channels of a key, channels of a value"""
    return (c.get("linear_num_key_heads", 16), c.get("linear_num_value_heads", 32), c.get("linear_key_head_dim", 128), c.get("linear_value_head_dim", 128))


def unit(x):
    """Rows of length one: the root is of the sum of squares, with an epsilon inside."""
    return x / numpy.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)


class Qwen3Next(Stateful):
    # Defaults: transformers, models/qwen3_next/configuration_qwen3_next.py (text of summer 2026); names: modeling_qwen3_next.py.
    convolutions, out = ("conv1d",), "out_proj"

    def sizes(self):
        return delta_sizes(self.config)

    def norm(self, x, name):
        one = 1 if self.has("gains around one") else 0
        return rms_norm(x, self.weight(name + ".weight") + one, self.get("rms_norm_eps", 1e-6))

    def act(self, x):
        return ACTIVATIONS[self.get("hidden_act", "silu")](x)

    def turned(self, x):
        rope, size = self.get("rope_parameters", {}), x.shape[-1]
        part = rope.get("partial_rotary_factor", self.get("partial_rotary_factor", 0.25)) if self.has("part of the rotation") else 1
        return rotate(x, frequencies(rope.get("rope_theta", self.get("rope_theta", 10000.0)), int(size * part)))

    def attention(self, x, at, layer):
        size, new = self.get("head_dim", 256), len(x)
        x = self.whole(x, layer)
        rows, length = self.dense(x, at + "q_proj"), len(x)
        if self.has("gates by head"):
            q, gate = numpy.split(rows.reshape(length, -1, 2 * size), 2, axis=-1)
        else:
            q, gate = (part.reshape(length, -1, size) for part in numpy.split(rows, 2, axis=-1))
        k, v = (self.dense(x, at + name + "_proj").reshape(length, -1, size) for name in "kv")
        if self.has("norms of heads"):
            q, k = self.norm(q, at + "q_norm"), self.norm(k, at + "k_norm")
        y = self.attend(self.turned(q), self.turned(k), v, size**-0.5)
        y = y * sigmoid(gate.reshape(length, -1)) if self.has("gate of attention") else y
        return self.dense(y[-new:], at + "o_proj")

    def split(self, x, at):
        """The inputs of the convolution, the gate, and the numbers of each head: beta's and the step's."""
        keys, values, _, _ = self.sizes()
        rows, numbers = self.dense(x, at + "in_proj_qkvz"), self.dense(x, at + "in_proj_ba")
        if not self.has("projections by head"):
            return *self.cut(rows, 1), *numpy.split(numbers, 2, axis=-1)
        beta, step = (part.reshape(len(x), -1) for part in numpy.split(numbers.reshape(len(x), keys, -1), [values // keys], axis=-1))
        return *self.cut(rows.reshape(len(x) * keys, -1), keys), beta, step

    def cut(self, rows, heads):
        """q, k, v and z of rows of `heads` each, as rows of q, k and v and as rows of z."""
        keys, values, key_size, size = self.sizes()
        ends = numpy.cumsum([keys * key_size, keys * key_size, values * size]) // heads
        parts = [part.reshape(len(rows) // heads, -1) for part in numpy.split(rows, ends, axis=-1)]
        return numpy.concatenate(parts[:3], axis=-1), parts[3]

    def delta(self, x, at, layer):
        keys, values, key_size, size = self.sizes()
        rows, gate, beta, step = self.split(x, at)
        rows = self.convolved(rows, tuple(at + name for name in self.convolutions), layer)
        rows = self.act(rows) if self.has("activation of the convolution") else rows
        q, k, v = numpy.split(rows, [keys * key_size, 2 * keys * key_size], axis=-1)
        of_value = numpy.arange(values) // (values // keys) if self.has("neighboring heads share a key") else numpy.arange(values) % keys
        q, k = (part.reshape(len(x), keys, key_size)[:, of_value] for part in (q, k))
        q = unit(q) if self.has("unit queries") else q
        k = unit(k) if self.has("unit keys") else k / math.sqrt(key_size)
        q = q * key_size**-0.5 if self.has("scale of queries") else q
        decay = -numpy.exp(self.weight(at + "A_log")) * softplus(step + (self.weight(at + "dt_bias") if self.has("bias of the steps") else 0))
        v = v.reshape(len(x), values, size)
        beta = self.strength(beta) if self.has("beta") else numpy.ones_like(beta)
        if self.has("delta rule"):
            y = self.recurred(q, k, v, decay, beta, layer)
        else:
            y = self.recurred(q, k, v * beta[..., None], decay, None, layer)
        return self.dense(self.gated(y, gate.reshape(y.shape), at).reshape(len(x), -1), at + self.out)

    def strength(self, beta):
        return sigmoid(beta)

    def gated(self, y, gate, at):
        """The norm of each head, whose weight is plain, and then the gate."""
        weight, epsilon = self.weight(at + "norm.weight"), self.get("rms_norm_eps", 1e-6)
        return rms_norm(y, weight, epsilon) * silu(gate) if self.has("norm before the gate") else rms_norm(y * silu(gate), weight, epsilon)

    def mlp(self, x, at):
        return self.dense(self.act(self.dense(x, at + "gate_proj")) * self.dense(x, at + "up_proj"), at + "down_proj")

    def expert(self, x, at, number):
        return self.mlp(x, f"{at}experts.{number}.")

    def routes(self, x, at):
        chosen = self.get("num_experts_per_tok", 10)
        return route(self.dense(x, at + "gate"), chosen, normalized=bool(self.get("norm_topk_prob", True)) == self.has("norm_topk_prob"))

    def experts(self, x, at):
        y = of_experts(x, self.routes(x, at), lambda rows, number: self.expert(rows, at, number))
        gate = sigmoid(self.dense(x, at + "shared_expert_gate")) if self.has("gate of the shared expert") else 1
        return y + gate * self.mlp(x, at + "shared_expert.") if self.has("shared expert") else y

    def is_sparse(self, layer):
        return is_sparse(self.config, layer)

    def layer(self, x, layer):
        at = f"model.layers.{layer}."
        y = self.norm(x, at + "input_layernorm")
        isDelta = layer_types(self.config)[layer] == "linear_attention"
        x = x + (self.delta(y, at + "linear_attn.", layer) if isDelta else self.attention(y, at + "self_attn.", layer))
        y = self.norm(x, at + "post_attention_layernorm")
        return x + (self.experts(y, at + "mlp.") if self.is_sparse(layer) else self.mlp(y, at + "mlp."))

    def continued(self, ids):
        x = self.weight("model.embed_tokens.weight")[numpy.asarray(ids)]
        for layer in range(len(layer_types(self.config))):
            x = self.layer(x, layer)
        return self.head(self.norm(x, "model.norm"), "lm_head.weight", "model.embed_tokens.weight")


def is_sparse(c, layer):
    return c.get("num_experts", 512) > 0 and (layer + 1) % c.get("decoder_sparse_step", 1) == 0 and layer not in (c.get("mlp_only_layers") or ())


class Qwen35(Qwen3Next):
    # Defaults: transformers, models/qwen3_5/configuration_qwen3_5.py (text of summer 2026); names: modular_qwen3_5.py.
    def split(self, x, at):
        return (*(self.dense(x, at + name) for name in ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a")),)

    def is_sparse(self, layer):
        return False


class Qwen35Moe(Qwen35):
    def routes(self, x, at):
        return route(self.dense(x, at + "gate"), self.get("num_experts_per_tok", 8), normalized=self.has("weights of the chosen"))

    def expert(self, x, at, number):
        gate, up = numpy.split(x @ self.weight(at + "experts.gate_up_proj")[number].T, 2, axis=-1)
        return self.act(gate) * up @ self.weight(at + "experts.down_proj")[number].T

    def is_sparse(self, layer):
        return True


def mlp_shapes(table, at, width, inner):
    for name in ("gate_proj", "up_proj"):
        linear_shapes(table, at + name, inner, width)
    linear_shapes(table, at + "down_proj", width, inner)


def shapes(c, separate, feed_forward):
    """The tensors of a family, where projections are `separate` or lie by head of keys; `feed_forward` adds those of a layer's."""
    width, heads, size, bias = c["hidden_size"], c["num_attention_heads"], c.get("head_dim", 256), c.get("attention_bias", False)
    groups = c.get("num_key_value_heads") or heads
    keys, values, key_size, value_size = delta_sizes(c)
    rows, out = 2 * keys * key_size + values * value_size, values * value_size
    table = {"model.embed_tokens.weight": (c["vocab_size"], width)}
    for layer, kind in enumerate(layer_types(c)):
        at = f"model.layers.{layer}."
        norm_shapes(table, at + "input_layernorm", width)
        norm_shapes(table, at + "post_attention_layernorm", width)
        if kind == "full_attention":
            part = at + "self_attn."
            for name, count, columns in (("q_proj", 2 * heads * size, width), ("k_proj", groups * size, width), ("v_proj", groups * size, width),
                                         ("o_proj", width, heads * size)):
                linear_shapes(table, part + name, count, columns, bias)
            norm_shapes(table, part + "q_norm", size)
            norm_shapes(table, part + "k_norm", size)
        else:
            part = at + "linear_attn."
            projections = {"in_proj_qkv": rows, "in_proj_z": out, "in_proj_b": values, "in_proj_a": values} if separate else {"in_proj_qkvz": rows + out,
                                                                                                                               "in_proj_ba": 2 * values}
            for name, count in projections.items():
                linear_shapes(table, part + name, count, width)
            table[part + "conv1d.weight"] = (rows, 1, c.get("linear_conv_kernel_dim", 4))
            table[part + "dt_bias"] = table[part + "A_log"] = (values,)
            norm_shapes(table, part + "norm", value_size)
            linear_shapes(table, part + "out_proj", width, out)
        feed_forward(table, at + "mlp.", layer)
    norm_shapes(table, "model.norm", width)
    if not c.get("tie_word_embeddings", False):
        linear_shapes(table, "lm_head", c["vocab_size"], width)
    return table


def next_shapes(c):
    def feed_forward(table, at, layer):
        if not is_sparse(c, layer):
            return mlp_shapes(table, at, c["hidden_size"], c["intermediate_size"])
        for number in range(c["num_experts"]):
            mlp_shapes(table, f"{at}experts.{number}.", c["hidden_size"], c["moe_intermediate_size"])
        shared_shapes(table, at, c)

    return shapes(c, False, feed_forward)


def shared_shapes(table, at, c):
    linear_shapes(table, at + "gate", c["num_experts"], c["hidden_size"])
    mlp_shapes(table, at + "shared_expert.", c["hidden_size"], c["shared_expert_intermediate_size"])
    linear_shapes(table, at + "shared_expert_gate", 1, c["hidden_size"])


def moe_shapes(c):
    def feed_forward(table, at, layer):
        table[at + "experts.gate_up_proj"] = (c["num_experts"], 2 * c["moe_intermediate_size"], c["hidden_size"])
        table[at + "experts.down_proj"] = (c["num_experts"], c["hidden_size"], c["moe_intermediate_size"])
        shared_shapes(table, at, c)

    return shapes(c, True, feed_forward)


SMALL = {"vocab_size": 97, "hidden_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
         "max_position_embeddings": 136, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 10, "linear_value_head_dim": 14,
         "linear_conv_kernel_dim": 4}
EXPERTS = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 20, "shared_expert_intermediate_size": 28}
ROPE = {"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.25, "mrope_section": [2, 1, 1], "mrope_interleaved": True}
DELTA = ("activation of the convolution", "neighboring heads share a key", "unit queries", "unit keys", "scale of queries", "bias of the steps", "beta",
         "delta rule", "norm before the gate")
QWEN = ("gains around one", "part of the rotation", "gates by head", "norms of heads", "gate of attention", *DELTA)
SHARED = ("gate of the shared expert", "shared expert")
AROUND_ONE = ("layernorm.weight", "q_norm.weight", "k_norm.weight", "model.norm.weight")
FAMILIES = {
    "qwen3_next": dict(
        SMALL={**SMALL, **EXPERTS, "model_type": "qwen3_next", "intermediate_size": 36, "rope_theta": 1000.0, "partial_rotary_factor": 0.25,
               "norm_topk_prob": True},
        CASES={"plain": {},
               "dense": {"mlp_only_layers": [0], "decoder_sparse_step": 2, "layer_types": ["linear_attention", "full_attention", "full_attention"],
                         "num_hidden_layers": 3, "linear_num_key_heads": 3, "linear_num_value_heads": 3, "linear_conv_kernel_dim": 3, "norm_topk_prob": False,
                         "tie_word_embeddings": True, "attention_bias": True, "partial_rotary_factor": "absent", "rms_norm_eps": 1e-3},
               "v5": {"full_attention_interval": 2, "num_hidden_layers": 2, "rope_theta": "absent", "partial_rotary_factor": "absent",
                      "rope_parameters": {"rope_type": "default", "rope_theta": 300.0, "partial_rotary_factor": 0.5}}},
        QUIRKS=(*QWEN, *SHARED, "projections by head", "norm_topk_prob"), Model=Qwen3Next, shapes=next_shapes, AROUND_ONE=AROUND_ONE, F32=F32_TENSORS),
    "qwen3_5_text": dict(
        SMALL={**SMALL, "model_type": "qwen3_5_text", "intermediate_size": 36, "rope_parameters": ROPE},
        CASES={"plain": {},
               "types": {"layer_types": ["full_attention", "linear_attention", "linear_attention"], "num_hidden_layers": 3, "tie_word_embeddings": True,
                         "linear_num_value_heads": 6, "linear_value_head_dim": 9, "rms_norm_eps": 1e-3, "attention_bias": True,
                         "rope_parameters": {"rope_type": "default", "rope_theta": 200.0}}},
        QUIRKS=QWEN, Model=Qwen35, AROUND_ONE=AROUND_ONE, F32=F32_TENSORS,
        shapes=lambda c: shapes(c, True, lambda table, at, layer: mlp_shapes(table, at, c["hidden_size"], c["intermediate_size"]))),
    "qwen3_5_moe_text": dict(
        SMALL={**SMALL, **EXPERTS, "model_type": "qwen3_5_moe_text", "rope_parameters": ROPE},
        CASES={"plain": {}, "interval": {"full_attention_interval": 2, "num_hidden_layers": 2, "linear_num_value_heads": 2, "rms_norm_eps": 1e-3}},
        QUIRKS=(*QWEN, *SHARED, "weights of the chosen"), Model=Qwen35Moe, shapes=moe_shapes, AROUND_ONE=AROUND_ONE, F32=F32_TENSORS),
}
