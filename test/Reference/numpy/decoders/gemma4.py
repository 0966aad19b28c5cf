"""The gemma4_text family: layers of two sizes of heads, keys that several layers share, embeddings of each layer, experts beside a feed-forward."""

import numpy

from .common import F32, frequencies, gelu_tanh, linear_shapes, norm_shapes, rms_norm, rotate
from .gemmas import FOUR, Gemma2
from .llamalike import SMALL, V5


def types_of(config):
    """The last layer sees all keys, whatever the file says."""
    given = config.get("layer_types") or ["full_attention" if (i + 1) % 6 == 0 else "sliding_attention" for i in range(config["num_hidden_layers"])]
    return [*given[:-1], "full_attention"]


def own_layers(config):
    """The number of layers that have keys of their own: all those ahead of the ones that share them."""
    return config["num_hidden_layers"] - (config.get("num_kv_shared_layers") or 0)


def head_sizes(config, layer):
    """Groups of keys and the channels of a head."""
    if types_of(config)[layer] == "sliding_attention":
        return config["num_key_value_heads"], config["head_dim"]
    own = config.get("num_global_key_value_heads") if config.get("attention_k_eq_v") else None
    return own or config["num_key_value_heads"], config.get("global_head_dim") or 512


def inner_size(config, layer):
    is_double = config.get("use_double_wide_mlp") and layer >= own_layers(config)
    return config["intermediate_size"] * (2 if is_double else 1)


def layer_inputs(config):
    """Columns of each layer's embeddings of words; 0: none."""
    given = config.get("hidden_size_per_layer_input", 256)
    return given or 0


