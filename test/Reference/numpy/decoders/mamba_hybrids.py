"""The granitemoehybrid, bamba and falcon_h1 families: Mamba-2 and attention, in layers of their own or both in each layer."""

import math

import numpy

from .common import ACTIVATIONS, frequencies, linear_shapes, norm_shapes, rotate, silu
from .mamba import MIXER, Mamba, mixer_shapes, norm_of_groups, older_words
from .states import F32_TENSORS, of_experts, route


class Hybrid(Mamba):
    """Layers of the mixer among layers of attention, with the keys of bamba and granitemoehybrid."""

    last_norm = "model.norm"

    def mamba_sizes(self):
        return mamba_sizes(self.config)

    def epsilon(self):
        return self.get("rms_norm_eps", 1e-6)

    def gated(self, y, gate, at):
        if self.has("gate before the norm"):
            return self.rms(y * silu(gate), at + "norm", self.epsilon())
        return self.rms(y, at + "norm", self.epsilon()) * silu(gate)

    def theta(self):
        return self.get("rope_parameters", {}).get("rope_theta", self.get("rope_theta", 10000.0))

    def turned(self, x):
        return x

    def scale(self, size):
        return size**-0.5

    def attention(self, x, at, layer):
        size, new = self.get("head_dim", x.shape[-1] // self.config["num_attention_heads"]), len(x)
        x = self.whole(x, layer)
        q, k, v = (self.dense(x, at + name + "_proj").reshape(len(x), -1, size) for name in "qkv")
        q, k = self.queries_and_keys(q, k)
        return self.dense(self.attend(self.turned(q), self.turned(k), v, self.scale(size))[-new:], at + "o_proj")

    def queries_and_keys(self, q, k):
        return q, k

    def mixed(self, x, at, layer):
        """What the layer's mixer gives: attention, or the recurrence."""
        if self.kinds()[layer] == "attention":
            return self.attention(x, at + "self_attn.", layer)
        return self.mixer(x, at + "mamba.", layer)

    def embed(self, ids):
        return self.weight("model.embed_tokens.weight")[numpy.asarray(ids)]

    def continued(self, ids):
        x = self.embed(ids)
        for layer in range(self.config["num_hidden_layers"]):
            x = self.layer(x, f"model.layers.{layer}.", layer)
        return self.head(self.rms(x, self.last_norm, self.epsilon()), "lm_head.weight", "model.embed_tokens.weight")


def mamba_sizes(c):
    heads, size = c.get("mamba_n_heads", 128), c.get("mamba_d_head", "auto")
    size = c.get("mamba_expand", 2) * c["hidden_size"] // heads if size == "auto" else size
    return heads, size, c.get("mamba_n_groups", 1), c.get("mamba_d_state", 256)


def attention_shapes(table, at, c, bias=False):
    heads, width = c["num_attention_heads"], c["hidden_size"]
    size = c.get("head_dim") or width // heads
    groups = c.get("num_key_value_heads") or heads
    for name, rows in (("q_proj", heads * size), ("k_proj", groups * size), ("v_proj", groups * size)):
        linear_shapes(table, at + name, rows, width, bias)
    linear_shapes(table, at + "o_proj", width, heads * size, bias)


def hybrid_shapes(c, kinds, norms, last, feed_forward, tied=False):
    """The tensors of a hybrid; `feed_forward` adds those of a layer's."""
    width, table = c["hidden_size"], {"model.embed_tokens.weight": (c["vocab_size"], c["hidden_size"])}
    for layer, kind in enumerate(kinds):
        at = f"model.layers.{layer}."
        for name in norms:
            norm_shapes(table, at + name, width)
        if kind == "attention":
            attention_shapes(table, at + "self_attn.", c, c.get("attention_bias", False))
        else:
            mixer_shapes(table, at + "mamba.", width, mamba_sizes(c), c.get("mamba_d_conv", 4), c.get("mamba_conv_bias", True), c.get("mamba_proj_bias", False))
        feed_forward(table, at)
    norm_shapes(table, last, width)
    if not c.get("tie_word_embeddings", tied):
        linear_shapes(table, "lm_head", c["vocab_size"], width)
    return table


class Granite(Hybrid):
    # Names and defaults: transformers, models/granitemoehybrid (texts of 2026-01 and -03).
    def kinds(self):
        return granite_kinds(self.config)

    def turned(self, x):
        turns = self.get("position_embedding_type") == "rope"
        turns = turns if self.has("rotation") else not turns
        return rotate(x, frequencies(self.theta(), x.shape[-1])) if turns else x

    def scale(self, size):
        return self.get("attention_multiplier", 1.0) if self.has("scale") else super().scale(size)

    def embed(self, ids):
        return super().embed(ids) * (self.get("embedding_multiplier", 1.0) if self.has("embedding") else 1)

    def gated_linear(self, x, up, down):
        gate, rows = numpy.split(x @ up.T, 2, axis=-1)
        return ACTIVATIONS[self.get("hidden_act", "silu")](gate) * rows @ down.T

    def feed_forward(self, x, at):
        weights = lambda part: (self.weight(at + part + ".input_linear.weight"), self.weight(at + part + ".output_linear.weight"))
        y = self.gated_linear(x, *weights("shared_mlp"))
        if self.get("num_local_experts", 8) == 0:
            return y
        chosen = self.get("num_experts_per_tok", 2) if self.has("choice of experts") else self.get("num_local_experts", 8)
        routes = route(self.dense(x, at + "block_sparse_moe.router.layer"), chosen, normalized=self.has("softmax of the chosen"))
        up, down = weights("block_sparse_moe")
        experts = of_experts(x, routes, lambda rows, number: self.gated_linear(rows, up[number], down[number]))
        return experts + (y if self.has("shared expert") else 0)

    def layer(self, x, at, layer):
        factor = self.get("residual_multiplier", 1.0) if self.has("residual") else 1
        x = x + factor * self.mixed(self.rms(x, at + "input_layernorm", self.epsilon()), at, layer)
        return x + factor * self.feed_forward(self.rms(x, at + "post_attention_layernorm", self.epsilon()), at)

    def continued(self, ids):
        return super().continued(ids) / (self.get("logits_scaling", 1.0) if self.has("logits") else 1)


def granite_kinds(c):
    return older_words(c.get("layer_types") or c.get("layers_block_type") or ["mamba"] * c["num_hidden_layers"])


def granite_shapes(c):
    width, shared, inner, experts = c["hidden_size"], c.get("shared_intermediate_size", 1024), c["intermediate_size"], c.get("num_local_experts", 8)

    def feed_forward(table, at):
        linear_shapes(table, at + "shared_mlp.input_linear", 2 * shared, width)
        linear_shapes(table, at + "shared_mlp.output_linear", width, shared)
        if experts:
            linear_shapes(table, at + "block_sparse_moe.router.layer", experts, width)
            table[at + "block_sparse_moe.input_linear.weight"] = (experts, 2 * inner, width)
            table[at + "block_sparse_moe.output_linear.weight"] = (experts, width, inner)

    return hybrid_shapes(c, granite_kinds(c), ("input_layernorm", "post_attention_layernorm"), "model.norm", feed_forward)


class Bamba(Hybrid):
    # Names: transformers, models/bamba/convert_mamba_ssm_checkpoint.py; defaults: configuration_bamba.py (text of 2026-01), which says that
    # half of a head turns whatever the file has. attn_rotary_emb of published files is that half.
    last_norm = "model.final_layernorm"

    def kinds(self):
        return bamba_kinds(self.config)

    def epsilon(self):
        return self.get("rms_norm_eps", 1e-5)

    def turned(self, x):
        size = x.shape[-1]
        return rotate(x, frequencies(self.theta(), size // 2 if self.has("half of the rotation") else size)) if self.has("rotation") else x

    def feed_forward(self, x, at, of_gate=1, of_down=1):
        act = ACTIVATIONS[self.get("hidden_act", "silu")]
        return self.dense(act(self.dense(x, at + "gate_proj") * of_gate) * self.dense(x, at + "up_proj"), at + "down_proj") * of_down

    def layer(self, x, at, layer):
        x = x + self.mixed(self.rms(x, at + "input_layernorm", self.epsilon()), at, layer)
        return x + self.feed_forward(self.rms(x, at + "pre_ff_layernorm", self.epsilon()), at + "feed_forward.")


def bamba_kinds(c):
    attention = c.get("attn_layer_indices") or ()
    return ["attention" if layer in attention else "mamba" for layer in range(c["num_hidden_layers"])]


def gated_shapes(table, at, c, bias=False):
    for name in ("gate_proj", "up_proj"):
        linear_shapes(table, at + "feed_forward." + name, c["intermediate_size"], c["hidden_size"], bias)
    linear_shapes(table, at + "feed_forward.down_proj", c["hidden_size"], c["intermediate_size"], bias)


def bamba_shapes(c):
    return hybrid_shapes(c, bamba_kinds(c), ("input_layernorm", "pre_ff_layernorm"), "model.final_layernorm", lambda table, at: gated_shapes(table, at, c))


class FalconH1(Bamba):
    # transformers, models/falcon_h1/configuration_falcon_h1.py (text of 2026-03) and modular_falcon_h1.py. Published files have a rope_theta of 1e11.
    def mamba_sizes(self):
        return falcon_sizes(self.config)

    def times(self, key):
        return self.get(key, 1.0) if self.has(key) else 1

    def turned(self, x):
        return rotate(x, frequencies(self.theta(), x.shape[-1])) if self.has("rotation") else x

    def queries_and_keys(self, q, k):
        return q * self.times("key_multiplier"), k  # the same scores as of the keys' factor, which caches then have no part of

    def projected(self, x, at):
        heads, size, groups, channels = self.mamba_sizes()
        parts = self.get("ssm_multipliers", [1.0] * 5) if self.has("ssm_multipliers") else [1] * 5
        factors = numpy.repeat(numpy.array(parts, numpy.float64), [heads * size, heads * size, groups * channels, groups * channels, heads])
        return self.dense(x * self.times("ssm_in_multiplier"), at + "in_proj") * factors

    def gated(self, y, gate, at):
        if not self.get("mamba_rms_norm", False) or not self.has("mamba_rms_norm"):
            return y * silu(gate)
        weight, groups = self.weight(at + "norm.weight"), self.mamba_sizes()[2] if self.has("norms of groups") else 1
        if bool(self.get("mamba_norm_before_gate", True)) == self.has("mamba_norm_before_gate"):
            return norm_of_groups(y, weight, groups, self.epsilon()) * silu(gate)
        return norm_of_groups(y * silu(gate), weight, groups, self.epsilon())

    def embed(self, ids):
        return super().embed(ids) * self.times("embedding_multiplier")

    def layer(self, x, at, layer):
        y = self.rms(x, at + "input_layernorm", self.epsilon())
        attention = self.attention(y * self.times("attention_in_multiplier"), at + "self_attn.", layer) * self.times("attention_out_multiplier")
        x = x + self.mixer(y, at + "mamba.", layer) * self.times("ssm_out_multiplier") + attention
        factors = self.get("mlp_multipliers", (1.0, 1.0)) if self.has("mlp_multipliers") else (1, 1)
        return x + self.feed_forward(self.rms(x, at + "pre_ff_layernorm", self.epsilon()), at + "feed_forward.", *factors)

    def continued(self, ids):
        return super().continued(ids) * self.times("lm_head_multiplier")


def falcon_sizes(c):
    heads, inner = c.get("mamba_n_heads", 128), c.get("mamba_d_ssm", 1024)
    inner = c.get("mamba_expand", 2) * c["hidden_size"] if inner is None else inner
    return heads, inner // heads, c.get("mamba_n_groups", 1), c.get("mamba_d_state", 256)


def falcon_shapes(c):
    width, table = c["hidden_size"], {"model.embed_tokens.weight": (c["vocab_size"], c["hidden_size"])}
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        for name in ("input_layernorm", "pre_ff_layernorm"):
            norm_shapes(table, at + name, width)
        attention_shapes(table, at + "self_attn.", c, c.get("attention_bias", False))
        mixer_shapes(table, at + "mamba.", width, falcon_sizes(c), c.get("mamba_d_conv", 4), c.get("mamba_conv_bias", True), c.get("mamba_proj_bias", False),
                     c.get("mamba_rms_norm", False), c.get("projectors_bias", False))
        gated_shapes(table, at, c, c.get("mlp_bias", False))
    norm_shapes(table, "model.final_layernorm", width)
    if not c.get("tie_word_embeddings", False):
        linear_shapes(table, "lm_head", c["vocab_size"], width)
    return table


HYBRID = {"vocab_size": 97, "hidden_size": 48, "intermediate_size": 36, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
          "max_position_embeddings": 136, "mamba_n_heads": 6, "mamba_d_head": 16, "mamba_n_groups": 2, "mamba_d_state": 10, "mamba_d_conv": 4, "mamba_expand": 2}
FAMILIES = {
    "granitemoehybrid": dict(
        SMALL={**HYBRID, "model_type": "granitemoehybrid", "layer_types": ["mamba", "attention", "mamba"], "embedding_multiplier": 3.0, "logits_scaling": 6.0,
               "residual_multiplier": 0.4, "attention_multiplier": 0.2, "num_local_experts": 5, "num_experts_per_tok": 2, "shared_intermediate_size": 40,
               "position_embedding_type": "nope", "tie_word_embeddings": True},
        CASES={"plain": {},
               "dense": {"layer_types": ["linear_attention", "full_attention"], "num_hidden_layers": 2, "num_local_experts": 0, "num_experts_per_tok": 0,
                         "mamba_conv_bias": False, "mamba_n_groups": 1, "attention_bias": True, "time_step_limit": [0.0, math.inf]},
               "rope": {"position_embedding_type": "rope", "rope_theta": 500.0, "num_hidden_layers": 4, "layer_types": "absent",
                        "layers_block_type": ["attention", "mamba", "mamba", "attention"], "tie_word_embeddings": False, "mamba_proj_bias": True,
                        "time_step_limit": [0.02, 0.2]}},
        QUIRKS=(*MIXER, "scale", "embedding", "residual", "logits", "rotation", "choice of experts", "softmax of the chosen", "shared expert"),
        Model=Granite, shapes=granite_shapes, F32=F32_TENSORS),
    "bamba": dict(
        SMALL={**HYBRID, "model_type": "bamba", "attn_layer_indices": [1], "rope_theta": 1000.0},
        CASES={"plain": {}, "limits": {"time_step_limit": [0.02, 0.2], "mamba_proj_bias": True, "tie_word_embeddings": True, "attn_layer_indices": [0, 2]},
               "auto": {"mamba_d_head": "auto", "mamba_expand": 3, "mamba_n_heads": 9, "mamba_n_groups": 3, "rope_theta": "absent",
                        "rope_parameters": {"rope_type": "default", "rope_theta": 300.0}, "mamba_d_conv": 3}},
        QUIRKS=(*MIXER, "rotation", "half of the rotation"), Model=Bamba, shapes=bamba_shapes, F32=F32_TENSORS),
    "falcon_h1": dict(
        SMALL={**HYBRID, "model_type": "falcon_h1", "num_hidden_layers": 2, "rope_theta": 1000.0, "mamba_d_ssm": 72, "mamba_d_head": 12,
               "mamba_rms_norm": False, "mamba_norm_before_gate": False, "head_dim": 10, "embedding_multiplier": 3.0,
               "lm_head_multiplier": 0.3, "mlp_multipliers": [0.8, 0.6], "key_multiplier": 0.4, "attention_in_multiplier": 1.2, "attention_out_multiplier": 0.7,
               "ssm_in_multiplier": 1.25, "ssm_out_multiplier": 0.6, "ssm_multipliers": [0.5, 0.7, 0.8, 1.3, 0.6]},
        CASES={"plain": {},
               "norm": {"mamba_rms_norm": True, "mamba_norm_before_gate": True, "attention_bias": True, "mlp_bias": True, "projectors_bias": True,
                        "mamba_proj_bias": True, "tie_word_embeddings": True, "time_step_limit": [0.02, 0.2]},
               "late": {"mamba_rms_norm": True, "mamba_d_ssm": None, "mamba_d_head": "auto", "rope_theta": "absent", "mamba_conv_bias": False,
                        "rope_parameters": {"rope_type": "default", "rope_theta": 300.0}, "ssm_multipliers": "absent", "mlp_multipliers": "absent"}},
        QUIRKS=(*MIXER[:-1], "rotation", "mamba_rms_norm", "mamba_norm_before_gate", "norms of groups", "embedding_multiplier", "lm_head_multiplier",
                "mlp_multipliers", "key_multiplier", "attention_in_multiplier", "attention_out_multiplier", "ssm_in_multiplier", "ssm_out_multiplier",
                "ssm_multipliers"),
        Model=FalconH1, shapes=falcon_shapes, F32=F32_TENSORS),
}
