"""The gpt_neox, gptj, phi, stablelm, phi3 and starcoder2 families, and the name that phi had before."""

import math
import numpy

from .common import ACTIVATIONS, Base, frequencies, linear_shapes, norm_shapes, rotate
from .llamalike import SMALL, Llama, shapes, size_of


class NeoX(Base):
    def norm(self, x, name):
        return self.layer_norm(x, name, self.get("layer_norm_eps", 1e-5))

    def attention(self, x, layer):
        heads = self.config["num_attention_heads"]
        size = self.config["hidden_size"] // heads
        at = f"gpt_neox.layers.{layer}.attention."
        packed = self.dense(x, at + "query_key_value")
        if self.has("heads in turn"):
            q, k, v = numpy.moveaxis(packed.reshape(len(x), heads, 3, size), 2, 0)
        else:
            q, k, v = numpy.moveaxis(packed.reshape(len(x), 3, heads, size), 1, 0)
        rope = self.get("rope_parameters", {})
        share = rope.get("partial_rotary_factor", self.get("rotary_pct", 0.25))
        theta = rope.get("rope_theta", self.get("rotary_emb_base", 10000))
        rates = frequencies(theta, int(size * share) if self.has("part of a head") else size)
        return self.dense(self.attend(rotate(q, rates), rotate(k, rates), v, size**-0.5), at + "dense")

    def mlp(self, x, layer):
        at = f"gpt_neox.layers.{layer}.mlp."
        return self.dense(ACTIVATIONS[self.get("hidden_act", "gelu")](self.dense(x, at + "dense_h_to_4h")), at + "dense_4h_to_h")

    def logits(self, ids):
        x = self.weight("gpt_neox.embed_in.weight")[numpy.asarray(ids)]
        for layer in range(self.config["num_hidden_layers"]):
            at = f"gpt_neox.layers.{layer}."
            middle = x + self.attention(self.norm(x, at + "input_layernorm"), layer)
            seen = x if self.get("use_parallel_residual", True) and self.has("parallel") else middle
            x = middle + self.mlp(self.norm(seen, at + "post_attention_layernorm"), layer)
        return self.head(self.norm(x, "gpt_neox.final_layer_norm"), "embed_out.weight", "gpt_neox.embed_in.weight")


def neox_shapes(config):
    width, inner, table = config["hidden_size"], config["intermediate_size"], {}
    table["gpt_neox.embed_in.weight"] = (config["vocab_size"], width)
    for layer in range(config["num_hidden_layers"]):
        at = f"gpt_neox.layers.{layer}."
        biased = config.get("attention_bias", True)
        linear_shapes(table, at + "attention.query_key_value", 3 * width, width, biased)
        linear_shapes(table, at + "attention.dense", width, width, biased)
        linear_shapes(table, at + "mlp.dense_h_to_4h", inner, width, True)
        linear_shapes(table, at + "mlp.dense_4h_to_h", width, inner, True)
        norm_shapes(table, at + "input_layernorm", width, True)
        norm_shapes(table, at + "post_attention_layernorm", width, True)
    norm_shapes(table, "gpt_neox.final_layer_norm", width, True)
    if not config.get("tie_word_embeddings"):
        linear_shapes(table, "embed_out", config["vocab_size"], width)
    return table


class GPTJ(Base):
    def norm(self, x, name):
        return self.layer_norm(x, name, self.get("layer_norm_epsilon", 1e-5))

    def attention(self, x, layer):
        heads, at = self.config["n_head"], f"transformer.h.{layer}.attn."
        size = self.config["n_embd"] // heads
        q, k, v = (self.dense(x, at + name + "_proj").reshape(len(x), heads, size) for name in "qkv")
        count = self.get("rotary_dim", 64) if self.has("part of a head") else size
        turned = (rotate(y, frequencies(10000, count), interleaved=self.has("neighbors")) for y in (q, k))
        return self.dense(self.attend(*turned, v, size**-0.5), at + "out_proj")

    def logits(self, ids):
        x = self.weight("transformer.wte.weight")[numpy.asarray(ids)]
        for layer in range(self.config["n_layer"]):
            at = f"transformer.h.{layer}."
            y = self.norm(x, at + "ln_1")
            middle = x + self.attention(y, layer)
            seen = y if self.has("parallel") else self.norm(middle, at + "ln_1")
            act = ACTIVATIONS[self.get("activation_function", "gelu_new")]
            x = middle + self.dense(act(self.dense(seen, at + "mlp.fc_in")), at + "mlp.fc_out")
        x = self.norm(x, "transformer.ln_f")
        return self.head(x, "lm_head.weight", "transformer.wte.weight") + (self.weight("lm_head.bias") if self.has("bias of the head") else 0)