class Gemma4(Gemma2):
    caps = (None, None)

    def norm(self, x, name):
        return self.rms(x, name, self.get("rms_norm_eps", 1e-6))

    def bare(self, x):
        """The norm without a weight."""
        return rms_norm(x, 1, self.get("rms_norm_eps", 1e-6))

    def is_windowed(self, layer):
        return types_of(self.config)[layer] == "sliding_attention"

    def window(self, layer):
        if not self.is_windowed(layer) or not self.has("window"):
            return None
        window = self.get("sliding_window", 512)
        return window // 2 + 2 if self.around and self.has("half of the window") else window  # the distance is at most window // 2 + 1

    def turned(self, x, layer):
        rope, channels = self.get("rope_parameters", {}), x.shape[-1]
        if self.is_windowed(layer) or not self.has("two bases"):
            return rotate(x, frequencies(rope.get("sliding_attention", {}).get("rope_theta", 1e4), channels))
        own = rope.get("full_attention", {"partial_rotary_factor": 0.25})
        theta, share = own.get("rope_theta", 1e6), own.get("partial_rotary_factor", 1)
        if not self.has("proportional"):
            return rotate(x, frequencies(theta, int(channels * share) // 2 * 2))
        rates = frequencies(theta, channels) / F32(own.get("factor", 1))
        rates[int(share * channels) // 2:] = 0  # pairs that keep their direction; element i belongs to i + half of the head
        return rotate(x, rates)

    def keys_and_values(self, x, layer):
        groups, size = head_sizes(self.config, layer)
        at = f"model.layers.{layer}.self_attn."
        k = self.dense(x, at + "k_proj").reshape(-1, groups, size)
        key = self.turned(self.norm(k, at + "k_norm") if self.has("norms of heads") else k, layer)
        if self.config.get("attention_k_eq_v") and not self.is_windowed(layer):
            v = k if self.has("values ahead of the keys' norm") else key
        else:
            v = self.dense(x, at + "v_proj").reshape(-1, groups, size)
        return key, self.bare(v) if self.has("norm of values") else v

    def source(self, layer):
        """The layer whose keys and values it reads."""
        if layer < own_layers(self.config):
            return layer
        types = types_of(self.config)
        same = [own for own in range(own_layers(self.config)) if types[own] == types[layer]]
        return same[-1 if self.has("the last source") else 0]

    def attention(self, x, layer):
        heads, (_, size) = self.config["num_attention_heads"], head_sizes(self.config, layer)
        at = f"model.layers.{layer}.self_attn."
        q = self.dense(x, at + "q_proj").reshape(-1, heads, size)
        q = self.turned(self.norm(q, at + "q_norm") if self.has("norms of heads") else q, layer)
        if self.source(layer) == layer:
            self.kept[layer] = self.keys_and_values(x, layer)
        key, value = self.kept[self.source(layer)]
        scale = 1 if self.has("scores without a scale") else size ** -0.5
        return self.dense(self.attend(q, key, value, scale, window=self.window(layer)), at + "o_proj")

    def expert(self, x, at, number):
        gate, up = numpy.split(x @ self.weight(at + "experts.gate_up_proj")[number].T, 2, -1)
        return gelu_tanh(gate) * up @ self.weight(at + "experts.down_proj")[number].T

    def routed(self, x, at):
        """Weights [length, experts], 0 of those that a token does not have."""
        width, scale = self.config["hidden_size"], self.weight(at + "router.scale")
        read = self.bare(x) * (scale if self.has("router.scale") else 1) * (width ** -0.5 if self.has("scale of the router") else 1)
        scores = self.dense(read, at + "router.proj")
        powers = numpy.exp(scores - scores.max(-1, keepdims=True))
        weights = powers / powers.sum(-1, keepdims=True)
        others = numpy.argsort(-weights, -1, kind="stable")[:, self.config["top_k_experts"]:]
        numpy.put_along_axis(weights, others, 0, -1)
        own = self.weight(at + "router.per_expert_scale")
        return weights / weights.sum(-1, keepdims=True) * (own if self.has("per_expert_scale") else 1)

    def feed_forward(self, x, layer):
        at = f"model.layers.{layer}."
        y = self.mlp(self.norm(x, at + "pre_feedforward_layernorm"), layer)
        if not self.config.get("enable_moe_block"):
            return y
        weights = self.routed(x if self.has("routes by the residual") else self.norm(x, at + "pre_feedforward_layernorm"), at)
        read = self.norm(x, at + "pre_feedforward_layernorm_2")
        mixed = sum(weights[:, [number]] * self.expert(read, at, number) for number in range(self.config["num_experts"]))
        y = self.norm(y, at + "post_feedforward_layernorm_1") if self.has("norms of both") else y
        mixed = self.norm(mixed, at + "post_feedforward_layernorm_2") if self.has("norms of both") else mixed
        return y + mixed if self.has("feed-forward beside experts") else mixed

    def layer(self, x, layer):
        at = f"model.layers.{layer}."
        behind = (lambda y, name: self.norm(y, at + name)) if self.has("norms behind") else (lambda y, name: y)
        x = x + behind(self.attention(self.norm(x, at + "input_layernorm"), layer), "post_attention_layernorm")
        x = x + behind(self.feed_forward(x, layer), "post_feedforward_layernorm")
        if self.inputs is not None:
            gated = gelu_tanh(self.dense(x, at + "per_layer_input_gate")) * self.inputs[:, layer]
            x = x + self.norm(self.dense(gated, at + "per_layer_projection"), at + "post_per_layer_input_norm")
        return x * (self.weight(at + "layer_scalar") if self.has("layer_scalar") else 1)

    def inputs_of_layers(self, ids, x):
        """[length, layers, columns]: rows of a table, and what the first layer's input says, each with its norm."""
        columns = layer_inputs(self.config)
        if not columns or not self.has("inputs of layers"):
            return None
        shape = (len(ids), self.config["num_hidden_layers"], columns)
        rows = self.weight("model.embed_tokens_per_layer.weight")[numpy.asarray(ids)].reshape(shape)
        rows = rows * (self.rounded(columns ** 0.5) if self.has("scale of the rows") else 1)
        said = self.dense(x, "model.per_layer_model_projection") * self.config["hidden_size"] ** -0.5
        said = said.reshape(shape)
        said = self.norm(said, "model.per_layer_projection_norm") if self.has("norm of the projection") else said
        parts = [part for part, name in ((rows, "rows of layers"), (said, "projection of the embedding")) if self.has(name)]
        return sum(parts) * 2 ** -0.5

    def logits(self, ids):
        self.kept, self.inputs = {}, self.inputs_of_layers(ids, self.embed(ids))
        return super().logits(ids)


def shapes(config):
    """The layers that share keys have no weights of them here; published files have some, which nothing reads."""
    width, heads, columns = config["hidden_size"], config["num_attention_heads"], layer_inputs(config)
    table = {"model.embed_tokens.weight": (config["vocab_size"], width)}
    count = config["num_hidden_layers"]
    if columns:
        table["model.embed_tokens_per_layer.weight"] = (config.get("vocab_size_per_layer_input", 262144), count * columns)
        linear_shapes(table, "model.per_layer_model_projection", count * columns, width)
        norm_shapes(table, "model.per_layer_projection_norm", columns)
    for layer in range(count):
        at, (groups, size), inner = f"model.layers.{layer}.", head_sizes(config, layer), inner_size(config, layer)
        has_bias = config.get("attention_bias", False)
        linear_shapes(table, at + "self_attn.q_proj", heads * size, width, has_bias)
        linear_shapes(table, at + "self_attn.o_proj", width, heads * size, has_bias)
        norm_shapes(table, at + "self_attn.q_norm", size)
        if layer < own_layers(config):
            linear_shapes(table, at + "self_attn.k_proj", groups * size, width, has_bias)
            norm_shapes(table, at + "self_attn.k_norm", size)
            if not config.get("attention_k_eq_v") or types_of(config)[layer] == "sliding_attention":
                linear_shapes(table, at + "self_attn.v_proj", groups * size, width, has_bias)
        for name, rows, read in (("gate_proj", inner, width), ("up_proj", inner, width), ("down_proj", width, inner)):
            linear_shapes(table, at + "mlp." + name, rows, read)
        for name in FOUR:
            norm_shapes(table, at + name, width)
        if columns:
            linear_shapes(table, at + "per_layer_input_gate", columns, width)
            linear_shapes(table, at + "per_layer_projection", width, columns)
            norm_shapes(table, at + "post_per_layer_input_norm", width)
        table[at + "layer_scalar"] = (1,)
        if config.get("enable_moe_block"):
            experts, own = config["num_experts"], config["moe_intermediate_size"]
            linear_shapes(table, at + "router.proj", experts, width)
            table[at + "router.scale"] = (width,)
            table[at + "router.per_expert_scale"] = (experts,)
            table[at + "experts.gate_up_proj"] = (experts, 2 * own, width)
            table[at + "experts.down_proj"] = (experts, width, own)
            for name in ("pre_feedforward_layernorm_2", "post_feedforward_layernorm_1", "post_feedforward_layernorm_2"):
                norm_shapes(table, at + name, width)
    norm_shapes(table, "model.norm", width)
    if not config.get("tie_word_embeddings", True):
        linear_shapes(table, "lm_head", config["vocab_size"], width)
    return table


S, F = "sliding_attention", "full_attention"
ROPE = {S: {"rope_type": "default", "rope_theta": 100.0}, F: {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 1000.0}}
NO_INPUTS = {"hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0, "use_double_wide_mlp": False}
QUIRKS = ("two bases", "proportional", "window", "norms of heads", "norm of values", "scores without a scale", "the last source", "inputs of layers",
          "rows of layers", "projection of the embedding", "scale of the rows", "norm of the projection", "layer_scalar", "norms behind", "embedding",
          "final_logit_softcapping", "values ahead of the keys' norm")
EXPERTS = ("router.scale", "scale of the router", "per_expert_scale", "routes by the residual", "norms of both", "feed-forward beside experts")
FAMILIES = {
    "gemma4_text": dict(
        SMALL={**SMALL, "model_type": "gemma4_text", "num_attention_heads": 4, "head_dim": 16, "global_head_dim": 32, "num_hidden_layers": 7,
               "layer_types": [S, S, F, S, F, S, F], "num_kv_shared_layers": 3, "sliding_window": 9, "use_double_wide_mlp": True, "hidden_size_per_layer_input": 12,
               "vocab_size_per_layer_input": 97, "final_logit_softcapping": 3.0, "rope_parameters": ROPE},
        CASES={"plain": {},
               "same-keys": {**NO_INPUTS, "attention_k_eq_v": True, "num_global_key_value_heads": 1, "layer_types": [S, F, F, S, S],
                             "num_hidden_layers": 5, "final_logit_softcapping": None},
               "defaults": {"layer_types": "absent", "rope_parameters": "absent", "global_head_dim": 24, "num_hidden_layers": 8, "num_kv_shared_layers": 1,
                            "use_double_wide_mlp": False, "vocab_size_per_layer_input": 120, "num_global_key_value_heads": 1, "tie_word_embeddings": False,
                            "attention_bias": True, "use_bidirectional_attention": "vision"},
               "long-window": {"num_hidden_layers": 3, "layer_types": [F, S, F], "num_kv_shared_layers": 1, "sliding_window": 64},
               "full": {**NO_INPUTS, "num_hidden_layers": 2, "layer_types": [F, F]},
               "experts": {**NO_INPUTS, "num_hidden_layers": 3, "layer_types": [S, S, F], "attention_k_eq_v": True, "num_global_key_value_heads": 1,
                           "enable_moe_block": True, "num_experts": 6, "top_k_experts": 2, "moe_intermediate_size": 20}},
        # Scores have no scale: with gains around 1 they were so large that bf16 shows in them.
        QUIRKS=(*QUIRKS, *EXPERTS), Model=Gemma4, shapes=shapes, FACTORS={"q_norm.weight": 0.5, "k_norm.weight": 0.5}),
}
