"""Writes attention, BERT, ViT, T5 and whisper's encoder with the seeded weights of a checkpoint as the ONNX files that test/Perf/compare gives to ONNX
Runtime: in the fused operators that its own optimizer makes of exported models, so that nothing is left to find."""

import numpy as np

from peers_models import FLOAT, INT64, Graph, field

MS = "com.microsoft"


def save(graph, path):
    opsets = b"".join(field(8, field(1, domain) + field(2, version)) for domain, version in (("", 17), (MS, 1)))
    body = b"".join([graph.data, field(2, "graph"), *graph.initializers])
    with open(path, "wb") as file:
        file.write(field(1, 8) + opsets + field(7, body))


class Model:
    """A graph over the tensors of a checkpoint; every tensor gets into the file once."""

    def __init__(self, tensors):
        self.graph, self.tensors, self.known = Graph(), tensors, {}

    def weight(self, name, array=None):
        if name not in self.known:
            array = self.tensors[name] if array is None else array
            self.known[name] = self.graph.constant(name, np.ascontiguousarray(array))
        return self.known[name]

    def shape(self, *sizes):
        return self.weight("shape" + "_".join(map(str, sizes)), np.array(sizes, np.int64))

    def node(self, kind, *inputs, outputs=1, domain="", **attributes):
        return self.graph.node(kind, list(inputs), outputs, domain, **attributes)

    def matmul(self, x, name):
        """x by a weight that the checkpoint stores output-major."""
        return self.node("MatMul", x, self.weight(name + ".in_out", self.tensors[name].T))

    def dense(self, x, name):
        return self.node("Add", self.matmul(x, f"{name}.weight"), self.weight(f"{name}.bias"))

    def merged(self, x, parts, heads, *lengths):
        """Attention over queries, keys and values of three weights side by side, those without a bias too. `lengths`: of padded rows."""
        weight = self.weight(parts[0] + ".qkv", np.concatenate([self.tensors[f"{part}.weight"].T for part in parts], 1))
        zero = np.zeros(len(self.tensors[f"{parts[0]}.weight"]), np.float32)
        bias = self.weight(parts[0] + ".qkv_bias", np.concatenate([self.tensors.get(f"{part}.bias", zero) for part in parts]))
        return self.node("Attention", x, weight, bias, *lengths, domain=MS, num_heads=heads)


def write_attention(path, causal, size):
    """12 heads on [length, 12, size] queries, keys and values."""
    model = Model({})
    for name in ("q", "k", "v"):
        model.graph.value(11, name, FLOAT, [1, "length", 12 * size])
    model.graph.node("MultiHeadAttention", ["q", "k", "v"], ["y"], MS, num_heads=12, unidirectional=int(causal))
    model.graph.value(12, "y", FLOAT, [1, "length", 12 * size])
    save(model.graph, path)


def write_grouped_attention(path, size):
    """The same, causal, with the operator of decoders, which skips what the mask excludes. The cache is as long as the input."""
    model = Model({})
    for name in ("q", "k", "v"):
        model.graph.value(11, name, FLOAT, [1, "length", 12 * size])
    for name in ("past_key", "past_value"):
        model.graph.value(11, name, FLOAT, [1, 12, "past", size])
    model.graph.value(11, "last", 6, [1])
    model.graph.value(11, "total", 6, [])
    model.graph.node("GroupQueryAttention", ["q", "k", "v", "past_key", "past_value", "last", "total"], ["y", "key", "value"], MS,
                     num_heads=12, kv_num_heads=12)
    model.graph.value(12, "y", FLOAT, [1, "length", 12 * size])
    save(model.graph, path)


