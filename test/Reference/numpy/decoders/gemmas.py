"""The gemma, gemma2 and gemma3_text families."""

import numpy

import tensorfiles

from .common import F32, attend, frequencies, gelu_tanh, rms_norm, rotate
from .llamalike import ALL_PROJECTIONS, SMALL, V5, Llama, shapes, size_of


class Gemma(Llama):
    def norm(self, x, name):
        one = 1 if self.has("gains around one") else 0
        return rms_norm(x, self.weight(name + ".weight") + one, self.get("rms_norm_eps", 1e-6))

    def rounded(self, scale):
        """A factor of embeddings has the type of the weights."""
        kind = self.config["torch_dtype"]
        if kind == "bfloat16":
            return float(tensorfiles.bf16Values(tensorfiles.bf16Bits(numpy.array([scale], F32)))[0])
        return float(numpy.float16(scale) if kind == "float16" else F32(scale))

    def embed(self, ids):
        return super().embed(ids) * (self.rounded(self.config["hidden_size"] ** 0.5) if self.has("embedding") else 1)

    def mlp(self, x, layer):
        at = f"model.layers.{layer}.mlp."
        return self.dense(gelu_tanh(self.dense(x, at + "gate_proj")) * self.dense(x, at + "up_proj"), at + "down_proj")


class Gemma2(Gemma):
    caps = (50.0, 30.0)  # of scores and of logits, where the configuration has no key

    def cap(self, which):
        key = ("attn_logit_softcapping", "final_logit_softcapping")[which]
        return self.config.get(key, self.caps[which]) if self.has(key) else None

    def scale(self):
        return self.get("query_pre_attn_scalar", 256) ** -0.5 if self.has("scale") else super().scale()

    def is_windowed(self, layer):
        types = self.get("layer_types")
        return types[layer] == "sliding_attention" if types else layer % 2 == 0

    def window(self, layer):
        return self.get("sliding_window", 4096) if self.is_windowed(layer) and self.has("window") else None

    def attend(self, query, key, value, scale, **options):
        return attend(query, self.stored(key), self.stored(value), scale, cap=self.cap(0), around=self.around, **options)

    def layer(self, x, layer):
        at = f"model.layers.{layer}."
        behind = (lambda y, name: self.norm(y, at + name)) if self.has("norms behind") else (lambda y, name: y)
        x = x + behind(self.attention(self.norm(x, at + "input_layernorm"), layer), "post_attention_layernorm")
        return x + behind(self.mlp(self.norm(x, at + "pre_feedforward_layernorm"), layer), "post_feedforward_layernorm")

    def logits(self, ids):
        logits, cap = super().logits(ids), self.cap(1)
        return logits if cap is None else cap * numpy.tanh(logits / cap)


class Gemma3(Gemma2):
    caps = (None, None)

    def is_windowed(self, layer):
        types = self.get("layer_types")
        return types[layer] == "sliding_attention" if types else (layer + 1) % self.get("sliding_window_pattern", 6) != 0

    def window(self, layer):
        window = super().window(layer)
        return window // 2 + 1 if window and self.around and self.has("half of the window") else window

    def queries_and_keys(self, q, k, at):
        if not self.has("norms of heads"):
            return q, k
        return self.norm(q, at + "q_norm"), self.norm(k, at + "k_norm")

    def turned(self, x, layer):
        rope = self.get("rope_parameters", {})
        local = self.is_windowed(layer) and self.has("two bases")
        if local:
            rates = frequencies(rope.get("sliding_attention", {}).get("rope_theta", self.get("rope_local_base_freq", 1e4)), x.shape[-1])
        else:
            whole = rope.get("full_attention", self.get("rope_scaling", {}))
            rates = frequencies(whole.get("rope_theta", self.get("rope_theta", 1e6)), x.shape[-1])
            if whole.get("rope_type") == "linear":
                rates = rates / F32(whole["factor"])
        return rotate(x, rates)


GEMMA = {**SMALL, "head_dim": 16, "num_hidden_layers": 2}
FOUR = ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")
FAMILIES = {
    "gemma": dict(
        SMALL={**GEMMA, "model_type": "gemma", "hidden_act": "gelu"},
        CASES={"plain": {}, "untied": {"tie_word_embeddings": False, "hidden_activation": "gelu_pytorch_tanh", "attention_bias": True, **V5}},
        QUIRKS=("gains around one", "embedding"), Model=Gemma, AROUND_ONE=("norm.weight",),
        shapes=lambda c: shapes(c, tied=True, biases=ALL_PROJECTIONS if c.get("attention_bias") else ())),
    "gemma2": dict(
        SMALL={**GEMMA, "model_type": "gemma2", "query_pre_attn_scalar": 24, "sliding_window": 9, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0,
               "num_hidden_layers": 3},
        CASES={"plain": {}, "types": {"layer_types": ["full_attention", "sliding_attention", "full_attention"], "attn_logit_softcapping": None},
               "usual-caps": {"attn_logit_softcapping": "absent", "final_logit_softcapping": "absent", "query_pre_attn_scalar": "absent"}},
        QUIRKS=("attn_logit_softcapping", "final_logit_softcapping", "scale", "window", "norms behind", "gains around one", "embedding"), Model=Gemma2,
        AROUND_ONE=("norm.weight",), shapes=lambda c: shapes(c, norms=FOUR, tied=True)),
    "gemma3_text": dict(
        SMALL={**GEMMA, "model_type": "gemma3_text", "query_pre_attn_scalar": 24, "sliding_window": 9, "num_hidden_layers": 7, "rope_theta": 5000.0,
               "rope_local_base_freq": 100.0, "rope_scaling": {"rope_type": "linear", "factor": 4.0}},
        CASES={"plain": {},
               "types": {"num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"], "rope_theta": "absent", "rope_local_base_freq": "absent",
                         "rope_scaling": "absent", "rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 3000.0},
                                                                       "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}}},
               "pattern": {"num_hidden_layers": 2, "sliding_window_pattern": 2, "final_logit_softcapping": 3.0, "attn_logit_softcapping": 2.0}},
        QUIRKS=("two bases", "norms of heads", "scale", "window", "norms behind", "gains around one", "embedding"), Model=Gemma3, AROUND_ONE=("norm.weight",),
        shapes=lambda c: shapes(c, norms=FOUR, tied=True, head_norms={"q_norm": size_of(c), "k_norm": size_of(c)})),
}
