"""The kimi_linear family: layers of the delta rule whose decay differs by channel, and of attention to latent keys and values."""

import numpy

from .common import ACTIVATIONS, attend, linear_shapes, norm_shapes, rms_norm
from .delta_hybrids import unit
from .states import F32_TENSORS, Stateful, of_experts, route, sigmoid, softplus


def is_delta(c, layer):
    """Layers are counted from one there."""
    return layer + 1 in c["linear_attn_config"]["kda_layers"]


def is_sparse(c, layer):
    return bool(c.get("num_experts")) and layer >= c.get("first_k_dense_replace", 0) and layer % c.get("moe_layer_freq", 1) == 0


class KimiLinear(Stateful):
    # mlx-lm, kimi_linear.py (snapshot of 2026-08-22), which reads the published files. No layer rotates keys (mla_use_nope).
    def norm(self, x, name):
        return self.rms(x, name, self.get("rms_norm_eps", 1e-5))

    def delta(self, x, at, layer):
        c = self.config["linear_attn_config"]
        heads, size = c["num_heads"], c["head_dim"]
        rows = numpy.concatenate([self.dense(x, at + name + "_proj") for name in "qkv"], axis=-1)
        rows = self.convolved(rows, tuple(at + name + "_conv1d" for name in "qkv"), layer)
        rows = ACTIVATIONS["silu"](rows) if self.has("activation of the convolution") else rows
        q, k, v = rows.reshape(len(x), 3, heads, size).swapaxes(0, 1)
        q, k = unit(q) if self.has("unit queries") else q, unit(k) if self.has("unit keys") else k / numpy.sqrt(size)
        q = q * size**-0.5 if self.has("scale of queries") else q
        steps = self.dense(self.dense(x, at + "f_a_proj"), at + "f_b_proj") + (self.weight(at + "dt_bias") if self.has("bias of the steps") else 0)
        decay = -numpy.exp(self.weight(at + "A_log").reshape(heads, 1)) * softplus(steps.reshape(len(x), heads, size))
        decay = decay if self.has("decay of each channel") else numpy.broadcast_to(decay.mean(-1, keepdims=True), decay.shape)
        beta = sigmoid(self.dense(x, at + "b_proj")) if self.has("beta") else numpy.ones((len(x), heads))
        y = self.recurred(q, k, v if self.has("delta rule") else v * beta[..., None], decay, beta if self.has("delta rule") else None, layer)
        gate = self.dense(self.dense(x, at + "g_a_proj"), at + "g_b_proj").reshape(y.shape)
        gate = sigmoid(gate) if self.has("sigmoid of the gate") else ACTIVATIONS["silu"](gate)
        weight, epsilon = self.weight(at + "o_norm.weight"), self.get("rms_norm_eps", 1e-5)
        y = rms_norm(y, weight, epsilon) * gate if self.has("norm before the gate") else rms_norm(y * gate, weight, epsilon)
        return self.dense(y.reshape(len(x), -1), at + "o_proj")

    def attention(self, x, at, layer):
        heads, rank, new = self.config["num_attention_heads"], self.config["kv_lora_rank"], len(x)
        x = self.whole(x, layer)
        q = self.dense(x, at + "q_proj").reshape(len(x), heads, -1)
        latent, shared = numpy.split(self.dense(x, at + "kv_a_proj_with_mqa"), [rank], axis=-1)
        latent = self.norm(latent, at + "kv_a_layernorm") if self.has("norm of the latents") else latent
        latent, shared = self.stored(latent), self.stored(shared)  # what caches hold in place of keys and values
        rows = self.dense(latent, at + "kv_b_proj").reshape(len(x), heads, -1)
        own = q.shape[-1] - shared.shape[-1]
        shared = shared if self.has("part of the keys that heads share") else 0 * shared
        k = numpy.concatenate([rows[..., :own], numpy.broadcast_to(shared[:, None], (len(x), heads, shared.shape[-1]))], axis=-1)
        scale = q.shape[-1] ** -0.5 if self.has("scale of whole keys") else own**-0.5
        return self.dense(attend(q, k, rows[..., own:], scale)[-new:], at + "o_proj")

    def mlp(self, x, at, names=("gate_proj", "up_proj", "down_proj")):
        gate, up, down = names
        return self.dense(ACTIVATIONS[self.get("hidden_act", "silu")](self.dense(x, at + gate)) * self.dense(x, at + up), at + down)

    def experts(self, x, at):
        chosen, bias = self.get("num_experts_per_token", 1), self.weight(at + "gate.e_score_correction_bias")
        groups, kept = self.get("num_expert_group", 1), self.get("topk_group", 1)
        normalized = bool(self.get("moe_renormalize", True)) == self.has("moe_renormalize") and chosen > 1
        scale = self.get("routed_scaling_factor", 1.0) if self.has("routed_scaling_factor") else 1
        softmax = (self.get("moe_router_activation_func", "sigmoid") == "softmax") == self.has("moe_router_activation_func")
        routes = route(self.dense(x, at + "gate"), chosen, softmax, bias if self.has("bias of the choice") else None, groups,
                       kept if self.has("groups of experts") else groups, normalized, 1e-20, scale)
        y = of_experts(x, routes, lambda rows, number: self.mlp(rows, f"{at}experts.{number}.", ("w1", "w3", "w2")))
        return y + self.mlp(x, at + "shared_experts.") if self.get("num_shared_experts", 0) and self.has("shared expert") else y

    def continued(self, ids):
        x = self.weight("model.embed_tokens.weight")[numpy.asarray(ids)]
        for layer in range(self.config["num_hidden_layers"]):
            at = f"model.layers.{layer}."
            y = self.norm(x, at + "input_layernorm")
            x = x + (self.delta(y, at + "self_attn.", layer) if is_delta(self.config, layer) else self.attention(y, at + "self_attn.", layer))
            y = self.norm(x, at + "post_attention_layernorm")
            x = x + (self.experts(y, at + "block_sparse_moe.") if is_sparse(self.config, layer) else self.mlp(y, at + "mlp."))
        return self.head(self.norm(x, "model.norm"), "lm_head.weight", "model.embed_tokens.weight")


