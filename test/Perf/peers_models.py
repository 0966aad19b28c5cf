"""Writes checkpoints of safetensors as the files that llama.cpp (GGUF 3) and ONNX Runtime read."""

import json
import struct

import numpy as np


def read_safetensors(path):
    """{name: array}, mapped: of float32, or of uint16 where it is bf16."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
    types = {"F32": np.float32, "BF16": np.uint16}
    return {name: np.memmap(path, types[entry["dtype"]], "r", 8 + size + entry["data_offsets"][0], tuple(entry["shape"]))
            for name, entry in header.items() if name != "__metadata__"}


def write_gguf(path, entries, arrays):
    """`arrays`: (name, how to get the array); no vocabulary goes along. Vectors are of f32 in every model."""
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    head = b""
    for key, value in {**entries, "general.file_type": 0, "tokenizer.ggml.model": "no_vocab"}.items():
        kind, data = {str: (8, text), int: (4, lambda v: struct.pack("<I", v)), float: (6, lambda v: struct.pack("<f", v)),
                      list: (9, lambda v: struct.pack(f"<IQ{len(v)}i", 5, len(v), *v))}[type(value)]
        head += text(key) + struct.pack("<I", kind) + data(value)
    offset = 0
    for name, get in arrays:
        array = get()
        kind = 30 if array.dtype == np.uint16 else 0
        head += text(name) + struct.pack(f"<I{array.ndim}QIQ", array.ndim, *reversed(array.shape), kind, offset)
        offset += -(-array.nbytes // 32) * 32
    with open(path, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(arrays), len(entries) + 2) + head)
        for _, get in arrays:
            file.write(b"\0" * (-file.tell() % 32))
            file.write(np.ascontiguousarray(get()).tobytes())


GPT2_NAMES = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "ln_1": "attn_norm", "ln_2": "ffn_norm",
              "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}


def write_gpt2_gguf(path, tensors, config):
    """Matrices of the layers are stored output-major in GGUF, input-major in the checkpoint."""
    entries = {"general.architecture": "gpt2", "gpt2.vocab_size": config["vocab_size"], "gpt2.context_length": config["n_positions"],
               "gpt2.embedding_length": config["n_embd"], "gpt2.feed_forward_length": 4 * config["n_embd"],
               "gpt2.block_count": config["n_layer"], "gpt2.attention.head_count": config["n_head"],
               "gpt2.attention.layer_norm_epsilon": config["layer_norm_epsilon"]}
    arrays = []
    for name, array in tensors.items():
        parts = name.removeprefix("h.").rsplit(".", 1)
        gguf = f"{GPT2_NAMES.get(parts[0])}.{parts[1]}"
        if name.startswith("h."):
            layer, part = parts[0].split(".", 1)
            gguf = f"blk.{layer}.{GPT2_NAMES[part]}.{parts[1]}"
            array = array.T if array.ndim == 2 else array
        arrays.append((gguf, lambda array=array: array))
    write_gguf(path, entries, arrays)


DECODER_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
                 "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
                 "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.qkv_proj": "attn_qkv",
                 "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate",
                 "mlp.up_proj": "ffn_up", "mlp.gate_up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
# gemma3 has norms behind attention and feed-forward as well, and another name for the one ahead of the latter.
GEMMA3_NAMES = {**DECODER_NAMES, "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
                "post_feedforward_layernorm": "post_ffw_norm"}


def write_decoder_gguf(path, tensors, config):
    """llama, qwen3, phi3, and gemma3 with the 1 of its norms' 1 + w added. llama.cpp rotates neighboring channels of llama, the
    checkpoint those half a head apart: rows of queries and keys change places."""
    family = config["model_type"].removesuffix("_text")
    heads = config["num_attention_heads"]
    size = config.get("head_dim", config["hidden_size"] // heads)
    entries = {"vocab_size": config["vocab_size"], "context_length": config["max_position_embeddings"],
               "embedding_length": config["hidden_size"], "feed_forward_length": config["intermediate_size"],
               "block_count": config["num_hidden_layers"], "attention.head_count": heads,
               "attention.head_count_kv": config["num_key_value_heads"], "attention.key_length": size, "attention.value_length": size,
               "attention.layer_norm_rms_epsilon": config["rms_norm_eps"], "rope.dimension_count": size,
               "rope.freq_base": float(config["rope_theta"])}
    if family == "gemma3":
        entries |= {"attention.sliding_window": config["sliding_window"], "rope.freq_base_swa": float(config["rope_local_base_freq"])}
    entries = {"general.architecture": family, **{f"{family}.{key}": value for key, value in entries.items()}}
    names = GEMMA3_NAMES if family == "gemma3" else DECODER_NAMES

    def get(array, turned):
        if array.ndim == 1:
            array = (array.astype(np.uint32) << 16).view(np.float32) if array.dtype == np.uint16 else array
            return array + np.float32(family == "gemma3")
        return array.reshape(-1, 2, size // 2, array.shape[1]).swapaxes(1, 2).reshape(array.shape) if turned else array

    arrays = []
    for name, array in tensors.items():
        stem = name.removesuffix(".weight")
        layer = ""
        if stem.startswith("model.layers."):
            number, stem = stem.removeprefix("model.layers.").split(".", 1)
            layer = f"blk.{number}."
        turned = family == "llama" and stem in ("self_attn.q_proj", "self_attn.k_proj")
        arrays.append((f"{layer}{names[stem]}.weight", lambda array=array, turned=turned: get(array, turned)))
    write_gguf(path, entries, arrays)


def widened(array):
    """bf16 as f32."""
    return (array.astype(np.uint32) << 16).view(np.float32) if array.dtype == np.uint16 else array


def write_layers_gguf(path, architecture, entries, tensors, names, change=lambda stem, array: array):
    """A decoder whose layers are of several kinds. `names`: how GGUF calls the stem of a tensor of a layer, or of the model; vectors
    and convolutions are of f32."""
    def get(stem, array):
        array = array.squeeze(1) if array.ndim == 3 else array
        return change(stem, widened(array) if array.ndim == 1 or "conv" in names[stem] and min(array.shape) < 16 else array)

    arrays = []
    for name, array in tensors.items():
        stem, layer = name.removeprefix("model."), ""
        if stem.startswith("layers."):
            number, stem = stem.removeprefix("layers.").split(".", 1)
            layer = f"blk.{number}."
        arrays.append((layer + names[stem], lambda stem=stem, array=array: get(stem, array)))
    write_gguf(path, {"general.architecture": architecture, **{f"{architecture}.{key}": value for key, value in entries.items()}}, arrays)


def matrices(names):
    return {f"{name}.weight": f"{gguf}.weight" for name, gguf in names.items()}


GATED_NAMES = {"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
LFM2_NAMES = matrices({
    "embed_tokens": "token_embd", "embedding_norm": "token_embd_norm", "operator_norm": "attn_norm", "ffn_norm": "ffn_norm",
    "feed_forward.w1": "ffn_gate", "feed_forward.w3": "ffn_up", "feed_forward.w2": "ffn_down", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.out_proj": "attn_output", "self_attn.q_layernorm": "attn_q_norm",
    "self_attn.k_layernorm": "attn_k_norm", "conv.conv": "shortconv.conv", "conv.in_proj": "shortconv.in_proj", "conv.out_proj": "shortconv.out_proj"})


def lfm2_inner(config):
    """Channels within a feed-forward."""
    inner, multiple = config["block_ff_dim"], config["block_multiple_of"]
    return -(-int(config["block_ffn_dim_multiplier"] * (2 * inner // 3)) // multiple) * multiple if config["block_auto_adjust_ff_dim"] else inner


def write_lfm2_gguf(path, tensors, config):
    attentions = config["full_attn_idxs"]
    write_layers_gguf(path, "lfm2", {
        "vocab_size": config["vocab_size"], "context_length": config["max_position_embeddings"], "embedding_length": config["hidden_size"],
        "feed_forward_length": lfm2_inner(config), "block_count": config["num_hidden_layers"], "attention.head_count": config["num_attention_heads"],
        "attention.head_count_kv": [config["num_key_value_heads"] if layer in attentions else 0 for layer in range(config["num_hidden_layers"])],
        "attention.layer_norm_rms_epsilon": config["norm_eps"], "rope.freq_base": float(config["rope_theta"]),
        "shortconv.l_cache": config["conv_L_cache"]}, tensors, LFM2_NAMES)


QWEN35_NAMES = {**matrices({
    "embed_tokens": "token_embd", "norm": "output_norm", "input_layernorm": "attn_norm", "post_attention_layernorm": "post_attention_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", **GATED_NAMES, "linear_attn.in_proj_qkv": "attn_qkv",
    "linear_attn.in_proj_z": "attn_gate", "linear_attn.in_proj_b": "ssm_beta", "linear_attn.in_proj_a": "ssm_alpha",
    "linear_attn.conv1d": "ssm_conv1d", "linear_attn.norm": "ssm_norm", "linear_attn.out_proj": "ssm_out"}),
    "linear_attn.dt_bias": "ssm_dt.bias", "linear_attn.A_log": "ssm_a"}


def write_qwen35_gguf(path, tensors, config):
    """As many heads of values as of keys: else those of values would change places. The 1 of the norms' 1 + w is added, but in the norm
    of linear attention, and decays are -exp(A_log)."""
    assert config["linear_num_value_heads"] == config["linear_num_key_heads"]
    size, rope = config["head_dim"], config["rope_parameters"]

    def change(stem, array):
        if stem.endswith("A_log"):
            return -np.exp(array)
        return array + np.float32(1) if "norm" in stem and not stem.startswith("linear_attn") else array

    write_layers_gguf(path, "qwen35", {
        "vocab_size": config["vocab_size"], "context_length": config["max_position_embeddings"], "embedding_length": config["hidden_size"],
        "feed_forward_length": config["intermediate_size"], "block_count": config["num_hidden_layers"],
        "attention.head_count": config["num_attention_heads"], "attention.head_count_kv": config["num_key_value_heads"],
        "attention.key_length": size, "attention.value_length": size, "attention.layer_norm_rms_epsilon": config["rms_norm_eps"],
        "rope.freq_base": float(rope["rope_theta"]), "rope.dimension_count": int(size * rope["partial_rotary_factor"]),
        "rope.dimension_sections": [*rope["mrope_section"], 0], "full_attention_interval": config["full_attention_interval"],
        "ssm.conv_kernel": config["linear_conv_kernel_dim"], "ssm.state_size": config["linear_key_head_dim"],
        "ssm.group_count": config["linear_num_key_heads"], "ssm.time_step_rank": config["linear_num_value_heads"],
        "ssm.inner_size": config["linear_num_value_heads"] * config["linear_value_head_dim"]}, tensors, QWEN35_NAMES, change)


# By model_type; of others, write_decoder_gguf.
WRITERS = {"gpt2": write_gpt2_gguf, "lfm2": write_lfm2_gguf, "qwen3_5_text": write_qwen35_gguf}


def field(number, value):
    """A field of a protobuf message: an int as a varint, a float as 32 bits, bytes and text with their length."""
    def varint(rest):
        out = b""
        while rest > 0x7F:
            out, rest = out + bytes([rest & 0x7F | 0x80]), rest >> 7
        return out + bytes([rest])

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


FLOAT, INT32, INT64 = 1, 6, 7


class Graph:
    """An ONNX graph in the making; field numbers are those of onnx.proto."""

    def __init__(self):
        self.data, self.count = b"", 0
        self.initializers = []

    def node(self, kind, inputs, outputs=1, domain="", **attributes):
        """Adds a node; gives the name of its output, or names when `outputs` is a list of them."""
        self.count += 1
        names = outputs if isinstance(outputs, list) else [f"{kind}_{self.count}"]
        node = b"".join(field(1, name) for name in inputs) + b"".join(field(2, name) for name in names) + field(4, kind)
        for name, value in attributes.items():
            is_float = isinstance(value, float)
            node += field(5, field(1, name) + field(2 if is_float else 3, value) + field(20, 1 if is_float else 2))
        self.data += field(1, node + field(7, domain))
        return names if isinstance(outputs, list) else names[0]

    def constant(self, name, array):
        kind = {"float32": FLOAT, "int64": INT64}[array.dtype.name]
        tensor = b"".join(field(1, size) for size in array.shape) + field(2, kind) + field(8, name)
        self.initializers.append(field(5, tensor + field(9, np.ascontiguousarray(array).tobytes())))
        return name

    def value(self, number, name, kind, shape):
        """An input (11) or output (12) of the graph; a text in the shape names a size that varies."""
        dims = b"".join(field(1, field(1 if isinstance(size, int) else 2, size)) for size in shape)
        self.data += field(number, field(1, name) + field(2, field(1, field(1, kind) + field(2, dims))))


def write_onnx(path, tensors, config, capacity):
    """One decoding step: any number of new tokens, keys and values in tensors of `capacity` positions, logits of the last
    token. The operators are those that ONNX Runtime's own generators of decoders use, its optimizer does the rest."""
    graph, ms, width, heads = Graph(), "com.microsoft", config["n_embd"], config["n_head"]
    weights = {name: graph.constant(name, array) for name, array in tensors.items()}
    shapes = {key: graph.constant(key, np.array(shape, np.int64))
              for key, shape in {"packed": [1, -1, 3 * width], "rows": [-1, width], "end": [-1]}.items()}
    cache = [1, heads, capacity, width // heads]
    for name, kind, shape in (("ids", INT64, ["count"]), ("positions", INT64, ["count"]), ("last", INT32, [1]), ("total", INT32, [])):
        graph.value(11, name, kind, shape)

    def linear(x, name):
        return graph.node("Gemm", [x, weights[f"{name}.weight"], weights[f"{name}.bias"]])

    def add_norm(x, branch, name):
        """(norm(x + branch), x + branch)"""
        total = graph.node("Add", [x, branch])
        return graph.node("LayerNormalization", [total, weights[f"{name}.weight"], weights[f"{name}.bias"]],
                          axis=-1 & (1 << 64) - 1, epsilon=config["layer_norm_epsilon"]), total

    token = graph.node("Gather", [weights["wte.weight"], "ids"])
    place = graph.node("Gather", [weights["wpe.weight"], "positions"])
    normed, x = add_norm(token, place, "h.0.ln_1")
    for layer in range(config["n_layer"]):
        packed = graph.node("Reshape", [linear(normed, f"h.{layer}.attn.c_attn"), shapes["packed"]])
        names = [f"key_{layer}", f"value_{layer}"]
        for name in names:
            graph.value(11, name, FLOAT, cache)
            graph.value(12, f"present_{name}", FLOAT, cache)
        attention, *_ = graph.node("GroupQueryAttention", [packed, "", "", *names, "last", "total"],
                                   [f"attention_{layer}", *(f"present_{name}" for name in names)], ms, num_heads=heads,
                                   kv_num_heads=heads)
        attention = graph.node("Reshape", [attention, shapes["rows"]])
        normed, x = add_norm(x, linear(attention, f"h.{layer}.attn.c_proj"), f"h.{layer}.ln_2")
        inner = graph.node("FastGelu", [linear(normed, f"h.{layer}.mlp.c_fc")], 1, ms)
        following = f"h.{layer + 1}.ln_1" if layer + 1 < config["n_layer"] else "ln_f"
        normed, x = add_norm(x, linear(inner, f"h.{layer}.mlp.c_proj"), following)
    graph.node("Gemm", [graph.node("Gather", [normed, shapes["end"]]), weights["wte.weight"]], ["logits"], transB=1)
    graph.value(12, "logits", FLOAT, [1, config["vocab_size"]])
    opsets = b"".join(field(8, field(1, domain) + field(2, version)) for domain, version in (("", 17), (ms, 1)))
    body = b"".join([graph.data, field(2, "gpt2"), *graph.initializers])
    with open(path, "wb") as file:
        file.write(field(1, 8) + opsets + field(7, body))
