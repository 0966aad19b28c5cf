"""The qwen3, olmo, olmo2, smollm3, granite and cohere families: relatives of llama, which share its names of tensors."""

import numpy

from .common import ACTIVATIONS, Base, frequencies, layer_norm, linear_shapes, norm_shapes, rotate

SMALL = {"vocab_size": 97, "hidden_size": 48, "intermediate_size": 72, "num_hidden_layers": 3, "num_attention_heads": 6,
         "num_key_value_heads": 2, "max_position_embeddings": 64}


class Llama(Base):
    prefix = "model."

    def sizes(self):
        c = self.config
        heads = c["num_attention_heads"]
        return heads, self.get("num_key_value_heads", heads), self.get("head_dim", c["hidden_size"] // heads)

    def theta(self):
        rope = self.get("rope_parameters", {})
        return rope.get("rope_theta", self.get("rope_theta", 10000.0))

    def norm(self, x, name):
        return self.rms(x, name, self.get("rms_norm_eps", 1e-6))

    def turned(self, x, layer):
        return rotate(x, frequencies(self.theta(), x.shape[-1]))

    def queries_and_keys(self, q, k, at):
        return q, k

    def window(self, layer):
        return None

    def scale(self):
        return self.sizes()[2] ** -0.5

    def attention(self, x, layer):
        heads, groups, size = self.sizes()
        at = f"{self.prefix}layers.{layer}.self_attn."
        q, k, v = (self.clipped(self.dense(x, at + name + "_proj")) for name in "qkv")
        q, k = self.queries_and_keys(q.reshape(-1, heads, size), k.reshape(-1, groups, size), at)
        mixed = self.attend(self.turned(q, layer), self.turned(k, layer), v.reshape(-1, groups, size), self.scale(),
                            window=self.window(layer))
        return self.dense(mixed, at + "o_proj")

    def clipped(self, x):
        return x

    def mlp(self, x, layer):
        at = f"{self.prefix}layers.{layer}.mlp."
        act = ACTIVATIONS[self.get("hidden_act", "silu")]
        return self.dense(act(self.dense(x, at + "gate_proj")) * self.dense(x, at + "up_proj"), at + "down_proj")

    def layer(self, x, layer):
        at = f"{self.prefix}layers.{layer}."
        x = x + self.attention(self.norm(x, at + "input_layernorm"), layer)
        return x + self.mlp(self.norm(x, at + "post_attention_layernorm"), layer)

    def embed(self, ids):
        return self.weight(self.prefix + "embed_tokens.weight")[numpy.asarray(ids)]

    def logits(self, ids):
        x = self.embed(ids)
        for layer in range(self.config["num_hidden_layers"]):
            x = self.layer(x, layer)
        return self.head(self.norm(x, self.prefix + "norm"), "lm_head.weight", self.prefix + "embed_tokens.weight")


def shapes(config, norms=("input_layernorm", "post_attention_layernorm"), tied=False, biases=(), last="norm", norm_bias=False,
           mlp=("gate_proj", "up_proj", "down_proj"), out="o_proj", head_norms=None):
    """Tensors of llama's names; `biases` are the parts that have one."""
    heads, width, inner = config["num_attention_heads"], config["hidden_size"], config["intermediate_size"]
    groups = config.get("num_key_value_heads") or heads
    size = config.get("head_dim") or width // heads
    table = {"model.embed_tokens.weight": (config["vocab_size"], width)}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        for name, rows, columns in (("q_proj", heads * size, width), ("k_proj", groups * size, width), ("v_proj", groups * size, width),
                                    (out, width, heads * size)):
            linear_shapes(table, at + "self_attn." + name, rows, columns, name in biases)
        for name in mlp:
            down = name == mlp[-1]
            linear_shapes(table, at + "mlp." + name, width if down else inner, inner if down else width, name in biases)
        for name in norms:
            norm_shapes(table, at + name, width, norm_bias)
        for name, count in (head_norms or {}).items():
            norm_shapes(table, at + "self_attn." + name, count, norm_bias)
    if last:
        norm_shapes(table, "model." + last, width, norm_bias)
    if not config.get("tie_word_embeddings", tied):
        linear_shapes(table, "lm_head", config["vocab_size"], width, "lm_head" in biases)
    return table


ALL_PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")


class Qwen3(Llama):
    def queries_and_keys(self, q, k, at):
        if not self.has("norms of heads"):
            return q, k
        return self.norm(q, at + "q_norm"), self.norm(k, at + "k_norm")

    def window(self, layer):
        if not self.get("use_sliding_window", False):
            return None
        types = self.get("layer_types") or ["full_attention" if i < self.get("max_window_layers", 28) else "sliding_attention"
                                            for i in range(self.config["num_hidden_layers"])]
        return self.get("sliding_window") if types[layer] == "sliding_attention" and self.has("window") else None


class Olmo(Llama):
    def norm(self, x, name):
        return layer_norm(x, 1, 0, 1e-5)

    def clipped(self, x):
        bound = self.get("clip_qkv")
        return x if bound is None or not self.has("clip") else numpy.clip(x, -bound, bound)


class Olmo2(Llama):
    def norm(self, x, name):
        return self.rms(x, name, self.get("rms_norm_eps", 1e-5))

    def queries_and_keys(self, q, k, at):
        if not self.has("norms of all heads"):
            return q, k
        return (self.norm(x.reshape(len(x), -1), at + name).reshape(x.shape) for x, name in ((q, "q_norm"), (k, "k_norm")))

    def layer(self, x, layer):
        at = f"model.layers.{layer}."
        behind = (lambda y, name: self.norm(y, at + name)) if self.has("norms behind") else (lambda y, name: y)
        x = x + behind(self.attention(x, layer), "post_attention_layernorm")
        return x + behind(self.mlp(x, layer), "post_feedforward_layernorm")


class SmolLM3(Llama):
    def theta(self):
        rope = self.get("rope_parameters", {})
        return rope.get("rope_theta", self.get("rope_theta", 2e6))

    def rotates(self, layer):
        given = self.get("no_rope_layers")
        return bool(given[layer]) if given else (layer + 1) % self.get("no_rope_layer_interval", 4) != 0

    def turned(self, x, layer):
        return super().turned(x, layer) if self.rotates(layer) or not self.has("layers without rotation") else x

    def window(self, layer):
        if not self.get("use_sliding_window", False) or not self.has("window"):
            return None
        types = self.get("layer_types")
        windowed = types[layer] == "sliding_attention" if types else not self.rotates(layer)
        return self.get("sliding_window") if windowed else None


class Granite(Llama):
    def scale(self):
        return self.get("attention_multiplier", 1.0) if self.has("scale") else super().scale()

    def embed(self, ids):
        return super().embed(ids) * (self.get("embedding_multiplier", 1.0) if self.has("embedding") else 1)

    def layer(self, x, layer):
        at, factor = f"model.layers.{layer}.", self.get("residual_multiplier", 1.0) if self.has("residual") else 1
        x = x + factor * self.attention(self.norm(x, at + "input_layernorm"), layer)
        return x + factor * self.mlp(self.norm(x, at + "post_attention_layernorm"), layer)

    def logits(self, ids):
        return super().logits(ids) / (self.get("logits_scaling", 1.0) if self.has("logits") else 1)


class Cohere(Llama):
    def norm(self, x, name):
        return self.layer_norm(x, name, self.get("layer_norm_eps", 1e-5))

    def turned(self, x, layer):
        return rotate(x, frequencies(self.theta(), x.shape[-1]), interleaved=self.has("neighbors"))

    def layer(self, x, layer):
        y = self.norm(x, f"model.layers.{layer}.input_layernorm")
        middle = x + self.attention(y, layer)
        return middle + self.mlp(y if self.has("parallel") else self.norm(middle, f"model.layers.{layer}.input_layernorm"), layer)

    def logits(self, ids):
        return super().logits(ids) * (self.get("logit_scale", 0.0625) if self.has("logits") else 1)


def size_of(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


V5 = {"rope_theta": "absent", "rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}
FAMILIES = {
    "qwen3": dict(
        SMALL={**SMALL, "model_type": "qwen3", "head_dim": 16, "rope_theta": 1000.0, "use_sliding_window": True, "sliding_window": 9, "max_window_layers": 1},
        CASES={"plain": {}, "types": {"layer_types": ["sliding_attention", "full_attention", "full_attention"], "sliding_window": 5},
               "tied": {"tie_word_embeddings": True, "use_sliding_window": False, "head_dim": 8}, "bias": {"attention_bias": True, **V5}},
        QUIRKS=("norms of heads", "window"), Model=Qwen3,
        shapes=lambda c: shapes(c, biases=ALL_PROJECTIONS if c.get("attention_bias") else (), head_norms={"q_norm": size_of(c), "k_norm": size_of(c)})),
    "olmo": dict(
        SMALL={**SMALL, "model_type": "olmo", "clip_qkv": 0.8},
        CASES={"plain": {}, "no-clip": {"clip_qkv": None, "tie_word_embeddings": True}, "wide": {"num_key_value_heads": None, "hidden_size": 192}},
        QUIRKS=("clip",), Model=Olmo, shapes=lambda c: shapes(c, norms=(), last=None)),
    "olmo2": dict(
        SMALL={**SMALL, "model_type": "olmo2"},
        CASES={"plain": {}, "bias": {"attention_bias": True, "num_key_value_heads": 6}, "wide": {"hidden_size": 96, "num_attention_heads": 3, "num_key_value_heads": 1}},
        QUIRKS=("norms of all heads", "norms behind"), Model=Olmo2,
        shapes=lambda c: shapes(c, norms=("post_attention_layernorm", "post_feedforward_layernorm"), biases=ALL_PROJECTIONS if c.get("attention_bias") else (),
                                head_norms={"q_norm": c["num_attention_heads"] * size_of(c), "k_norm": c["num_key_value_heads"] * size_of(c)})),
    "smollm3": dict(
        SMALL={**SMALL, "model_type": "smollm3", "num_hidden_layers": 5, "use_sliding_window": True, "sliding_window": 7},
        CASES={"plain": {}, "interval": {"no_rope_layer_interval": 2, "use_sliding_window": False, "tie_word_embeddings": False},
               "list": {"no_rope_layers": [1, 0, 0, 1, 1], "layer_types": ["sliding_attention"] * 2 + ["full_attention"] * 3, **V5}},
        QUIRKS=("layers without rotation", "window"), Model=SmolLM3, shapes=lambda c: shapes(c, tied=True)),
    "granite": dict(
        SMALL={**SMALL, "model_type": "granite", "embedding_multiplier": 3.0, "logits_scaling": 6.0, "residual_multiplier": 0.4, "attention_multiplier": 0.2},
        CASES={"plain": {}, "tied": {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True}},
        QUIRKS=("scale", "embedding", "residual", "logits"), Model=Granite,
        shapes=lambda c: shapes(c, biases=(ALL_PROJECTIONS if c.get("attention_bias") else ()) + (("gate_proj", "up_proj", "down_proj") if c.get("mlp_bias") else ()))),
    "cohere": dict(
        SMALL={**SMALL, "model_type": "cohere"},
        CASES={"plain": {}, "untied": {"tie_word_embeddings": False, "logit_scale": 0.3, "num_key_value_heads": None}, "bias": {"attention_bias": True, **V5}},
        QUIRKS=("neighbors", "parallel", "logits"), Model=Cohere,
        shapes=lambda c: shapes(c, norms=("input_layernorm",), tied=True, biases=ALL_PROJECTIONS if c.get("attention_bias") else ())),
}