def mlp_shapes(table, at, width, inner, names=("gate_proj", "up_proj", "down_proj")):
    gate, up, down = names
    linear_shapes(table, at + gate, inner, width)
    linear_shapes(table, at + up, inner, width)
    linear_shapes(table, at + down, width, inner)


def shapes(c):
    width, heads, rank = c["hidden_size"], c["num_attention_heads"], c["kv_lora_rank"]
    own, shared, value = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
    states, size = c["linear_attn_config"]["num_heads"], c["linear_attn_config"]["head_dim"]
    table = {"model.embed_tokens.weight": (c["vocab_size"], width)}
    for layer in range(c["num_hidden_layers"]):
        at, part = f"model.layers.{layer}.", f"model.layers.{layer}.self_attn."
        norm_shapes(table, at + "input_layernorm", width)
        norm_shapes(table, at + "post_attention_layernorm", width)
        if is_delta(c, layer):
            for name in "qkv":
                linear_shapes(table, part + name + "_proj", states * size, width)
                table[part + name + "_conv1d.weight"] = (states * size, 1, c["linear_attn_config"].get("short_conv_kernel_size", 4))
            for name in "fg":
                linear_shapes(table, part + name + "_a_proj", size, width)
                linear_shapes(table, part + name + "_b_proj", states * size, size)
            linear_shapes(table, part + "b_proj", states, width)
            table[part + "A_log"], table[part + "dt_bias"] = (1, 1, states, 1), (states * size,)
            norm_shapes(table, part + "o_norm", size)
            linear_shapes(table, part + "o_proj", width, states * size)
        else:
            linear_shapes(table, part + "q_proj", heads * (own + shared), width)
            linear_shapes(table, part + "kv_a_proj_with_mqa", rank + shared, width)
            norm_shapes(table, part + "kv_a_layernorm", rank)
            linear_shapes(table, part + "kv_b_proj", heads * (own + value), rank)
            linear_shapes(table, part + "o_proj", width, heads * value)
        if not is_sparse(c, layer):
            mlp_shapes(table, at + "mlp.", width, c["intermediate_size"])
            continue
        part, inner = at + "block_sparse_moe.", c["moe_intermediate_size"]
        linear_shapes(table, part + "gate", c["num_experts"], width)
        table[part + "gate.e_score_correction_bias"] = (c["num_experts"],)
        for number in range(c["num_experts"]):
            mlp_shapes(table, f"{part}experts.{number}.", width, inner, ("w1", "w3", "w2"))
        if c.get("num_shared_experts"):
            mlp_shapes(table, part + "shared_experts.", width, inner * c["num_shared_experts"])
    norm_shapes(table, "model.norm", width)
    if not c.get("tie_word_embeddings", False):
        linear_shapes(table, "lm_head", c["vocab_size"], width)
    return table


LAYERS = {"num_heads": 3, "head_dim": 14, "short_conv_kernel_size": 4}
FAMILIES = {
    "kimi_linear": dict(
        SMALL={"model_type": "kimi_linear", "vocab_size": 97, "hidden_size": 48, "intermediate_size": 60, "num_hidden_layers": 4, "num_attention_heads": 4,
               "num_key_value_heads": 4, "head_dim": 12, "max_position_embeddings": 136, "model_max_length": 136, "kv_lora_rank": 20, "q_lora_rank": None,
               "qk_nope_head_dim": 10, "qk_rope_head_dim": 6, "v_head_dim": 9, "mla_use_nope": True, "rope_theta": 10000.0,
               "linear_attn_config": {**LAYERS, "kda_layers": [1, 2, 4], "full_attn_layers": [3]}, "num_experts": 8, "num_experts_per_token": 3,
               "moe_intermediate_size": 20, "num_shared_experts": 2, "num_expert_group": 4, "topk_group": 2, "use_grouped_topk": True,
               "moe_router_activation_func": "sigmoid", "moe_renormalize": True, "routed_scaling_factor": 2.4, "first_k_dense_replace": 1, "moe_layer_freq": 1},
        CASES={"plain": {},
               "one": {"num_hidden_layers": 3, "linear_attn_config": {**LAYERS, "short_conv_kernel_size": 3, "kda_layers": [2, 3], "full_attn_layers": [1]},
                       "num_experts_per_token": 1, "num_shared_experts": 0, "num_expert_group": 1, "topk_group": 1, "moe_layer_freq": 2,
                       "first_k_dense_replace": 0, "tie_word_embeddings": True, "rms_norm_eps": 1e-3}},
        QUIRKS=("activation of the convolution", "unit queries", "unit keys", "scale of queries", "bias of the steps", "decay of each channel", "beta",
                "delta rule", "sigmoid of the gate", "norm before the gate", "norm of the latents", "part of the keys that heads share", "scale of whole keys",
                "moe_renormalize", "routed_scaling_factor", "moe_router_activation_func", "bias of the choice", "groups of experts", "shared expert"),
        Model=KimiLinear, shapes=shapes, F32=F32_TENSORS),
}
