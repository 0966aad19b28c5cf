"""Parts of decoders whose layers carry a state, in float64: short convolutions, the linear recurrence token by token, mixtures of experts.

Model.logits computes a text from empty states; Model.in_pieces continues from the states behind a piece, as decoding does; Model.states_after
gives them, so that a test can compare those of compiled code.
"""

import numpy

from .common import Base

# Tensors that files keep in float32 whatever the type of the others.
F32_TENSORS = ("A_log", "dt_bias", ".D", "expert_bias", "e_score_correction_bias")


def softplus(x):
    return numpy.logaddexp(0, x)


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def recurrence(state, query, key, value, decay, beta=None):
    """Outputs [length, heads, value channels] and the last state [heads, key channels, value channels]. Of a token the state decays by
    exp(decay) ([length, heads], or a number for each key channel), takes in key times value, and is read by the query. With `beta` the
    delta rule: the value is what beta says of the difference to what the state has at the key."""
    outputs = numpy.empty((len(query), *value.shape[1:]))
    for token in range(len(query)):
        state = state * numpy.exp(decay[token]).reshape(len(state), -1, 1)
        change = value[token]
        if beta is not None:
            change = beta[token][:, None] * (change - numpy.einsum("hk,hkv->hv", key[token], state))
        state = state + key[token][:, :, None] * change[:, None, :]
        outputs[token] = numpy.einsum("hk,hkv->hv", query[token], state)
    return outputs, state


def short_conv(rows, weight, bias, before):
    """Outputs of a causal convolution of each channel, from the last inputs before; weight is [channels, 1, taps]."""
    padded, taps = numpy.concatenate([before, rows]), weight.shape[-1]
    return numpy.stack([(padded[at : at + taps] * weight[:, 0].T).sum(0) for at in range(len(rows))]) + bias


def route(logits, chosen, softmax=True, bias=None, groups=1, kept=1, normalized=True, floor=0.0, scale=1.0):
    """Weights [length, experts], 0 of those that are not chosen. `bias` only selects. Of `groups` those `kept` have the largest sums of their
    two best experts."""
    length, experts = logits.shape
    scores = numpy.exp(logits - logits.max(-1, keepdims=True)) if softmax else sigmoid(logits)
    if softmax:
        scores = scores / scores.sum(-1, keepdims=True)
    ranks = scores if bias is None else scores + bias
    if kept < groups:
        of_groups = numpy.sort(ranks.reshape(length, groups, -1), -1)[..., -2:].sum(-1)
        allowed = numpy.zeros((length, groups), bool)
        numpy.put_along_axis(allowed, numpy.argsort(-of_groups, -1, kind="stable")[:, :kept], True, -1)
        ranks = numpy.where(numpy.repeat(allowed, experts // groups, -1), ranks, -numpy.inf)
    mask = numpy.zeros_like(scores)
    numpy.put_along_axis(mask, numpy.argsort(-ranks, -1, kind="stable")[:, :chosen], 1, -1)
    weights = scores * mask
    if normalized:
        weights = weights / (weights.sum(-1, keepdims=True) + floor)
    return weights * scale


def of_experts(x, weights, expert):
    """The sum of expert(rows, number) times weights over the experts of each row; experts see only their rows."""
    result = 0
    for number in range(weights.shape[-1]):
        rows = weights[:, number] != 0
        part = expert(x[rows], number)
        result = numpy.zeros((len(x), part.shape[-1])) if number == 0 else result
        result[rows] += weights[rows, number, None] * part
    return result


class Stateful(Base):
    """A model whose layers carry states. Subclasses say with `continued` what the logits of tokens are behind `self.memory`."""

    recurrence = staticmethod(recurrence)
    short_conv = staticmethod(short_conv)

    def logits(self, ids):
        return self.in_pieces([ids])

    def in_pieces(self, pieces):
        self.memory = {}
        return numpy.concatenate([self.continued(piece) for piece in pieces])

    def convolved(self, rows, names, layer):
        """Rows through the convolutions of the names, one or several of adjacent channels, which go on from the layer's last inputs."""
        names = (names,) if isinstance(names, str) else names
        weight = numpy.concatenate([self.weight(name + ".weight") for name in names])
        biased = names[0] + ".bias" in self.tensors and self.has("bias of the convolution")
        bias = numpy.concatenate([self.weight(name + ".bias") for name in names]) if biased else 0
        before = self.memory.get((layer, "conv"), numpy.zeros((weight.shape[-1] - 1, rows.shape[-1])))
        self.memory[layer, "conv"] = numpy.concatenate([before, rows])[len(rows) :]
        return self.short_conv(rows, weight, bias, before)

    def recurred(self, query, key, value, decay, beta, layer):
        """The outputs of a layer's recurrence, which goes on from its last state. The tokens are the first dim of all operands."""
        empty = numpy.zeros((value.shape[1], key.shape[-1], value.shape[-1]))
        outputs, self.memory[layer, "matrix"] = self.recurrence(self.memory.get((layer, "matrix"), empty), query, key, value, decay, beta)
        return outputs

    def whole(self, x, layer):
        """A layer's inputs of all tokens so far, for attention, which is computed anew over a text: the last rows of its outputs count."""
        self.memory[layer, "inputs"] = numpy.concatenate([self.memory.get((layer, "inputs"), x[:0]), x])
        return self.memory[layer, "inputs"]

    def states_after(self, ids):
        """Of each layer, what it carries behind a text: (the last inputs of its convolution [taps - 1, channels], oldest first, or None,
        the state [heads, key channels, value channels] or None)."""
        self.logits(ids)
        return [(self.memory.get((layer, "conv")), self.memory.get((layer, "matrix"))) for layer in range(self.config["num_hidden_layers"])]
