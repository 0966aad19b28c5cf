#!/usr/bin/env python3
"""The encoder of images of qwen3_vl and qwen3_5, and their decoders, whose texts have images, in float64.

Written from the published code (transformers: modular_qwen3_vl.py, modular_qwen3_vl_moe.py, modular_qwen3_5.py, vision_utils.py, image_processing_qwen2_vl.py, text
of 2026): patches are in the order of the squares that are merged, as the processor flattens them, where compiled programs have them row by row.

    qwen_vision.py              shows that each rule counts; exit status 1 where one does not
    qwen_vision.py DIR [KIND]   writes a random model there, one of KINDS
"""

import argparse
import math
import sys

import numpy

import tensorfiles
from decoders import common, delta_hybrids, llamalike, states

VISION = {"depth": 2, "hidden_size": 24, "hidden_act": "gelu_pytorch_tanh", "intermediate_size": 40, "num_heads": 2, "in_channels": 3, "patch_size": 4,
          "spatial_merge_size": 2, "temporal_patch_size": 2, "out_hidden_size": 48, "num_position_embeddings": 25}
IMAGE, VIDEO, END = 90, 91, 96
# head_dim 16 with a half of it are 4 frequencies: of time, row, column and time.
ROPE = {"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.5, "mrope_section": [2, 1, 1], "mrope_interleaved": True}
TEXT35 = {"num_hidden_layers": 2, "full_attention_interval": 2, "rope_parameters": ROPE}
TEXT_VL = {"vocab_size": 97, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 72,
           "rope_theta": 500.0, "rope_scaling": {"rope_type": "default", "mrope_section": [4, 2, 2], "mrope_interleaved": True}}
EXPERTS = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 20, "norm_topk_prob": True, "mlp_only_layers": [1]}
OF_TOWER = ("both frames", "learned positions", "bilinear", "corners coincide", "rotation by rows", "rotation by columns", "rows rotate the first pairs", "tanh in layers",
            "erf behind them", "norm ahead of squares", "squares row by row")
OF_TEXT = ("rows of an image", "columns of an image", "one time in an image", "on from the largest position", "interleaved axes")
DEEP_IN_TOWER = ("outputs of layers", "a merger of each layer", "norm of squares")
DEEP_IN_TEXT = ("vectors behind layers", "behind the layer", "a vector of each layer", "at the tokens of images")