def gptj_shapes(config):
    width, table = config["n_embd"], {}
    inner = config.get("n_inner") or 4 * width
    table["transformer.wte.weight"] = (config["vocab_size"], width)
    for layer in range(config["n_layer"]):
        at = f"transformer.h.{layer}."
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            linear_shapes(table, at + "attn." + name, width, width)
        linear_shapes(table, at + "mlp.fc_in", inner, width, True)
        linear_shapes(table, at + "mlp.fc_out", width, inner, True)
        norm_shapes(table, at + "ln_1", width, True)
    norm_shapes(table, "transformer.ln_f", width, True)
    linear_shapes(table, "lm_head", config["vocab_size"], width, True)
    return table


class Partial(Llama):
    """Relatives of llama with layer norms and rotation of a part of each head."""

    usual_share = 1.0

    def norm(self, x, name):
        return self.layer_norm(x, name, self.get("layer_norm_eps", 1e-5))

    def turned(self, x, layer):
        rope = self.get("rope_parameters", {})
        share = rope.get("partial_rotary_factor", self.get("partial_rotary_factor", self.usual_share))
        return rotate(x, frequencies(self.theta(), int(x.shape[-1] * share) if self.has("part of a head") else x.shape[-1]))


class Phi(Partial):
    usual_share = 0.5

    def queries_and_keys(self, q, k, at):
        if not self.get("qk_layernorm", False) or not self.has("norms of heads"):
            return q, k
        return self.norm(q, at + "q_layernorm"), self.norm(k, at + "k_layernorm")

    def dense(self, x, name):
        return super().dense(x, name.replace("o_proj", "dense"))

    def layer(self, x, layer):
        at = f"model.layers.{layer}."
        y = self.norm(x, at + "input_layernorm")
        middle = x + self.attention(y, layer)
        seen = y if self.has("parallel") else self.norm(middle, at + "input_layernorm")
        act = ACTIVATIONS[self.get("hidden_act", "gelu_new")]
        return middle + self.dense(act(self.dense(seen, at + "mlp.fc1")), at + "mlp.fc2")

    def logits(self, ids):
        x = self.embed(ids)
        for layer in range(self.config["num_hidden_layers"]):
            x = self.layer(x, layer)
        x = self.norm(x, "model.final_layernorm")
        return self.head(x, "lm_head.weight", "model.embed_tokens.weight") + (self.weight("lm_head.bias") if self.has("bias of the head") else 0)


class MixFormer(Base):
    """phi under its first name: a sequence of modules, the embedding, layers and the head, by whose places tensors are named."""

    def norm(self, x, name):
        return self.layer_norm(x, name, self.get("layer_norm_epsilon", 1e-5))

    def attention(self, x, at):
        heads = self.config["n_head"]
        size = x.shape[-1] // heads
        q, k, v = numpy.moveaxis(self.dense(x, at + "Wqkv").reshape(len(x), 3, heads, size), 1, 0)
        rates = frequencies(10000, min(self.get("rotary_dim", 32), size) if self.has("part of a head") else size)
        return self.dense(self.attend(rotate(q, rates), rotate(k, rates), v, size**-0.5), at + "out_proj")

    def logits(self, ids):
        x = self.weight("layers.0.wte.weight")[numpy.asarray(ids)]
        act = ACTIVATIONS[self.get("activation_function", "gelu_new")]
        for layer in range(1, self.config["n_layer"] + 1):
            at = f"layers.{layer}."
            y = self.norm(x, at + "ln")
            middle = x + self.attention(y, at + "mixer.")
            seen = y if self.has("parallel") else self.norm(middle, at + "ln")
            x = middle + self.dense(act(self.dense(seen, at + "mlp.fc1")), at + "mlp.fc2")
        last = f"layers.{self.config['n_layer'] + 1}."
        x = self.norm(x, last + "ln")
        return self.head(x, last + "linear.weight", "layers.0.wte.weight") + (self.weight(last + "linear.bias") if self.has("bias of the head") else 0)


