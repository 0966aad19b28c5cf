#!/usr/bin/env python3
"""The encoder of images of qwen3_vl and qwen3_5, and qwen3_5 decoders whose texts have images, in float64.

Written from the published code (transformers: modeling_qwen3_vl.py, modular_qwen3_5.py, vision_utils.py, image_processing_qwen2_vl.py, text of 2026): patches are
in the order of the squares that are merged, as the processor flattens them, where compiled programs have them row by row.

    qwen_vision.py         shows that each rule counts; exit status 1 where one does not
    qwen_vision.py DIR     writes a random model there
"""

import argparse
import math
import sys

import numpy

import tensorfiles
from decoders import common, delta_hybrids

VISION = {"model_type": "qwen3_5_vision", "depth": 2, "hidden_size": 24, "hidden_act": "gelu_pytorch_tanh", "intermediate_size": 40, "num_heads": 2, "in_channels": 3,
          "patch_size": 4, "spatial_merge_size": 2, "temporal_patch_size": 2, "out_hidden_size": 48, "num_position_embeddings": 25}
IMAGE, END = 90, 96
WHOLES = {"qwen3_5": ("qwen3_5_text", "Qwen3_5ForConditionalGeneration"), "qwen3_5_moe": ("qwen3_5_moe_text", "Qwen3_5MoeForConditionalGeneration")}
# head_dim 16 with a half of it are 4 frequencies: of time, row, column and time.
ROPE = {"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.5, "mrope_section": [2, 1, 1], "mrope_interleaved": True}
OF_TOWER = ("both frames", "learned positions", "bilinear", "corners coincide", "rotation by rows", "rotation by columns", "rows rotate the first pairs", "tanh in layers",
            "erf behind them", "norm ahead of squares", "squares row by row")
OF_TEXT = ("rows of an image", "columns of an image", "one time in an image", "on from the largest position", "interleaved axes")


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
        for layer in range(c["depth"]):
            x = self.layer(x, f"blocks.{layer}.", angles, heads)
        if self.has("norm ahead of squares"):
            x = self.layer_norm(x, "merger.norm", 1e-6).reshape(-1, merge * merge * width)
        else:
            weight, bias = (numpy.tile(self.weight("merger.norm." + name), merge * merge) for name in ("weight", "bias"))
            x = common.layer_norm(x.reshape(-1, merge * merge * width), weight, bias, 1e-6)
        if not self.has("squares row by row"):
            x = x.reshape(-1, merge, merge, width).transpose(0, 2, 1, 3).reshape(len(x), -1)
        x = self.dense(x, "merger.linear_fc1")
        return self.dense(common.gelu(x) if self.has("erf behind them") else common.gelu_tanh(x), "merger.linear_fc2")

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
    """A decoder of delta_hybrids whose tokens IMAGE stand for vectors."""

    class Model(Text):
        def logits(self, ids, vectors=(), grids=()):
            self.at, self.vectors = positions(ids, grids, self.has), iter(vectors)
            return super().logits(ids)

        def turned(self, x):
            rope, size = self.config["rope_parameters"], x.shape[-1]
            pairs = int(size * rope["partial_rotary_factor"]) // 2
            chosen = axes(rope["mrope_section"], pairs, self.has("interleaved axes"))
            return turned(x, self.at[: len(x), chosen] * common.frequencies(rope["rope_theta"], 2 * pairs).astype(numpy.float64))

        def weight(self, name):
            values = super().weight(name)
            return Embedding(values, self.vectors) if name == "model.embed_tokens.weight" else values

    return Model


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
    common.norm_shapes(table, "merger.norm", width, True)
    common.linear_shapes(table, "merger.linear_fc1", squared, squared, True)
    common.linear_shapes(table, "merger.linear_fc2", c["out_hidden_size"], squared, True)
    return table


def whole(kind="qwen3_5", vision=()):
    """The configuration, the tower and the decoder, and the tensors as files have them."""
    name, architecture = WHOLES[kind]
    family = delta_hybrids.FAMILIES[name]
    text = family["SMALL"] | {"num_hidden_layers": 2, "full_attention_interval": 2, "rope_parameters": ROPE, "eos_token_id": END,
                              "max_position_embeddings": 2048}
    config = {"model_type": kind, "architectures": [architecture], "text_config": text, "vision_config": VISION | dict(vision), "image_token_id": IMAGE,
              "video_token_id": IMAGE + 1, "vision_start_token_id": IMAGE + 2, "vision_end_token_id": IMAGE + 3, "torch_dtype": "float32"}
    ofText = common.draw(family["shapes"](text), 1, family["AROUND_ONE"])
    ofTower = common.draw(tower_shapes(config["vision_config"]), 2)
    ofTower["patch_embed.proj.weight"] /= numpy.float32(8)  # drawn for one column
    tensors = {name.replace("model.", "model.language_model.", 1) if name.startswith("model.") else name: values for name, values in ofText.items()}
    tensors |= {"model.visual." + name: values for name, values in ofTower.items()}
    tensors["mtp.layers.0.input_layernorm.weight"] = numpy.ones(4, numpy.float32)
    return config, (ofTower, ofText), tensors


def models(kind="qwen3_5", without=(), vision=()):
    config, (ofTower, ofText), _ = whole(kind, vision)
    Text = with_images(delta_hybrids.FAMILIES[WHOLES[kind][0]]["Model"])
    return Tower(config["vision_config"], ofTower, without), Text(config["text_config"], ofText, without)


def write(directory, kind="qwen3_5", vision=()):
    config, _, tensors = whole(kind, vision)
    tensorfiles.writeModel(directory, config, tensors, "F32", kinds={name: "F32" for name in tensors})


def faults():
    """What switching a rule off does not change."""
    random = numpy.random.RandomState(3)
    pixels = [random.standard_normal((3, *size)) for size in ((24, 40), (8, 16))]
    grids = [(3, 5), (1, 2)]
    ids = [5, *[IMAGE] * 15, 7, 8, *[IMAGE] * 2, 9]

    def outputs(without=()):
        tower, text = models(without=without)
        vectors = numpy.concatenate([tower.vectors(image) for image in pixels])
        read.update(tower.read)
        return vectors, text.logits(ids, vectors, grids), text

    read = set()
    vectors, logits, text = outputs()
    differ = lambda a, b: numpy.linalg.norm(a - b) / numpy.linalg.norm(b)
    for rule in OF_TOWER:
        if differ(outputs({rule})[0], vectors) < 1e-5:
            yield f"nothing shows '{rule}'"
    for rule in OF_TEXT:
        if differ(outputs({rule})[1], logits) < 1e-5:
            yield f"nothing shows '{rule}'"
    unread = set(models()[0].tensors) - read
    if unread:
        yield f"tensors that nothing reads: {sorted(unread)}"
    plain = delta_hybrids.Qwen35(text.config, text.tensors)
    if differ(models()[1].logits([5, 7, 9]), plain.logits([5, 7, 9])) > 1e-12:
        yield "a text without images is another one than that of the decoder alone"
    if list(axes([24, 20, 20], 64)[:6]) != [0, 1, 2, 0, 1, 2] or list(numpy.bincount(axes([24, 20, 20], 64))) != [24, 20, 20]:
        yield "the axes of published sections"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("directory", nargs="?")
    directory = parser.parse_args().directory
    if directory:
        return write(directory)
    wrong = list(faults())
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(OF_TOWER) + len(OF_TEXT) + 3 - len(wrong)} passed, {len(wrong)} failed")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
