"""The mixer of Mamba-2, and the mamba2 and nemotron_h families."""

import math

import numpy

from .common import ACTIVATIONS, linear_shapes, norm_shapes, relu, rms_norm, silu
from .states import F32_TENSORS, Stateful, of_experts, route, softplus


def norm_of_groups(y, weight, groups, epsilon):
    """Each group of columns has a norm of its own."""
    parts = y.reshape(len(y), groups, -1)
    return rms_norm(parts, weight.reshape(groups, -1), epsilon).reshape(y.shape)


class Mamba(Stateful):
    """The mixer of Mamba-2: its projection gives the gate, the inputs of the convolution and the steps. Keys have other names by family."""

    act_key = "hidden_act"

    def mamba_sizes(self):
        """heads, channels of a head, groups, channels of the state"""
        c = self.config
        return c["num_heads"], c["head_dim"], self.get("n_groups", 8), c["state_size"]

    def step_limits(self):
        return self.get("time_step_limit", (0.0, numpy.inf))

    def gated(self, y, gate, at):
        """The norm behind the recurrence."""
        y = y * silu(gate) if self.has("gate before the norm") else y
        y = self.rms(y, at + "norm", self.get("layer_norm_epsilon", 1e-5))
        return y if self.has("gate before the norm") else y * silu(gate)

    def projected(self, x, at):
        return self.dense(x, at + "in_proj")

    def mixer(self, x, at, layer):
        heads, size, groups, channels = self.mamba_sizes()
        inner, shared = heads * size, groups * channels
        gate, rows, steps = numpy.split(self.projected(x, at), [inner, 2 * inner + 2 * shared], axis=-1)
        rows = self.convolved(rows, at + "conv1d", layer)
        rows = ACTIVATIONS[self.get(self.act_key, "silu")](rows) if self.has("activation of the convolution") else rows
        value, key, query = numpy.split(rows, [inner, inner + shared], axis=-1)
        value = value.reshape(-1, heads, size)
        of_head = numpy.arange(heads) // (heads // groups) if self.has("groups") else numpy.arange(heads) % groups
        key, query = (part.reshape(-1, groups, channels)[:, of_head] for part in (key, query))
        steps = softplus(steps + (self.weight(at + "dt_bias") if self.has("bias of the steps") else 0))
        if self.has("limits of the steps"):
            steps = numpy.clip(steps, *self.step_limits())
        decay = -numpy.exp(self.weight(at + "A_log")) * steps
        y = self.recurred(query, key, value * steps[..., None] if self.has("steps of the inputs") else value, decay, None, layer)
        if self.has("skip of the inputs"):
            y = y + self.weight(at + "D")[:, None] * value
        return self.dense(self.gated(y.reshape(len(y), -1), gate, at), at + "out_proj")


def mixer_shapes(table, at, width, sizes, taps, conv_bias, bias, norm=True, out_bias=None):
    heads, size, groups, channels = sizes
    inner = heads * size
    rows = inner + 2 * groups * channels
    linear_shapes(table, at + "in_proj", inner + rows + heads, width, bias)
    table[at + "conv1d.weight"] = (rows, 1, taps)
    if conv_bias:
        table[at + "conv1d.bias"] = (rows,)
    for name in ("dt_bias", "A_log", "D"):
        table[at + name] = (heads,)
    if norm:
        norm_shapes(table, at + "norm", inner)
    linear_shapes(table, at + "out_proj", width, inner, bias if out_bias is None else out_bias)


class Mamba2(Mamba):
    # Defaults: transformers 5, models/mamba2/configuration_mamba2.py: 128 heads of 64 channels, 8 groups, 128 channels of the state, 4 taps,
    # expand 2, use_bias false, use_conv_bias true, tie_word_embeddings false. rms_norm and residual_in_fp32 change no number here.
    def continued(self, ids):
        epsilon = self.get("layer_norm_epsilon", 1e-5)
        x = self.weight("backbone.embeddings.weight")[numpy.asarray(ids)]
        for layer in range(self.config["num_hidden_layers"]):
            at = f"backbone.layers.{layer}."
            x = x + self.mixer(self.rms(x, at + "norm", epsilon), at + "mixer.", layer)
        return self.head(self.rms(x, "backbone.norm_f", epsilon), "lm_head.weight", "backbone.embeddings.weight")

    def gated(self, y, gate, at):
        if self.has("norm of all groups"):
            return super().gated(y, gate, at)
        return norm_of_groups(y * silu(gate), self.weight(at + "norm.weight"), self.mamba_sizes()[2], self.get("layer_norm_epsilon", 1e-5))


