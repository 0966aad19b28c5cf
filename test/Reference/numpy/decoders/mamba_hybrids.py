"""The mamba2 family and its hybrids with attention."""

import numpy

from .common import ACTIVATIONS, linear_shapes, norm_shapes, rms_norm, silu
from .states import F32_TENSORS, Stateful, softplus


class Mamba(Stateful):
    """The mixer of Mamba-2: its projection gives the gate, the inputs of the convolution and the steps. Keys have other names by family."""

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
        rows = ACTIVATIONS[self.get("hidden_act", "silu")](rows) if self.has("activation of the convolution") else rows
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


def mixer_shapes(table, at, width, sizes, taps, conv_bias, bias, norm=True):
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
    linear_shapes(table, at + "out_proj", width, inner, bias)


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
        y, groups = y * silu(gate), self.mamba_sizes()[2]
        weight = self.weight(at + "norm.weight").reshape(groups, -1)
        return rms_norm(y.reshape(len(y), groups, -1), weight, self.get("layer_norm_epsilon", 1e-5)).reshape(y.shape)


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


MIXER = ("bias of the convolution", "activation of the convolution", "groups", "bias of the steps", "limits of the steps", "steps of the inputs",
         "skip of the inputs", "gate before the norm")
FAMILIES = {
    "mamba2": dict(
        SMALL={"model_type": "mamba2", "vocab_size": 97, "hidden_size": 44, "num_hidden_layers": 3, "num_heads": 8, "head_dim": 11, "n_groups": 2,
               "state_size": 13, "max_position_embeddings": 64},
        CASES={"plain": {}, "limits": {"time_step_limit": [0.02, 0.2], "tie_word_embeddings": True, "n_groups": 1, "conv_kernel": 2, "use_conv_bias": False},
               "bias": {"use_bias": True, "expand": 1, "num_heads": 4, "n_groups": 4}},
        QUIRKS=(*MIXER, "norm of all groups"), Model=Mamba2, shapes=mamba2_shapes, F32=F32_TENSORS),
}