def mixformer_words(config):
    multiple = config.get("pad_vocab_size_multiple", 64)
    return -(-config["vocab_size"] // multiple) * multiple


def mixformer_shapes(config):
    width, layers, words = config["n_embd"], config["n_layer"], mixformer_words(config)
    inner = config.get("n_inner") or 4 * width
    table = {"layers.0.wte.weight": (words, width)}
    for layer in range(1, layers + 1):
        at = f"layers.{layer}."
        norm_shapes(table, at + "ln", width, True)
        linear_shapes(table, at + "mixer.Wqkv", 3 * width, width, True)
        linear_shapes(table, at + "mixer.out_proj", width, width, True)
        linear_shapes(table, at + "mlp.fc1", inner, width, True)
        linear_shapes(table, at + "mlp.fc2", width, inner, True)
    norm_shapes(table, f"layers.{layers + 1}.ln", width, True)
    linear_shapes(table, f"layers.{layers + 1}.linear", words, width, True)
    return table


class StableLM(Partial):
    usual_share = 0.25

    def layer(self, x, layer):
        at = f"model.layers.{layer}."
        y = self.norm(x, at + "input_layernorm")
        middle = x + self.attention(y, layer)
        if self.get("use_parallel_residual", False):
            return middle + self.mlp(y if self.has("parallel") else self.norm(middle, at + "input_layernorm"), layer)
        return middle + self.mlp(self.norm(middle, at + "post_attention_layernorm"), layer)


class Phi3(Llama):
    """Queries, keys and values in one tensor; gate and up in one."""

    def norm(self, x, name):
        return self.rms(x, name, self.get("rms_norm_eps", 1e-5))

    def dense(self, x, name):
        heads, groups, size = self.sizes()
        parts = {"q_proj": (0, heads * size), "k_proj": (heads * size, (heads + groups) * size), "v_proj": ((heads + groups) * size, None)}
        inner = self.config["intermediate_size"]
        parts.update({"gate_proj": (0, inner), "up_proj": (inner, None)})
        path, _, last = name.rpartition(".")
        if last not in parts:
            return super().dense(x, name)
        begin, end = parts[last]
        if not self.has("gate first") and last in ("gate_proj", "up_proj"):
            begin, end = parts["up_proj" if last == "gate_proj" else "gate_proj"]
        return super().dense(x, path + (".gate_up_proj" if "mlp" in path else ".qkv_proj"))[:, begin:end]

    def turned(self, x, layer):
        rope = self.get("rope_parameters") or self.get("rope_scaling") or {}
        share = rope.get("partial_rotary_factor", self.get("partial_rotary_factor", 1.0))
        rates, magnitude = frequencies(self.theta(), int(x.shape[-1] * share)), 1.0
        if rope.get("rope_type", rope.get("type", "default")) in ("longrope", "su") and self.has("longrope"):
            most, original = self.config["max_position_embeddings"], self.get("original_max_position_embeddings", 4096)
            rates = rates / numpy.array(rope["long_factor" if len(x) > original else "short_factor"], numpy.float32)
            magnitude = math.sqrt(1 + math.log(most / original) / math.log(original)) if most > original else 1.0
        return rotate(x, rates, magnitude=magnitude)

    def window(self, layer):
        return self.get("sliding_window") if self.has("window") else None


def phi3_shapes(config):
    table, heads, width = {}, config["num_attention_heads"], config["hidden_size"]
    groups, size, inner = config.get("num_key_value_heads") or heads, size_of(config), config["intermediate_size"]
    table["model.embed_tokens.weight"] = (config["vocab_size"], width)
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        linear_shapes(table, at + "self_attn.qkv_proj", (heads + 2 * groups) * size, width)
        linear_shapes(table, at + "self_attn.o_proj", width, heads * size)
        linear_shapes(table, at + "mlp.gate_up_proj", 2 * inner, width)
        linear_shapes(table, at + "mlp.down_proj", width, inner)
        norm_shapes(table, at + "input_layernorm", width)
        norm_shapes(table, at + "post_attention_layernorm", width)
    norm_shapes(table, "model.norm", width)
    linear_shapes(table, "lm_head", config["vocab_size"], width)
    return table


class Starcoder2(Llama):
    def norm(self, x, name):
        return self.layer_norm(x, name, self.get("norm_epsilon", 1e-5))

    def window(self, layer):
        return self.get("sliding_window") if self.has("window") else None

    def mlp(self, x, layer):
        at = f"model.layers.{layer}.mlp."
        return self.dense(ACTIVATIONS[self.get("hidden_act", "gelu_pytorch_tanh")](self.dense(x, at + "c_fc")), at + "c_proj")


STAR = ("q_proj", "k_proj", "v_proj", "o_proj", "c_fc", "c_proj")
QKV = ("q_proj", "k_proj", "v_proj")
NEOX = {"model_type": "gpt_neox", "vocab_size": 97, "hidden_size": 48, "intermediate_size": 72, "num_hidden_layers": 2, "num_attention_heads": 3,
        "max_position_embeddings": 64}
FAMILIES = {
    "gpt_neox": dict(
        SMALL=NEOX, shapes=neox_shapes, Model=NeoX, QUIRKS=("heads in turn", "part of a head", "parallel"),
        CASES={"plain": {}, "in-turn": {"use_parallel_residual": False, "attention_bias": False, "rotary_pct": 0.5, "rotary_emb_base": 500, "hidden_act": "gelu_new"},
               "tied": {"tie_word_embeddings": True, "rope_parameters": {"rope_type": "default", "rope_theta": 800.0, "partial_rotary_factor": 0.75}}}),
    "gptj": dict(
        SMALL={"model_type": "gptj", "vocab_size": 97, "n_embd": 48, "n_layer": 2, "n_head": 3, "n_positions": 64, "rotary_dim": 6},
        shapes=gptj_shapes, Model=GPTJ, QUIRKS=("neighbors", "part of a head", "parallel", "bias of the head"),
        CASES={"plain": {}, "inner": {"n_inner": 70, "rotary_dim": 16, "activation_function": "gelu"}}),
    "phi": dict(
        SMALL={**SMALL, "model_type": "phi", "num_hidden_layers": 2}, Model=Phi, QUIRKS=("part of a head", "parallel", "bias of the head"),
        shapes=lambda c: shapes(c, norms=("input_layernorm",), last="final_layernorm", norm_bias=True, mlp=("fc1", "fc2"), out="dense",
                                biases=QKV + ("dense", "fc1", "fc2", "lm_head"),
                                head_norms={"q_layernorm": size_of(c), "k_layernorm": size_of(c)} if c.get("qk_layernorm") else None),
        CASES={"plain": {}, "norms": {"qk_layernorm": True, "num_key_value_heads": None, "partial_rotary_factor": 0.25},
               "parameters": {"rope_parameters": {"rope_theta": 700.0, "partial_rotary_factor": 0.75, "rope_type": "default"}}}),
    "mixformer-sequential": dict(
        SMALL={"model_type": "mixformer-sequential", "vocab_size": 97, "n_embd": 48, "n_layer": 2, "n_head": 3, "n_positions": 64, "rotary_dim": 6},
        Model=MixFormer, QUIRKS=("part of a head", "parallel", "bias of the head"), shapes=mixformer_shapes, words=mixformer_words,
        CASES={"plain": {}, "padded": {"pad_vocab_size_multiple": 50, "n_inner": 70, "rotary_dim": 32, "architecture": {"block_cls": "parallel", "mixer": {}, "mlp": {"mlp_cls": "fused_mlp"}}}}),
    "stablelm": dict(
        SMALL={**SMALL, "model_type": "stablelm", "num_hidden_layers": 2, "use_qkv_bias": True}, Model=StableLM, QUIRKS=("part of a head",),
        shapes=lambda c: shapes(c, norm_bias=True, norms=("input_layernorm",) + (() if c.get("use_parallel_residual") else ("post_attention_layernorm",)),
                                biases=QKV if c.get("use_qkv_bias") else ()),
        CASES={"plain": {}, "parallel": {"use_parallel_residual": True, "use_qkv_bias": False, "partial_rotary_factor": 0.5, "tie_word_embeddings": True}}),
    "phi3": dict(
        SMALL={**SMALL, "model_type": "phi3", "num_hidden_layers": 2, "sliding_window": 9}, Model=Phi3, QUIRKS=("gate first", "window"), shapes=phi3_shapes,
        CASES={"plain": {}, "partial": {"partial_rotary_factor": 0.75, "sliding_window": None, "num_key_value_heads": None},
               "longrope": {"rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.5, 2.0, 3.0], "long_factor": [4.0] * 4},
                            "original_max_position_embeddings": 64, "max_position_embeddings": 256},
               "long-texts": {"rope_scaling": {"type": "su", "short_factor": [1.0, 1.5, 2.0, 3.0], "long_factor": [1.2, 1.5, 4.0, 9.0]},
                              "original_max_position_embeddings": 16, "max_position_embeddings": 96}}),
    "starcoder2": dict(
        SMALL={**SMALL, "model_type": "starcoder2", "num_hidden_layers": 2, "sliding_window": 9}, Model=Starcoder2, QUIRKS=("window",),
        shapes=lambda c: shapes(c, norm_bias=True, tied=True, mlp=("c_fc", "c_proj"), biases=STAR if c.get("use_bias", True) else ()),
        CASES={"plain": {}, "untied": {"tie_word_embeddings": False, "use_bias": False, "sliding_window": None}}),
}
