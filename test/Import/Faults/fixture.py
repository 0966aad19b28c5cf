"""A tiny model directory of the gpt2 family, as Python values that a fault can change before they become bytes."""

import json
import os
import struct

WIDTH, VOCABULARY, POSITIONS, LAYERS = 32, 70, 16, 2


def pattern(count, seed):
    """`count` small floats, the same on every machine."""
    values, state = [], seed * 2654435761 % 2**32 or 1
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append((state >> 8) / 2**24 * 0.2 - 0.1)
    return values


def product(shape):
    result = 1
    for extent in shape:
        result *= extent
    return result


class Model:
    """config, tensors {name: (dtype, shape, bytes)} and other files {name: bytes}; `write` makes the directory."""

    def __init__(self):
        self.config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": WIDTH, "n_layer": LAYERS,
                       "n_head": 2, "n_positions": POSITIONS, "vocab_size": VOCABULARY, "layer_norm_epsilon": 1e-5,
                       "activation_function": "gelu_new", "torch_dtype": "float32"}
        self.tensors, self.files = {}, {}
        self.header = None  # overrides the header's bytes
        self.entries = {}   # overrides of header entries: {name: {key: value}}
        self.tail = b""     # bytes behind the data
        self.cut = None     # length the file is cut to
        self.raw = None     # the whole of model.safetensors
        self.config_text = None
        w = WIDTH
        self.add("wte.weight", [VOCABULARY, w])
        self.add("wpe.weight", [POSITIONS, w])
        for layer in range(LAYERS):
            for name, shape in {"ln_1.weight": [w], "ln_1.bias": [w], "attn.c_attn.weight": [w, 3 * w],
                                "attn.c_attn.bias": [3 * w], "attn.c_proj.weight": [w, w], "attn.c_proj.bias": [w],
                                "ln_2.weight": [w], "ln_2.bias": [w], "mlp.c_fc.weight": [w, 4 * w],
                                "mlp.c_fc.bias": [4 * w], "mlp.c_proj.weight": [4 * w, w],
                                "mlp.c_proj.bias": [w]}.items():
                self.add(f"h.{layer}.{name}", shape)
        self.add("ln_f.weight", [w])
        self.add("ln_f.bias", [w])

    def add(self, name, shape, dtype="F32", data=None):
        if data is None:
            data = struct.pack(f"<{product(shape)}f", *pattern(product(shape), len(self.tensors) + 1))
        self.tensors[name] = (dtype, shape, data)

    def safetensors(self, names=None):
        offset, root, data = 0, {}, b""
        for name in names or self.tensors:
            dtype, shape, content = self.tensors[name]
            root[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(content)]}
            root[name].update(self.entries.get(name, {}))
            offset += len(content)
            data += content
        header = self.header(root) if self.header else json.dumps(root).encode()
        result = struct.pack("<Q", len(header)) + header + data + self.tail
        return result if self.cut is None else result[:self.cut]

    def write(self, directory):
        os.makedirs(directory)
        text = self.config_text(self.config) if self.config_text else json.dumps(self.config).encode()
        files = {"config.json": text, "model.safetensors": self.safetensors() if self.raw is None else self.raw}
        for name, content in {**files, **self.files}.items():
            path = os.path.join(directory, name)
            if callable(content):
                content(path)
            elif content is not None:
                with open(path, "wb") as file:
                    file.write(content)