def write_bert(path, tensors, config, padded=False):
    """The last hidden state of BertModel; of padded rows the mean over the tokens of each."""
    tensors = {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}
    model, epsilon, heads = Model(tensors), config["layer_norm_eps"], config["num_attention_heads"]
    model.graph.value(11, "input_ids", INT64, ["rows", "length"])
    if padded:
        model.graph.value(11, "lengths", 6, ["rows"])
        model.graph.value(11, "shares", FLOAT, ["rows", 1, "length"])
    embeddings = "embeddings"
    length = model.node("Shape", "input_ids", start=1)
    positions = model.node("Slice", model.weight(f"{embeddings}.position_embeddings.weight"), model.shape(0), length, model.shape(0))
    kinds = model.weight("kind", tensors[f"{embeddings}.token_type_embeddings.weight"][0])
    x = model.node("Gather", model.weight(f"{embeddings}.word_embeddings.weight"), "input_ids")
    x = model.node("Add", model.node("Add", x, kinds), positions)
    x = model.node("LayerNormalization", x, model.weight(f"{embeddings}.LayerNorm.weight"), model.weight(f"{embeddings}.LayerNorm.bias"),
                   axis=-1 & (1 << 64) - 1, epsilon=epsilon)

    def add_norm(branch, skip, dense, norm, outputs=1):
        inputs = [model.matmul(branch, f"{dense}.weight"), skip, model.weight(f"{norm}.weight"), model.weight(f"{norm}.bias"),
                  model.weight(f"{dense}.bias")]
        return model.node("SkipLayerNormalization", *inputs, domain=MS, epsilon=epsilon, outputs=outputs)

    layers = config["num_hidden_layers"]
    for layer in range(layers):
        at = f"encoder.layer.{layer}"
        attention = model.merged(x, [f"{at}.attention.self.{part}" for part in ("query", "key", "value")], heads, *(["lengths"] if padded else []))
        x = add_norm(attention, x, f"{at}.attention.output.dense", f"{at}.attention.output.LayerNorm")
        inner = model.node("BiasGelu", model.matmul(x, f"{at}.intermediate.dense.weight"), model.weight(f"{at}.intermediate.dense.bias"), domain=MS)
        x = add_norm(inner, x, f"{at}.output.dense", f"{at}.output.LayerNorm", ["y"] if layer + 1 == layers and not padded else 1)
        x = x[0] if isinstance(x, list) else x
    if padded:
        model.graph.node("MatMul", ["shares", x], ["y"])
    model.graph.value(12, "y", FLOAT, ["rows", 1 if padded else "length", config["hidden_size"]])
    save(model.graph, path)


def write_vit(path, tensors, config):
    """The logits of ViTForImageClassification."""
    model, epsilon, width = Model(tensors), config["layer_norm_eps"], config["hidden_size"]
    model.graph.value(11, "pixel_values", FLOAT, [1, 3, config["image_size"], config["image_size"]])
    patch = "vit.embeddings.patch_embeddings.projection"
    size, grid = config["patch_size"], config["image_size"] // config["patch_size"]
    # Patches as rows of a matmul: the convolution of that stride.
    x = model.node("Reshape", "pixel_values", model.shape(3, grid, size, grid, size))
    x = transpose(model, x, [1, 3, 0, 2, 4])
    x = model.node("Reshape", x, model.shape(1, grid * grid, 3 * size * size))
    kernel = model.weight("patches", tensors[f"{patch}.weight"].reshape(width, -1).T)
    x = model.node("Add", model.node("MatMul", x, kernel), model.weight(f"{patch}.bias"))
    x = model.node("Concat", model.weight("vit.embeddings.cls_token"), x, axis=1)
    x = model.node("Add", x, model.weight("vit.embeddings.position_embeddings"))

    def norm(x, name):
        return model.node("LayerNormalization", x, model.weight(f"{name}.weight"), model.weight(f"{name}.bias"), axis=-1 & (1 << 64) - 1,
                          epsilon=epsilon)

    count = 0

    def add_norm(branch, skip, dense, name):
        """(norm(skip + branch), skip + branch)"""
        nonlocal count
        count += 1
        outputs = [f"normed_{count}", "", "", f"sum_{count}"]
        model.node("SkipLayerNormalization", model.matmul(branch, f"{dense}.weight"), skip, model.weight(f"{name}.weight"),
                   model.weight(f"{name}.bias"), model.weight(f"{dense}.bias"), domain=MS, epsilon=epsilon, outputs=outputs)
        return outputs[0], outputs[3]

    layers = config["num_hidden_layers"]
    normed = norm(x, "vit.encoder.layer.0.layernorm_before")
    for layer in range(layers):
        at = f"vit.encoder.layer.{layer}"
        attention = model.merged(normed, [f"{at}.attention.attention.{part}" for part in ("query", "key", "value")], config["num_attention_heads"])
        normed, x = add_norm(attention, x, f"{at}.attention.output.dense", f"{at}.layernorm_after")
        inner = model.node("BiasGelu", model.matmul(normed, f"{at}.intermediate.dense.weight"), model.weight(f"{at}.intermediate.dense.bias"), domain=MS)
        following = f"vit.encoder.layer.{layer + 1}.layernorm_before" if layer + 1 < layers else "vit.layernorm"
        normed, x = add_norm(inner, x, f"{at}.output.dense", following)
    first = model.node("Gather", normed, model.weight("first", np.array([0], np.int64)), axis=1)
    matmul = model.matmul(first, "classifier.weight")
    model.graph.node("Add", [matmul, model.weight("classifier.bias")], ["logits"])
    model.graph.value(12, "logits", FLOAT, [1, 1, len(tensors["classifier.bias"])])
    save(model.graph, path)