def mamba2_shapes(c):
    table = {"backbone.embeddings.weight": (c["vocab_size"], c["hidden_size"])}
    for layer in range(c["num_hidden_layers"]):
        at = f"backbone.layers.{layer}."
        norm_shapes(table, at + "norm", c["hidden_size"])
        mixer_shapes(table, at + "mixer.", c["hidden_size"], (c["num_heads"], c["head_dim"], c.get("n_groups", 8), c["state_size"]),
                     c.get("conv_kernel", 4), c.get("use_conv_bias", True), c.get("use_bias", False))
    norm_shapes(table, "backbone.norm_f", c["hidden_size"])
    if not c.get("tie_word_embeddings", False):
        linear_shapes(table, "lm_head", c["vocab_size"], c["hidden_size"])
    return table


LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
NEWER = {"linear_attention": "mamba", "full_attention": "attention"}  # transformers, since 2026: remap_legacy_layer_types


def older_words(kinds):
    return [NEWER.get(kind, kind) for kind in kinds]


def nemotron_kinds(c):
    """Of each layer what its only branch is: a pattern of letters, or a list of words."""
    return older_words(c.get("layers_block_type") or [LETTERS[letter] for letter in c["hybrid_override_pattern"]])


class NemotronH(Mamba):
    # Defaults: transformers, models/nemotron_h/configuration_nemotron_h.py (text of autumn 2026); names: modular_nemotron_h.py, and for experts
    # mlx-lm, nemotron_h.py. Projections of the mixer have the bias that use_bias says; older files
    # say attention_head_dim; the head is never the embedding.
    act_key = "mamba_hidden_act"

    def mamba_sizes(self):
        return nemotron_sizes(self.config)

    def epsilon(self):
        return self.get("layer_norm_epsilon", 1e-5)

    def gated(self, y, gate, at):
        weight, groups = self.weight(at + "norm.weight"), self.mamba_sizes()[2] if self.has("norms of groups") else 1
        if self.has("gate before the norm"):
            return norm_of_groups(y * silu(gate), weight, groups, self.epsilon())
        return norm_of_groups(y, weight, groups, self.epsilon()) * silu(gate)

    def attention(self, x, at, layer):
        size, new = nemotron_head(self.config), len(x)
        x = self.whole(x, layer)
        q, k, v = (self.dense(x, at + name + "_proj").reshape(len(x), -1, size) for name in "qkv")
        return self.dense(self.attend(q, k, v, size**-0.5)[-new:], at + "o_proj")

    def act(self, x):
        return relu(x) ** 2 if self.has("square") else relu(x)

    def mlp(self, x, at):
        return self.dense(self.act(self.dense(x, at + "up_proj")), at + "down_proj")

    def moe(self, x, at):
        bias = self.weight(at + "gate.e_score_correction_bias") if self.has("bias of the choice") else None
        groups, kept = self.get("n_group", 1), self.get("topk_group", 1)
        scale = self.get("routed_scaling_factor", 1.0) if self.has("routed_scaling_factor") else 1
        routes = route(self.dense(x, at + "gate"), self.get("num_experts_per_tok", 2), False, bias, groups, kept if self.has("groups of experts") else groups,
                       normalized=bool(self.get("norm_topk_prob", True)) == self.has("norm_topk_prob"), floor=1e-20, scale=scale)
        rows = self.dense(x, at + "fc1_latent_proj") if self.get("moe_latent_size") else x
        y = of_experts(rows, routes, lambda part, number: self.mlp(part, f"{at}experts.{number}."))
        y = self.dense(y, at + "fc2_latent_proj") if self.get("moe_latent_size") else y
        return y + self.mlp(x, at + "shared_experts.") if self.has("shared expert") else y

    def continued(self, ids):
        x = self.weight("backbone.embeddings.weight")[numpy.asarray(ids)]
        for layer, kind in enumerate(nemotron_kinds(self.config)):
            at = f"backbone.layers.{layer}."
            y, part = self.rms(x, at + "norm", self.epsilon()), at + "mixer."
            x = x + (self.mixer(y, part, layer) if kind == "mamba" else self.attention(y, part, layer) if kind == "attention" else getattr(self, kind)(y, part))
        return self.head(self.rms(x, "backbone.norm_f", self.epsilon()), "lm_head.weight", "backbone.embeddings.weight")


def nemotron_sizes(c):
    return c.get("mamba_num_heads", 128), c.get("mamba_head_dim", 64), c.get("n_groups", 8), c.get("ssm_state_size", 128)


def nemotron_head(c):
    return c.get("head_dim") or c.get("attention_head_dim") or 128