class Tower(common.Base):
    def vectors(self, pixels):
        """pixels [channels, height, width] to vectors [squares, out_hidden_size]."""
        c = self.config
        patch, merge, width, heads = c["patch_size"], c["spatial_merge_size"], c["hidden_size"], c["num_heads"]
        rows, columns = pixels.shape[1] // patch, pixels.shape[2] // patch
        x = self.flattened(pixels.astype(numpy.float64), rows, columns)
        kernel = self.weight("patch_embed.proj.weight")
        if not self.has("both frames"):
            kernel = kernel * numpy.array([1.0, *[0.0] * (kernel.shape[2] - 1)])[:, None, None]
        x = x @ kernel.reshape(width, -1).T + self.weight("patch_embed.proj.bias")
        at = self.places(rows, columns)
        if self.has("learned positions"):
            x = x + self.learned(rows, columns, at)
        angles = self.angles(at, width // heads)
        deep, indexes = [], c.get("deepstack_visual_indexes", [])
        for layer in range(c["depth"]):
            before = x
            x = self.layer(x, f"blocks.{layer}.", angles, heads)
            if layer in indexes:
                nth = indexes.index(layer) if self.has("a merger of each layer") else 0
                deep.append(self.deep(x if self.has("outputs of layers") else before, f"deepstack_merger_list.{nth}."))
        if self.has("norm ahead of squares"):
            x = self.layer_norm(x, "merger.norm", 1e-6).reshape(-1, merge * merge * width)
        else:
            weight, bias = (numpy.tile(self.weight("merger.norm." + name), merge * merge) for name in ("weight", "bias"))
            x = common.layer_norm(x.reshape(-1, merge * merge * width), weight, bias, 1e-6)
        if not self.has("squares row by row"):
            x = x.reshape(-1, merge, merge, width).transpose(0, 2, 1, 3).reshape(len(x), -1)
        return numpy.concatenate([self.projected(x, "merger."), *deep], -1)

    def projected(self, x, at):
        x = self.dense(x, at + "linear_fc1")
        return self.dense(common.gelu(x) if self.has("erf behind them") else common.gelu_tanh(x), at + "linear_fc2")

    def deep(self, x, at):
        """The vectors of an earlier layer's patches x, whose norm is of squares."""
        size = self.config["spatial_merge_size"] ** 2 * x.shape[-1]
        if self.has("norm of squares"):
            return self.projected(self.layer_norm(x.reshape(-1, size), at + "norm", 1e-6), at)
        each = common.layer_norm(x, 1, 0, 1e-6).reshape(-1, size)
        return self.projected(each * self.weight(at + "norm.weight") + self.weight(at + "norm.bias"), at)

    def flattened(self, pixels, rows, columns):
        """The rows of the processor: an image is all frames of a patch."""
        c, merge, patch = self.config, self.config["spatial_merge_size"], self.config["patch_size"]
        frames = numpy.repeat(pixels[None], c["temporal_patch_size"], 0)
        frames = frames.reshape(c["temporal_patch_size"], c["in_channels"], rows // merge, merge, patch, columns // merge, merge, patch)
        return frames.transpose(2, 5, 3, 6, 1, 0, 4, 7).reshape(rows * columns, -1)

    def places(self, rows, columns):
        """Row and column of each patch, square by square."""
        merge = self.config["spatial_merge_size"]
        grid = numpy.stack(numpy.meshgrid(numpy.arange(rows), numpy.arange(columns), indexing="ij"), -1)
        return grid.reshape(rows // merge, merge, columns // merge, merge, 2).transpose(0, 2, 1, 3, 4).reshape(-1, 2)

    def learned(self, rows, columns, at):
        table = self.weight("pos_embed.weight")
        side = math.isqrt(len(table))
        table, result = table.reshape(side, side, -1), 0
        taps = []
        for axis, extent in enumerate((rows, columns)):
            if self.has("corners coincide"):
                point = at[:, axis] * (side - 1) / max(extent - 1, 1)
            else:
                point = numpy.clip((at[:, axis] + 0.5) * side / extent - 0.5, 0, side - 1)
            below = numpy.floor(point).astype(int) if self.has("bilinear") else numpy.round(point).astype(int)
            share = point - below if self.has("bilinear") else 0 * point
            taps.append([(below, 1 - share), (numpy.minimum(below + 1, side - 1), share)])
        for row, down in taps[0]:
            for column, across in taps[1]:
                result = result + table[row, column] * (down * across)[:, None]
        return result

    def angles(self, at, size):
        """[patches, size / 2]: a quarter of the head's channels has frequencies, of the row and again of the column."""
        rates = common.frequencies(10000.0, size // 2).astype(numpy.float64)
        of_row, of_column = at[:, :1] * rates, at[:, 1:] * rates
        of_row, of_column = of_row * self.has("rotation by rows"), of_column * self.has("rotation by columns")
        return numpy.concatenate([of_row, of_column] if self.has("rows rotate the first pairs") else [of_column, of_row], -1)

    def layer(self, x, at, angles, heads):
        y = self.dense(self.layer_norm(x, at + "norm1", 1e-6), at + "attn.qkv").reshape(len(x), 3, heads, -1)
        q, k = (turned(y[:, which], angles) for which in (0, 1))
        x = x + self.dense(common.attend(q, k, y[:, 2], q.shape[-1] ** -0.5, around=True), at + "attn.proj")
        y = self.dense(self.layer_norm(x, at + "norm2", 1e-6), at + "mlp.linear_fc1")
        return x + self.dense(common.gelu_tanh(y) if self.has("tanh in layers") else common.gelu(y), at + "mlp.linear_fc2")


def turned(x, angles):
    """x [tokens, heads, channels] by angles [tokens, pairs]; pairs are halves of the first channels."""
    pairs, (cosines, sines) = angles.shape[1], (f(angles)[:, None] for f in (numpy.cos, numpy.sin))
    first, second, rest = x[..., :pairs], x[..., pairs : 2 * pairs], x[..., 2 * pairs :]
    return numpy.concatenate([first * cosines - second * sines, second * cosines + first * sines, rest], -1)


def positions(ids, grids, has=lambda rule: True):
    """Time, row and column of each token, [tokens, 3]; `grids` are rows and columns of vectors of each image."""
    result, at, token, images = [], 0, 0, iter(grids)
    while token < len(ids):
        if ids[token] != IMAGE:
            result.append([at] * 3)
            at, token = at + 1, token + 1
            continue
        rows, columns = next(images)
        for row in range(rows):
            for column in range(columns):
                time = at if has("one time in an image") else at + row * columns + column
                result.append([time, at + row * has("rows of an image"), at + column * has("columns of an image")])
        at, token = at + (max(rows, columns) if has("on from the largest position") else rows * columns), token + rows * columns
    return numpy.array(result)


def axes(sections, pairs, interleaved=True):
    """The axis of each frequency."""
    if not interleaved:
        return numpy.repeat(numpy.arange(3), sections)
    return numpy.array([i % 3 if i < 3 * sections[i % 3] else 0 for i in range(pairs)])


def with_images(Text):
    """A decoder whose tokens IMAGE stand for vectors, which have a part for the embedding and one for each of the first layers."""

    class Model(Text):
        def logits(self, ids, vectors=(), grids=()):
            width = self.config["hidden_size"]
            self.at, self.parts = positions(ids, grids, self.has), numpy.reshape(vectors, (len(vectors), -1 if len(vectors) else 1, width))
            self.images = numpy.flatnonzero(numpy.asarray(ids) == IMAGE)
            if not self.has("at the tokens of images"):
                self.images = numpy.arange(len(self.images))
            self.vectors = iter(self.parts[:, 0] if len(vectors) else ())
            return super().logits(ids)

        def turned(self, x, *layer):
            rope, size = rotation(self.config), x.shape[-1]
            pairs = int(size * rope.get("partial_rotary_factor", 1)) // 2
            chosen = axes(rope["mrope_section"], pairs, self.has("interleaved axes"))
            return turned(x, self.at[: len(x), chosen] * common.frequencies(rope["rope_theta"], 2 * pairs).astype(numpy.float64))

        def layer(self, x, layer):
            if self.has("behind the layer"):
                return self.deeper(super().layer(x, layer), layer)
            return super().layer(self.deeper(x, layer), layer)

        def deeper(self, x, layer):
            """x with the vectors that are for the layer."""
            if len(self.images) == 0 or layer + 1 >= self.parts.shape[1] or not self.has("vectors behind layers"):
                return x
            x = x.copy()
            x[self.images] += self.parts[:, layer + 1 if self.has("a vector of each layer") else 1]
            return x

        def weight(self, name):
            values = super().weight(name)
            return Embedding(values, self.vectors) if name == "model.embed_tokens.weight" else values

    return Model


def rotation(config):
    """The keys of rotary embedding, of published files and of those of version 5 of the package."""
    return config.get("rope_parameters") or {**config["rope_scaling"], "rope_theta": config["rope_theta"]}


class VL(llamalike.Qwen3):
    """The text part of qwen3_vl without images."""

    # Defaults: transformers, models/qwen3_vl/modular_qwen3_vl.py (text of autumn 2026).
    def theta(self):
        return rotation(self.config)["rope_theta"]


class VLMoe(VL):
    """Experts as published files have them: stacked matrices [in, out], columns of the gate ahead of those of up."""

    def mlp(self, x, layer):
        at = f"model.layers.{layer}.mlp."
        if at + "gate.weight" not in self.tensors:
            return super().mlp(x, layer)

        def expert(rows, number):
            gate, up = numpy.split(rows @ self.weight(at + "experts.gate_up_proj")[number], 2, -1)
            return common.silu(gate) * up @ self.weight(at + "experts.down_proj")[number]

        weights = states.route(self.dense(x, at + "gate"), self.config["num_experts_per_tok"], normalized=self.has("weights of the chosen"))
        return states.of_experts(x, weights, expert)


def vl_shapes(c):
    size, number = c["head_dim"], c.get("num_experts", 0)
    table = llamalike.shapes(c, head_norms={"q_norm": size, "k_norm": size})
    for layer in range(c["num_hidden_layers"] if number else 0):
        if layer in c["mlp_only_layers"]:
            continue
        at, width, inner = f"model.layers.{layer}.mlp.", c["hidden_size"], c["moe_intermediate_size"]
        for name in ("gate_proj", "up_proj", "down_proj"):
            del table[at + name + ".weight"]
        table |= {at + "gate.weight": (number, width), at + "experts.gate_up_proj": (number, width, 2 * inner), at + "experts.down_proj": (number, inner, width)}
    return table


def of_family(name):
    family = delta_hybrids.FAMILIES[name]
    return family["Model"], family["shapes"], family["SMALL"] | TEXT35, family["AROUND_ONE"]


# model_type -> the type of its text, its class, and the text's model, tensors, configuration and the gains that are around one
WHOLES = {"qwen3_5": ("qwen3_5_text", "Qwen3_5", *of_family("qwen3_5_text")), "qwen3_5_moe": ("qwen3_5_moe_text", "Qwen3_5Moe", *of_family("qwen3_5_moe_text")),
          "qwen3_vl": ("qwen3_vl_text", "Qwen3VL", VL, vl_shapes, TEXT_VL, ()), "qwen3_vl_moe": ("qwen3_vl_moe_text", "Qwen3VLMoe", VLMoe, vl_shapes, TEXT_VL | EXPERTS, ())}
# kind of model -> its model_type, and keys of its vision_config
KINDS = {"qwen3_5": ("qwen3_5", {"model_type": "qwen3_5_vision", "deepstack_visual_indexes": []}), "qwen3_5_moe": ("qwen3_5_moe", {"model_type": "qwen3_5_moe_vision"}),
         "qwen3_5-deep": ("qwen3_5", {"model_type": "qwen3_5", "deepstack_visual_indexes": [0]}),
         "qwen3_vl": ("qwen3_vl", {"model_type": "qwen3_vl", "depth": 3, "deepstack_visual_indexes": [0, 2]}),
         "qwen3_vl_moe": ("qwen3_vl_moe", {"model_type": "qwen3_vl_moe_vision", "deepstack_visual_indexes": [1], "rope_parameters": {"rope_type": "axial", "rope_theta": 10000.0}}),
         "qwen3_vl_moe-rows": ("qwen3_vl_moe", {"model_type": "qwen3_vl_moe", "deepstack_visual_indexes": []})}  # experts as version 5 of the package has them in memory


class Embedding:
    """Rows of a table, and the next vectors in place of the image token's."""

    def __init__(self, table, vectors):
        self.table, self.vectors, self.T = table, vectors, table.T

    def __getitem__(self, ids):
        return numpy.stack([next(self.vectors) if token == IMAGE else self.table[token] for token in ids])


def tower_shapes(c):
    width, inner, squared = c["hidden_size"], c["intermediate_size"], c["spatial_merge_size"] ** 2 * c["hidden_size"]
    patch = c["patch_size"]
    table = {"patch_embed.proj.weight": (width, c["in_channels"], c["temporal_patch_size"], patch, patch), "patch_embed.proj.bias": (width,),
             "pos_embed.weight": (c["num_position_embeddings"], width)}
    for layer in range(c["depth"]):
        at = f"blocks.{layer}."
        for name in ("norm1", "norm2"):
            common.norm_shapes(table, at + name, width, True)
        for name, out, columns in (("attn.qkv", 3 * width, width), ("attn.proj", width, width), ("mlp.linear_fc1", inner, width), ("mlp.linear_fc2", width, inner)):
            common.linear_shapes(table, at + name, out, columns, True)
    for at in ("merger.", *(f"deepstack_merger_list.{nth}." for nth in range(len(c.get("deepstack_visual_indexes", ()))))):
        common.norm_shapes(table, at + "norm", width if at == "merger." else squared, True)
        common.linear_shapes(table, at + "linear_fc1", squared, squared, True)
        common.linear_shapes(table, at + "linear_fc2", c["out_hidden_size"], squared, True)
    return table


def whole(kind="qwen3_5"):
    """The configuration, the tower's tensors and those of the decoder, and the tensors as files have them."""
    name, vision = KINDS[kind]
    of_text, architecture, _, shapes, small, around_one = WHOLES[name]
    text = small | {"model_type": of_text, "eos_token_id": END, "max_position_embeddings": 2048}
    config = {"model_type": name, "architectures": [architecture + "ForConditionalGeneration"], "text_config": text, "vision_config": VISION | vision,
              "image_token_id": IMAGE, "video_token_id": VIDEO, "vision_start_token_id": IMAGE + 2, "vision_end_token_id": IMAGE + 3,
              "tie_word_embeddings": False, "torch_dtype": "float32"}
    ofText = common.draw(shapes(text), 1, around_one)
    ofTower = common.draw(tower_shapes(config["vision_config"]), 2)
    ofTower["patch_embed.proj.weight"] /= numpy.float32(8)  # drawn for one column
    tensors = {name.replace("model.", "model.language_model.", 1) if name.startswith("model.") else name: values for name, values in ofText.items()}
    if kind.endswith("-rows"):
        tensors |= {name: values.transpose(0, 2, 1) for name, values in tensors.items() if ".experts." in name}
    tensors |= {"model.visual." + name: values for name, values in ofTower.items()}
    tensors["mtp.layers.0.input_layernorm.weight"] = numpy.ones(4, numpy.float32)
    return config, (ofTower, ofText), tensors


def models(kind="qwen3_5", without=()):
    config, (ofTower, ofText), _ = whole(kind)
    Text = with_images(WHOLES[config["model_type"]][2])
    return Tower(config["vision_config"], ofTower, without), Text(config["text_config"], ofText, without)


def write(directory, kind="qwen3_5"):
    config, _, tensors = whole(kind)
    tensorfiles.writeModel(directory, config, tensors, "F32", kinds={name: "F32" for name in tensors})


def faults(kind, of_tower, of_text):
    """What switching a rule off does not change."""
    random = numpy.random.RandomState(3)
    pixels = [random.standard_normal((3, *size)) for size in ((24, 40), (8, 16))]
    grids = [(3, 5), (1, 2)]
    ids = [5, *[IMAGE] * 15, 7, 8, *[IMAGE] * 2, 9]

    def outputs(without=()):
        tower, text = models(kind, without)
        vectors = numpy.concatenate([tower.vectors(image) for image in pixels])
        logits = text.logits(ids, vectors, grids)
        read.update(tower.read | text.read)
        return vectors, logits

    read = set()
    wanted = outputs()
    differ = lambda a, b: numpy.linalg.norm(a - b) / numpy.linalg.norm(b)
    for part, rules in enumerate((of_tower, of_text)):
        for rule in rules:
            if differ(outputs({rule})[part], wanted[part]) < 1e-5:
                yield f"{kind}: nothing shows '{rule}'"
    tower, text = models(kind)
    unread = {*tower.tensors, *text.tensors} - read
    if unread:
        yield f"{kind}: tensors that nothing reads: {sorted(unread)}"
    plain = WHOLES[KINDS[kind][0]][2](text.config, text.tensors)
    if differ(text.logits([5, 7, 9]), plain.logits([5, 7, 9])) > 1e-12:
        yield f"{kind}: a text without images is another one than that of the decoder alone"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("directory", nargs="?")
    parser.add_argument("kind", nargs="?", default="qwen3_5", choices=KINDS)
    options = parser.parse_args()
    if options.directory:
        return write(options.directory, options.kind)
    cases = {"qwen3_5": (OF_TOWER, OF_TEXT), "qwen3_5-deep": (DEEP_IN_TOWER[::2], DEEP_IN_TEXT[:1]),
             "qwen3_vl": (DEEP_IN_TOWER, (*OF_TEXT, *DEEP_IN_TEXT, "norms of heads")), "qwen3_vl_moe": ((), ("weights of the chosen",))}
    wrong = [fault for kind, rules in cases.items() for fault in faults(kind, *rules)]
    if list(axes([24, 20, 20], 64)[:6]) != [0, 1, 2, 0, 1, 2] or list(numpy.bincount(axes([24, 20, 20], 64))) != [24, 20, 20]:
        wrong.append("the axes of published sections")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{sum(len(tower) + len(text) + 2 for tower, text in cases.values()) + 1 - len(wrong)} passed, {len(wrong)} failed")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
