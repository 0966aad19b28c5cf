"""The gpt_neo, gpt_bigcode, opt, bloom, mpt and falcon families, and the names that falcon had before."""

import numpy

from .common import ACTIVATIONS, Base, alibi_slopes, frequencies, gelu, gelu_tanh, linear_shapes, norm_shapes, rotate


class GPTNeo(Base):
    def norm(self, x, name):
        return self.layer_norm(x, name, self.get("layer_norm_epsilon", 1e-5))

    def kinds(self):
        pattern = self.get("attention_types", [[["global", "local"], self.config["num_layers"] // 2]])
        return [kind for names, times in pattern for _ in range(times) for kind in names]

    def attention(self, x, layer):
        heads, at = self.config["num_heads"], f"transformer.h.{layer}.attn.attention."
        size = x.shape[-1] // heads
        q, k, v = (self.dense(x, at + name + "_proj").reshape(len(x), heads, size) for name in "qkv")
        local = self.kinds()[layer] == "local" and self.has("window")
        return self.dense(self.attend(q, k, v, 1.0 if self.has("no scale") else size**-0.5, window=self.get("window_size", 256) if local else None), at + "out_proj")

    def logits(self, ids):
        ids = numpy.asarray(ids)
        x = self.weight("transformer.wte.weight")[ids] + self.weight("transformer.wpe.weight")[: len(ids)]
        act = ACTIVATIONS[self.get("activation_function", "gelu_new")]
        for layer in range(self.config["num_layers"]):
            at = f"transformer.h.{layer}."
            x = x + self.attention(self.norm(x, at + "ln_1"), layer)
            x = x + self.dense(act(self.dense(self.norm(x, at + "ln_2"), at + "mlp.c_fc")), at + "mlp.c_proj")
        return self.head(self.norm(x, "transformer.ln_f"), "lm_head.weight", "transformer.wte.weight")


def neo_shapes(config):
    width, table = config["hidden_size"], {}
    inner = config.get("intermediate_size") or 4 * width
    table["transformer.wte.weight"] = (config["vocab_size"], width)
    table["transformer.wpe.weight"] = (config["max_position_embeddings"], width)
    for layer in range(config["num_layers"]):
        at = f"transformer.h.{layer}."
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            linear_shapes(table, at + "attn.attention." + name, width, width, name == "out_proj")
        linear_shapes(table, at + "mlp.c_fc", inner, width, True)
        linear_shapes(table, at + "mlp.c_proj", width, inner, True)
        norm_shapes(table, at + "ln_1", width, True)
        norm_shapes(table, at + "ln_2", width, True)
    norm_shapes(table, "transformer.ln_f", width, True)
    return table


class BigCode(Base):
    def norm(self, x, name):
        return self.layer_norm(x, name, self.get("layer_norm_epsilon", 1e-5))

    def attention(self, x, layer):
        heads, width = self.config["n_head"], self.config["n_embd"]
        size, at = width // heads, f"transformer.h.{layer}.attn."
        packed = self.dense(x, at + "c_attn")
        if self.get("multi_query", True):
            q, k, v = (part.reshape(len(x), -1, size) for part in numpy.split(packed, [width, width + size], axis=-1))
        else:
            q, k, v = numpy.moveaxis(packed.reshape(len(x), heads, 3, size), 2, 0)
        return self.dense(self.attend(q, k, v, size**-0.5 if self.get("scale_attn_weights", True) else 1.0), at + "c_proj")

    def logits(self, ids):
        ids = numpy.asarray(ids)
        x = self.weight("transformer.wte.weight")[ids] + self.weight("transformer.wpe.weight")[: len(ids)] * self.has("positions")
        act = ACTIVATIONS[self.get("activation_function", "gelu_pytorch_tanh")]
        for layer in range(self.config["n_layer"]):
            at = f"transformer.h.{layer}."
            x = x + self.attention(self.norm(x, at + "ln_1"), layer)
            x = x + self.dense(act(self.dense(self.norm(x, at + "ln_2"), at + "mlp.c_fc")), at + "mlp.c_proj")
        return self.head(self.norm(x, "transformer.ln_f"), "lm_head.weight", "transformer.wte.weight")


def bigcode_shapes(config):
    width, table = config["n_embd"], {}
    inner, size = config.get("n_inner") or 4 * width, config["n_embd"] // config["n_head"]
    table["transformer.wte.weight"] = (config["vocab_size"], width)
    table["transformer.wpe.weight"] = (config["n_positions"], width)
    for layer in range(config["n_layer"]):
        at = f"transformer.h.{layer}."
        linear_shapes(table, at + "attn.c_attn", width + 2 * size if config.get("multi_query", True) else 3 * width, width, True)
        linear_shapes(table, at + "attn.c_proj", width, width, True)
        linear_shapes(table, at + "mlp.c_fc", inner, width, True)
        linear_shapes(table, at + "mlp.c_proj", width, inner, True)
        norm_shapes(table, at + "ln_1", width, True)
        norm_shapes(table, at + "ln_2", width, True)
    norm_shapes(table, "transformer.ln_f", width, True)
    if not config.get("tie_word_embeddings", True):
        linear_shapes(table, "lm_head", config["vocab_size"], width)
    return table


class OPT(Base):
    def attention(self, x, at):
        heads = self.config["num_attention_heads"]
        size = self.config["hidden_size"] // heads
        q, k, v = (self.dense(x, at + name + "_proj").reshape(len(x), heads, size) for name in "qkv")
        return self.dense(self.attend(q, k, v, size**-0.5), at + "out_proj")

    def norm(self, x, name):
        return self.layer_norm(x, name, 1e-5)

    def logits(self, ids):
        ids, at = numpy.asarray(ids), "model.decoder."
        x = self.weight(at + "embed_tokens.weight")[ids]
        if at + "project_in.weight" in self.tensors:
            x = self.dense(x, at + "project_in")
        first = 2 if self.has("two rows ahead") else 0
        x = x + self.weight(at + "embed_positions.weight")[first : first + len(ids)]
        act = ACTIVATIONS[self.get("activation_function", "relu")]
        before = self.get("do_layer_norm_before", True)
        for layer in range(self.config["num_hidden_layers"]):
            part = f"{at}layers.{layer}."
            mlp = lambda y: self.dense(act(self.dense(y, part + "fc1")), part + "fc2")
            if before:
                x = x + self.attention(self.norm(x, part + "self_attn_layer_norm"), part + "self_attn.")
                x = x + mlp(self.norm(x, part + "final_layer_norm"))
            else:
                x = self.norm(x + self.attention(x, part + "self_attn."), part + "self_attn_layer_norm")
                x = self.norm(x + mlp(x), part + "final_layer_norm")
        if at + "final_layer_norm.weight" in self.tensors:
            x = self.norm(x, at + "final_layer_norm")
        if at + "project_out.weight" in self.tensors:
            x = self.dense(x, at + "project_out")
        return self.head(x, "lm_head.weight", at + "embed_tokens.weight")


def opt_shapes(config):
    width, inner, table, at = config["hidden_size"], config["ffn_dim"], {}, "model.decoder."
    narrow, biased = config.get("word_embed_proj_dim") or width, config.get("enable_bias", True)
    table[at + "embed_tokens.weight"] = (config["vocab_size"], narrow)
    table[at + "embed_positions.weight"] = (config["max_position_embeddings"] + 2, width)
    if narrow != width:
        linear_shapes(table, at + "project_in", width, narrow)
        linear_shapes(table, at + "project_out", narrow, width)
    for layer in range(config["num_hidden_layers"]):
        part = f"{at}layers.{layer}."
        for name in ("k_proj", "v_proj", "q_proj", "out_proj"):
            linear_shapes(table, part + "self_attn." + name, width, width, biased)
        linear_shapes(table, part + "fc1", inner, width, biased)
        linear_shapes(table, part + "fc2", width, inner, biased)
        norm_shapes(table, part + "self_attn_layer_norm", width, True)
        norm_shapes(table, part + "final_layer_norm", width, True)
    if config.get("do_layer_norm_before", True) and not config.get("_remove_final_layer_norm"):
        norm_shapes(table, at + "final_layer_norm", width, True)
    if not config.get("tie_word_embeddings", True):
        linear_shapes(table, "lm_head", config["vocab_size"], narrow)
    return table


class Bloom(Base):
    def norm(self, x, name):
        return self.layer_norm(x, name, self.get("layer_norm_epsilon", 1e-5))

    def attention(self, x, at):
        heads = self.config["n_head"]
        size = x.shape[-1] // heads
        q, k, v = numpy.moveaxis(self.dense(x, at + "query_key_value").reshape(len(x), heads, 3, size), 2, 0)
        slopes = alibi_slopes(heads) if self.has("alibi") else None
        return self.dense(self.attend(q, k, v, size**-0.5, slopes=slopes), at + "dense")

    def logits(self, ids):
        x = self.weight("transformer.word_embeddings.weight")[numpy.asarray(ids)]
        if self.has("norm of the embedding"):
            x = self.norm(x, "transformer.word_embeddings_layernorm")
        for layer in range(self.config["n_layer"]):
            at = f"transformer.h.{layer}."
            x = x + self.attention(self.norm(x, at + "input_layernorm"), at + "self_attention.")
            y = gelu_tanh(self.dense(self.norm(x, at + "post_attention_layernorm"), at + "mlp.dense_h_to_4h"))
            x = x + self.dense(y, at + "mlp.dense_4h_to_h")
        return self.head(self.norm(x, "transformer.ln_f"), "lm_head.weight", "transformer.word_embeddings.weight")


def bloom_shapes(config):
    width, table = config["hidden_size"], {}
    table["transformer.word_embeddings.weight"] = (config["vocab_size"], width)
    norm_shapes(table, "transformer.word_embeddings_layernorm", width, True)
    for layer in range(config["n_layer"]):
        at = f"transformer.h.{layer}."
        linear_shapes(table, at + "self_attention.query_key_value", 3 * width, width, True)
        linear_shapes(table, at + "self_attention.dense", width, width, True)
        linear_shapes(table, at + "mlp.dense_h_to_4h", 4 * width, width, True)
        linear_shapes(table, at + "mlp.dense_4h_to_h", width, 4 * width, True)
        norm_shapes(table, at + "input_layernorm", width, True)
        norm_shapes(table, at + "post_attention_layernorm", width, True)
    norm_shapes(table, "transformer.ln_f", width, True)
    return table


class MPT(Base):
    def norm(self, x, name):
        return self.layer_norm(x, name, self.get("layer_norm_epsilon", 1e-5))

    def attention(self, x, at):
        heads, options = self.config["n_heads"], self.get("attn_config", {})
        size, packed = x.shape[-1] // heads, self.dense(x, at + "Wqkv")
        if options.get("clip_qkv") and self.has("clip"):
            packed = numpy.clip(packed, -options["clip_qkv"], options["clip_qkv"])
        q, k, v = (part.reshape(len(x), heads, size) for part in numpy.split(packed, 3, axis=-1))
        slopes = alibi_slopes(heads, options.get("alibi_bias_max", 8)) if self.has("alibi") else None
        return self.dense(self.attend(q, k, v, options.get("softmax_scale") or size**-0.5, slopes=slopes), at + "out_proj")

    def logits(self, ids):
        x = self.weight("transformer.wte.weight")[numpy.asarray(ids)]
        for layer in range(self.config["n_layers"]):
            at = f"transformer.blocks.{layer}."
            x = x + self.attention(self.norm(x, at + "norm_1"), at + "attn.")
            x = x + self.dense(gelu(self.dense(self.norm(x, at + "norm_2"), at + "ffn.up_proj")), at + "ffn.down_proj")
        return self.head(self.norm(x, "transformer.norm_f"), "lm_head.weight", "transformer.wte.weight")


def mpt_shapes(config):
    width, table = config["d_model"], {}
    inner = width * 4
    table["transformer.wte.weight"] = (config["vocab_size"], width)
    for layer in range(config["n_layers"]):
        at = f"transformer.blocks.{layer}."
        linear_shapes(table, at + "attn.Wqkv", 3 * width, width)
        linear_shapes(table, at + "attn.out_proj", width, width)
        linear_shapes(table, at + "ffn.up_proj", inner, width)
        linear_shapes(table, at + "ffn.down_proj", width, inner)
        norm_shapes(table, at + "norm_1", width)
        norm_shapes(table, at + "norm_2", width)
    norm_shapes(table, "transformer.norm_f", width)
    return table


class Falcon(Base):
    def norm(self, x, name):
        return self.layer_norm(x, name, self.get("layer_norm_epsilon", 1e-5))

    def attention(self, x, at):
        heads, new = self.config["num_attention_heads"], self.get("new_decoder_architecture", False)
        size = x.shape[-1] // heads
        groups = self.get("num_kv_heads", heads) if new else 1 if self.get("multi_query", True) else heads
        packed = self.dense(x, at + "query_key_value").reshape(len(x), groups, heads // groups + 2, size)
        q, k, v = packed[:, :, :-2].reshape(len(x), heads, size), packed[:, :, -2], packed[:, :, -1]
        if self.get("alibi", False):
            # The bias is added before the scale.
            slopes = alibi_slopes(heads) * (size**-0.5 if self.has("scaled alibi") else 1)
            return self.dense(self.attend(q, k, v, size**-0.5, slopes=slopes), at + "dense")
        rates = frequencies(self.get("rope_theta", 10000.0), size)
        return self.dense(self.attend(rotate(q, rates), rotate(k, rates), v, size**-0.5), at + "dense")

    def logits(self, ids):
        x = self.weight("transformer.word_embeddings.weight")[numpy.asarray(ids)]
        new = self.get("new_decoder_architecture", False)
        two = new and self.get("num_ln_in_parallel_attn", 2) == 2
        parallel = new or self.get("parallel_attn", True)
        for layer in range(self.config["num_hidden_layers"]):
            at = f"transformer.h.{layer}."
            y = self.norm(x, at + ("ln_attn" if two else "input_layernorm"))
            middle = x + self.attention(y, at + "self_attention.")
            if two:
                seen = self.norm(x if self.has("parallel") else middle, at + "ln_mlp")
            elif parallel:
                seen = y if self.has("parallel") else self.norm(middle, at + "input_layernorm")
            else:
                seen = self.norm(middle, at + "post_attention_layernorm")
            act = ACTIVATIONS[self.get("activation", "gelu")]
            x = middle + self.dense(act(self.dense(seen, at + "mlp.dense_h_to_4h")), at + "mlp.dense_4h_to_h")
        return self.head(self.norm(x, "transformer.ln_f"), "lm_head.weight", "transformer.word_embeddings.weight")


def falcon_shapes(config):
    width, heads, table = config["hidden_size"], config["num_attention_heads"], {}
    new, biased = config.get("new_decoder_architecture", False), config.get("bias", False)
    groups = (config.get("num_kv_heads") or heads) if new else 1 if config.get("multi_query", True) else heads
    inner, size = config.get("ffn_hidden_size") or 4 * width, width // heads
    table["transformer.word_embeddings.weight"] = (config["vocab_size"], width)
    norms = ["ln_attn", "ln_mlp"] if new and (config.get("num_ln_in_parallel_attn") or 2) == 2 else ["input_layernorm"]
    if not new and not config.get("parallel_attn", True):
        norms.append("post_attention_layernorm")
    for layer in range(config["num_hidden_layers"]):
        at = f"transformer.h.{layer}."
        linear_shapes(table, at + "self_attention.query_key_value", (heads + 2 * groups) * size, width, biased)
        linear_shapes(table, at + "self_attention.dense", width, width, biased)
        linear_shapes(table, at + "mlp.dense_h_to_4h", inner, width, biased)
        linear_shapes(table, at + "mlp.dense_4h_to_h", width, inner, biased)
        for name in norms:
            norm_shapes(table, at + name, width, True)
    norm_shapes(table, "transformer.ln_f", width, True)
    if not config.get("tie_word_embeddings", True):
        linear_shapes(table, "lm_head", config["vocab_size"], width)
    return table


def as_falcon(config):
    """The configuration of a file from before transformers had the family, by the keys that falcon has."""
    names = {"n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_head_kv": "num_kv_heads", "n_embed": "hidden_size"}
    return {**{names.get(key, key): value for key, value in config.items()}, "new_decoder_architecture": "n_head_kv" in config}


class RefinedWeb(Falcon):
    def __init__(self, config, tensors, without=()):
        super().__init__(as_falcon(config), tensors, without)


WIDE = {"vocab_size": 97, "hidden_size": 48}
FALCON = {**WIDE, "model_type": "falcon", "num_hidden_layers": 2, "num_attention_heads": 6, "max_position_embeddings": 64}
OLD = {**WIDE, "n_layer": 2, "n_head": 6, "max_position_embeddings": 64, "multi_query": True, "parallel_attn": True, "bias": False, "alibi": False}
FAMILIES = {
    "gpt_neo": dict(
        SMALL={**WIDE, "model_type": "gpt_neo", "num_layers": 3, "num_heads": 6, "max_position_embeddings": 64, "window_size": 9,
               "attention_types": [[["global", "local"], 1], [["global"], 1]]},
        CASES={"plain": {}, "usual": {"attention_types": "absent", "num_layers": 2, "intermediate_size": 70, "activation_function": "relu"}},
        QUIRKS=("window", "no scale"), Model=GPTNeo, shapes=neo_shapes),
    "gpt_bigcode": dict(
        SMALL={"model_type": "gpt_bigcode", "vocab_size": 97, "n_embd": 48, "n_layer": 2, "n_head": 6, "n_positions": 64},
        CASES={"plain": {}, "own-keys": {"multi_query": False, "n_inner": 70, "tie_word_embeddings": False}},
        QUIRKS=("positions",), Model=BigCode, shapes=bigcode_shapes),
    "opt": dict(
        SMALL={**WIDE, "model_type": "opt", "num_hidden_layers": 2, "num_attention_heads": 6, "ffn_dim": 72, "max_position_embeddings": 64},
        CASES={"plain": {}, "behind": {"do_layer_norm_before": False, "word_embed_proj_dim": 20}, "no-bias": {"enable_bias": False, "_remove_final_layer_norm": True}},
        QUIRKS=("two rows ahead",), Model=OPT, shapes=opt_shapes),
    "bloom": dict(
        SMALL={**WIDE, "model_type": "bloom", "n_layer": 2, "n_head": 6, "seq_length": 64}, CASES={"plain": {}, "power": {"n_head": 8}},
        QUIRKS=("alibi", "norm of the embedding"), Model=Bloom, shapes=bloom_shapes),
    "mpt": dict(
        SMALL={"model_type": "mpt", "vocab_size": 97, "d_model": 48, "n_layers": 2, "n_heads": 6, "max_seq_len": 64, "attn_config": {"clip_qkv": 0.8, "alibi_bias_max": 6}},
        CASES={"plain": {}, "scale": {"n_heads": 4, "expansion_ratio": 2, "attn_config": {"softmax_scale": 0.4}}},
        QUIRKS=("alibi", "clip"), Model=MPT, shapes=mpt_shapes),
    "falcon": dict(
        SMALL=FALCON, QUIRKS=("parallel", "scaled alibi"), Model=Falcon, shapes=falcon_shapes,
        CASES={"plain": {}, "groups": {"new_decoder_architecture": True, "num_kv_heads": 2, "ffn_hidden_size": 70, "tie_word_embeddings": False},
               "one-norm": {"new_decoder_architecture": True, "num_kv_heads": 3, "num_ln_in_parallel_attn": 1, "rope_theta": 500.0},
               "alibi": {"alibi": True, "multi_query": False, "parallel_attn": False, "bias": True}}),
    "RefinedWebModel": dict(
        SMALL={**OLD, "model_type": "RefinedWebModel"}, QUIRKS=("parallel", "scaled alibi"), Model=RefinedWeb, shapes=lambda config: falcon_shapes(as_falcon(config)),
        CASES={"plain": {}, "alibi": {"alibi": True, "multi_query": False, "parallel_attn": False, "bias": True}}),
    "RefinedWeb": dict(
        SMALL={**OLD, "model_type": "RefinedWeb", "n_head_kv": 2}, QUIRKS=("parallel",), Model=RefinedWeb, shapes=lambda config: falcon_shapes(as_falcon(config)),
        CASES={"plain": {}, "bias": {"bias": True, "n_head_kv": 3}}),
}