def with_lists(model, kind, inputs, **lists):
    """A node whose attributes are lists."""
    model.graph.count += 1
    name = f"{kind}_{model.graph.count}"
    node = b"".join(field(1, x) for x in inputs) + field(2, name) + field(4, kind)
    for attribute, values in lists.items():
        node += field(5, field(1, attribute) + b"".join(field(8, value) for value in values) + field(20, 7))
    model.graph.data += field(1, node)
    return name


def transpose(model, x, order):
    return with_lists(model, "Transpose", [x], perm=order)


def write_whisper(path, tensors, config):
    """The encoder over 30 seconds, and the keys and values that every layer of the decoder makes of its output."""
    tensors = {name.removeprefix("model."): tensor for name, tensor in tensors.items()}
    model, heads, epsilon = Model(tensors), config["encoder_attention_heads"], 1e-5
    frames, width = 2 * config["max_source_positions"], config["d_model"]
    model.graph.value(11, "input_features", FLOAT, [1, config["num_mel_bins"], frames])
    x = "input_features"
    for name, stride in (("encoder.conv1", 1), ("encoder.conv2", 2)):
        inputs = [x, model.weight(f"{name}.weight"), model.weight(f"{name}.bias")]
        x = model.node("Gelu", with_lists(model, "Conv", inputs, kernel_shape=[3], strides=[stride], pads=[1, 1]), domain=MS)
    x = model.node("Add", transpose(model, x, [0, 2, 1]), model.weight("encoder.embed_positions.weight"))

    def norm(x, name, outputs=1):
        return model.node("LayerNormalization", x, model.weight(f"{name}.weight"), model.weight(f"{name}.bias"), axis=-1 & (1 << 64) - 1,
                          epsilon=epsilon, outputs=outputs)

    count = 0

    def add_norm(branch, skip, dense, name, final=False):
        """(norm(skip + branch), skip + branch)"""
        nonlocal count
        count += 1
        outputs = ["y" if final else f"normed_{count}", "", "", f"sum_{count}"]
        model.node("SkipLayerNormalization", model.matmul(branch, f"{dense}.weight"), skip, model.weight(f"{name}.weight"),
                   model.weight(f"{name}.bias"), model.weight(f"{dense}.bias"), domain=MS, epsilon=epsilon, outputs=outputs)
        return outputs[0], outputs[3]

    layers = config["encoder_layers"]
    normed = norm(x, "encoder.layers.0.self_attn_layer_norm")
    for layer in range(layers):
        at = f"encoder.layers.{layer}"
        attention = model.merged(normed, [f"{at}.self_attn.{part}_proj" for part in "qkv"], heads)
        normed, x = add_norm(attention, x, f"{at}.self_attn.out_proj", f"{at}.final_layer_norm")
        inner = model.node("BiasGelu", model.matmul(normed, f"{at}.fc1.weight"), model.weight(f"{at}.fc1.bias"), domain=MS)
        final = layer + 1 == layers
        following = "encoder.layer_norm" if final else f"encoder.layers.{layer + 1}.self_attn_layer_norm"
        normed, x = add_norm(inner, x, f"{at}.fc2", following, final)
    model.graph.value(12, "y", FLOAT, [1, frames // 2, width])
    for layer in range(config["decoder_layers"]):
        at = f"decoder.layers.{layer}.encoder_attn"
        for name, part in ((f"key_{layer}", "k_proj"), (f"value_{layer}", "v_proj")):
            weight = model.weight(f"{at}.{part}.in_out", tensors[f"{at}.{part}.weight"].T)
            if part == "k_proj":
                model.graph.node("MatMul", ["y", weight], [name])
            else:
                model.graph.node("Add", [model.node("MatMul", "y", weight), model.weight(f"{at}.{part}.bias")], [name])
            model.graph.value(12, name, FLOAT, [1, frames // 2, width])
    save(model.graph, path)


def buckets(length, count, most, bidirectional):
    """T5's buckets of relative positions, [queries, keys]."""
    distance = np.arange(length)[None, :] - np.arange(length)[:, None]
    result = np.zeros_like(distance)
    if bidirectional:
        count //= 2
        result += (distance > 0) * count
        distance = np.abs(distance)
    else:
        distance = -np.minimum(distance, 0)
    exact = count // 2
    far = exact + (np.log(np.maximum(distance, 1) / exact) / np.log(most / exact) * (count - exact)).astype(np.int64)
    return result + np.where(distance < exact, distance, np.minimum(far, count - 1))


def write_t5(path, tensors, config, length):
    """The encoder over `length` tokens and the logits of the decoder's first token."""
    model, epsilon, heads, size = Model(tensors), config["layer_norm_epsilon"], config["num_heads"], config["d_kv"]
    model.graph.value(11, "input_ids", INT64, [1, length])
    model.graph.value(11, "decoder_input_ids", INT64, [1, 1])

    def norm(x, name):
        return model.node("SimplifiedLayerNormalization", x, model.weight(f"{name}.weight"), axis=-1 & (1 << 64) - 1, epsilon=epsilon)

    def attention(x, keys, name, bias=""):
        parts = [model.matmul(source, f"{name}.{part}.weight") for source, part in ((x, "q"), (keys, "k"), (keys, "v"))]
        mixed = model.node("MultiHeadAttention", *parts, "", "", bias, domain=MS, num_heads=heads, scale=1.0)
        return model.matmul(mixed, f"{name}.o.weight")

    def feed(x, name):
        inner = model.node("Relu", model.matmul(norm(x, f"{name}.layer_norm"), f"{name}.DenseReluDense.wi.weight"))
        return model.node("Add", x, model.matmul(inner, f"{name}.DenseReluDense.wo.weight"))

    def bias(stack, places):
        table = tensors[f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
        return model.weight(f"{stack}.bias", table[places].transpose(2, 0, 1)[None].astype(np.float32))

    few, most = config["relative_attention_num_buckets"], config.get("relative_attention_max_distance", 128)
    x = model.node("Gather", model.weight("shared.weight"), "input_ids")
    towards = bias("encoder", buckets(length, few, most, True))
    for layer in range(config["num_layers"]):
        at = f"encoder.block.{layer}.layer"
        normed = norm(x, f"{at}.0.layer_norm")
        x = model.node("Add", x, attention(normed, normed, f"{at}.0.SelfAttention", towards))
        x = feed(x, f"{at}.1")
    encoded = norm(x, "encoder.final_layer_norm")
    y = model.node("Gather", model.weight("shared.weight"), "decoder_input_ids")
    own = bias("decoder", buckets(1, few, most, False))
    for layer in range(config.get("num_decoder_layers", config["num_layers"])):
        at = f"decoder.block.{layer}.layer"
        normed = norm(y, f"{at}.0.layer_norm")
        y = model.node("Add", y, attention(normed, normed, f"{at}.0.SelfAttention", own))
        y = model.node("Add", y, attention(norm(y, f"{at}.1.layer_norm"), encoded, f"{at}.1.EncDecAttention"))
        y = feed(y, f"{at}.2")
    y = norm(y, "decoder.final_layer_norm")
    y = model.node("Mul", y, model.weight("scale", np.array([config["d_model"]**-0.5], np.float32)))
    model.graph.node("MatMul", [y, model.weight("lm_head", tensors["shared.weight"].T)], ["logits"])
    model.graph.value(12, "logits", FLOAT, [1, 1, config["vocab_size"]])
    save(model.graph, path)