def nemotron_shapes(c):
    width, size, heads = c["hidden_size"], nemotron_head(c), c["num_attention_heads"]
    groups, bias = c.get("num_key_value_heads") or heads, c.get("mlp_bias", False)
    table = {"backbone.embeddings.weight": (c["vocab_size"], width)}

    def mlp(at, columns, inner, biased=False):
        linear_shapes(table, at + "up_proj", inner, columns, biased)
        linear_shapes(table, at + "down_proj", columns, inner, biased)

    for layer, kind in enumerate(nemotron_kinds(c)):
        at = f"backbone.layers.{layer}.mixer."
        norm_shapes(table, f"backbone.layers.{layer}.norm", width)
        if kind == "mamba":
            mixer_shapes(table, at, width, nemotron_sizes(c), c.get("conv_kernel", 4), c.get("use_conv_bias", True), c.get("use_bias", False))
        elif kind == "attention":
            for name, rows, columns in (("q_proj", heads * size, width), ("k_proj", groups * size, width), ("v_proj", groups * size, width),
                                        ("o_proj", width, heads * size)):
                linear_shapes(table, at + name, rows, columns, c.get("attention_bias", False))
        elif kind == "mlp":
            mlp(at, width, c["intermediate_size"], bias)
        else:
            latent = c.get("moe_latent_size")
            linear_shapes(table, at + "gate", c["n_routed_experts"], width)
            table[at + "gate.e_score_correction_bias"] = (c["n_routed_experts"],)
            for number in range(c["n_routed_experts"]):
                mlp(f"{at}experts.{number}.", latent or width, c["moe_intermediate_size"])
            if latent:
                linear_shapes(table, at + "fc1_latent_proj", latent, width, bias)
                linear_shapes(table, at + "fc2_latent_proj", width, latent, bias)
            mlp(at + "shared_experts.", width, c["moe_shared_expert_intermediate_size"], bias)
    norm_shapes(table, "backbone.norm_f", width)
    linear_shapes(table, "lm_head", c["vocab_size"], width)
    return table


MIXER = ("bias of the convolution", "activation of the convolution", "groups", "bias of the steps", "limits of the steps", "steps of the inputs",
         "skip of the inputs", "gate before the norm")
FAMILIES = {
    "mamba2": dict(
        SMALL={"model_type": "mamba2", "vocab_size": 97, "hidden_size": 44, "num_hidden_layers": 3, "num_heads": 8, "head_dim": 11, "n_groups": 2,
               "state_size": 13, "max_position_embeddings": 136},
        CASES={"plain": {}, "limits": {"time_step_limit": [0.02, 0.2], "tie_word_embeddings": True, "n_groups": 1, "conv_kernel": 2, "use_conv_bias": False},
               "bias": {"use_bias": True, "expand": 1, "num_heads": 4, "n_groups": 4, "time_step_limit": [0.0, math.inf]}},
        QUIRKS=(*MIXER, "norm of all groups"), Model=Mamba2, shapes=mamba2_shapes, F32=F32_TENSORS),
    "nemotron_h": dict(
        SMALL={"model_type": "nemotron_h", "vocab_size": 97, "hidden_size": 44, "intermediate_size": 60, "num_hidden_layers": 4,
               "hybrid_override_pattern": "M*-E", "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 12,
               "mamba_num_heads": 8, "mamba_head_dim": 9, "n_groups": 2, "ssm_state_size": 13, "conv_kernel": 4, "n_routed_experts": 8,
               "num_experts_per_tok": 3, "n_group": 4, "topk_group": 2,
               "moe_intermediate_size": 28, "moe_shared_expert_intermediate_size": 36, "routed_scaling_factor": 2.5, "max_position_embeddings": 136},
        CASES={"plain": {},
               "words": {"hybrid_override_pattern": "absent", "layers_block_type": ["mamba", "moe", "attention", "mamba", "mlp"], "num_hidden_layers": 5,
                         "moe_latent_size": 20, "mlp_bias": True, "use_bias": True, "attention_bias": True, "use_conv_bias": False, "n_group": 1,
                         "topk_group": 1, "norm_topk_prob": False, "head_dim": "absent", "attention_head_dim": 8, "time_step_limit": [0.02, 0.2]},
               "newer-words": {"hybrid_override_pattern": "absent", "layers_block_type": ["full_attention", "linear_attention", "linear_attention"],
                               "num_hidden_layers": 3, "n_groups": 4, "time_step_limit": [0.0, math.inf]}},
        QUIRKS=(*MIXER, "norms of groups", "square", "bias of the choice", "groups of experts", "routed_scaling_factor", "norm_topk_prob", "shared expert"),
        Model=NemotronH, shapes=nemotron_shapes, F32=F32_TENSORS),
}
