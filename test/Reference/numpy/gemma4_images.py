#!/usr/bin/env python3
"""Images of gemma4 in float64: sizes that keep proportions, the encoder of images, and texts with vectors in them.

Without arguments it checks itself: each rule switched off changes the vectors of an image or the logits of a text, and every tensor is read. Prints
"N passed, N failed"; exit status 1 if any failed.
"""

import math
import sys

import numpy

from decoders import common, gemma4
from decoders.common import frequencies, gelu_tanh, layer_norm, rms_norm
from decoders.gemmas import FOUR

VECTOR_COUNTS = (70, 140, 280, 560, 1120)
BOUNDS = ("input_min", "input_max", "output_min", "output_max")
LINEARS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")


def size_of(width, height, most=280, square=48):
    """(width, height) in pixels of an image that becomes at most `most` vectors."""
    factor = math.sqrt(most * square * square / (width * height))
    columns, rows = (int(factor * side / square) for side in (width, height))
    if rows == 0:
        columns, rows = min(width // height, most), 1
    elif columns == 0:
        columns, rows = 1, min(height // width, most)
    return columns * square, rows * square


class Tower(common.Base):
    """`config` is vision_config. `without` names rules that are left out."""

    def get(self, key):
        defaults = {"rms_norm_eps": 1e-6, "patch_size": 16, "pooling_kernel_size": 3, "use_clipped_linears": False, "standardize": False}
        return self.config.get(key, defaults.get(key))

    def linear(self, x, name):
        at = "model.vision_tower." + name
        if not self.get("use_clipped_linears"):
            return x @ self.weight(at + ".linear.weight").T
        least, most, below, above = (float(self.weight(f"{at}.{bound}")) for bound in BOUNDS)
        x = numpy.clip(x, least if self.has("input_min") else -numpy.inf, most if self.has("input_max") else numpy.inf)
        y = x @ self.weight(at + ".linear.weight").T
        return numpy.clip(y, below if self.has("output_min") else -numpy.inf, above if self.has("output_max") else numpy.inf)

    def norm(self, x, name):
        return self.rms(x, "model.vision_tower." + name, self.get("rms_norm_eps"))

    def bare(self, x):
        return rms_norm(x, 1, self.get("rms_norm_eps"))

    def turned(self, x, places):
        """x [patches, heads, channels]: a half by the column, the other by the row, each of whose pairs are its own halves."""
        size = x.shape[-1] // 2
        theta = (self.config.get("rope_parameters") or {}).get("rope_theta", 100.0)
        result = x.copy()
        for half in range(2):
            angles = places[half if self.has("columns first") else 1 - half][:, None, None] * frequencies(theta, size).astype(numpy.float64)
            first, second = (slice(half * size + part * size // 2, half * size + (part + 1) * size // 2) for part in range(2))
            result[..., first] = x[..., first] * numpy.cos(angles) - x[..., second] * numpy.sin(angles)
            result[..., second] = x[..., second] * numpy.cos(angles) + x[..., first] * numpy.sin(angles)
        return result if self.has("rotation") else x

    def attention(self, x, at, places):
        heads, groups, size = (self.config[key] for key in ("num_attention_heads", "num_key_value_heads", "head_dim"))
        query, key, value = (self.linear(x, f"{at}self_attn.{part}_proj").reshape(len(x), -1, size) for part in "qkv")
        if self.has("norms of heads"):
            query, key = self.norm(query, at + "self_attn.q_norm"), self.norm(key, at + "self_attn.k_norm")
        query, key = self.turned(query, places), self.turned(key, places)
        value = self.bare(value) if self.has("norm of values") else value
        mixed = numpy.empty((len(x), heads, size))
        for head in range(heads):
            group = head // (heads // groups)
            scores = query[:, head] @ key[:, group].T * (1 if self.has("scores without a scale") else size ** -0.5)
            powers = numpy.exp(scores - scores.max(-1, keepdims=True))
            mixed[:, head] = powers @ value[:, group] / powers.sum(-1, keepdims=True)
        return self.linear(mixed.reshape(len(x), -1), at + "self_attn.o_proj")

    def layer(self, x, layer, places):
        at = f"encoder.layers.{layer}."
        behind = (lambda y, name: self.norm(y, at + name)) if self.has("norms behind") else (lambda y, name: y)
        x = x + behind(self.attention(self.norm(x, at + "input_layernorm"), at, places), "post_attention_layernorm")
        read = self.norm(x, at + "pre_feedforward_layernorm")
        gated = gelu_tanh(self.linear(read, at + "mlp.gate_proj")) * self.linear(read, at + "mlp.up_proj")
        return x + behind(self.linear(gated, at + "mlp.down_proj"), "post_feedforward_layernorm")

    def vectors(self, pixels):
        """pixels [3, height, width] from 0 to 1, of whole squares: [vectors, width of the text]."""
        patch, side = self.get("patch_size"), self.get("pooling_kernel_size")
        channels, height, width = pixels.shape
        rows, columns = height // patch, width // patch
        cut = pixels.reshape(channels, rows, patch, columns, patch).transpose(1, 3, 2, 4, 0).reshape(rows * columns, -1)
        cut = 2 * (cut - 0.5) if self.has("pixels from -1 to 1") else cut
        places = numpy.tile(numpy.arange(columns), rows), numpy.repeat(numpy.arange(rows), columns)
        table = self.weight("model.vision_tower.patch_embedder.position_embedding_table")
        x = cut @ self.weight("model.vision_tower.patch_embedder.input_proj.weight").T
        x = x + (table[0][places[0]] if self.has("positions of columns") else 0) + (table[1][places[1]] if self.has("positions of rows") else 0)
        for layer in range(self.config["num_hidden_layers"]):
            x = self.layer(x, layer, places)
        squares = x.reshape(rows // side, side, columns // side, side, -1)
        if not self.has("squares"):  # of patches that follow one another
            squares = x.reshape(rows // side, columns // side, side, side, -1).transpose(0, 2, 1, 3, 4)
        x = squares.mean((1, 3)).reshape(-1, x.shape[-1])
        x = x * (self.config["hidden_size"] ** 0.5 if self.has("factor of the mean") else 1)
        if self.get("standardize") and self.has("standardize"):
            x = (x - self.weight("model.vision_tower.std_bias")) * self.weight("model.vision_tower.std_scale")
        x = self.bare(x) if self.has("norm ahead of the projection") else x
        return x @ self.weight("model.embed_vision.embedding_projection.weight").T


class Squares(common.Base):
    """Images of gemma4_unified, which have no encoder."""

    def normed(self, x, name):
        at = "model.vision_embedder." + name
        return layer_norm(x, self.weight(at + ".weight"), self.weight(at + ".bias"), 1e-5) if self.has(name) else x

    def vectors(self, pixels):
        side = self.config["patch_size"] * self.config["pooling_kernel_size"]
        channels, height, width = pixels.shape
        rows, columns = height // side, width // side
        x = pixels.reshape(channels, rows, side, columns, side).transpose(1, 3, 2, 4, 0).reshape(rows * columns, -1)
        x = self.normed(self.dense(self.normed(x, "patch_ln1"), "model.vision_embedder.patch_dense"), "patch_ln2")
        table = self.weight("model.vision_embedder.pos_embedding")
        places = numpy.tile(numpy.arange(columns), rows), numpy.repeat(numpy.arange(rows), columns)
        for which, rule in enumerate(("positions of columns", "positions of rows")):
            x = x + (table[places[which], which] if self.has(rule) else 0)
        x = self.normed(x, "pos_norm")
        x = rms_norm(x, 1, self.config["rms_norm_eps"]) if self.has("norm ahead of the projection") else x
        return x @ self.weight("model.embed_vision.embedding_projection.weight").T


def squares_shapes(config, text_width):
    width, numbers, at = config["mm_embed_dim"], 3 * (config["patch_size"] * config["pooling_kernel_size"]) ** 2, "model.vision_embedder."
    table = {at + "patch_dense.weight": (width, numbers), at + "patch_dense.bias": (width,), at + "pos_embedding": (config["mm_posemb_size"], 2, width)}
    for name, columns in (("patch_ln1", numbers), ("patch_ln2", width), ("pos_norm", width)):
        common.norm_shapes(table, at + name, columns, bias=True)
    return table | {"model.embed_vision.embedding_projection.weight": (text_width, width)}


def tower_shapes(config, text_width):
    width, inner, size = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    query, keys = config["num_attention_heads"] * size, config["num_key_value_heads"] * size
    at = "model.vision_tower."
    table = {at + "patch_embedder.input_proj.weight": (width, 3 * config["patch_size"] ** 2),
             at + "patch_embedder.position_embedding_table": (2, config["position_embedding_size"], width)}
    sizes = dict(zip(LINEARS, ((query, width), (keys, width), (keys, width), (width, query), (inner, width), (inner, width), (width, inner))))
    for layer in range(config["num_hidden_layers"]):
        own = f"{at}encoder.layers.{layer}."
        for name, shape in sizes.items():
            table[f"{own}{name}.linear.weight"] = shape
            for bound in BOUNDS if config.get("use_clipped_linears") else ():
                table[f"{own}{name}.{bound}"] = ()
        for name in ("self_attn.q_norm", "self_attn.k_norm"):
            table[f"{own}{name}.weight"] = (size,)
        for name in FOUR:
            table[f"{own}{name}.weight"] = (width,)
    if config.get("standardize"):
        table[at + "std_bias"] = table[at + "std_scale"] = (width,)
    table["model.embed_vision.embedding_projection.weight"] = (text_width, width)
    return table


def model_of(config, tensors, without=()):
    return (Squares if config["model_type"] == "gemma4_unified_vision" else Tower)(config, tensors, without)


def draw(config, text_width, seed):
    """Bounds are such that each of them changes some numbers of each matmul; gains of queries make scores of a few."""
    random, isTower = numpy.random.RandomState(seed), config["model_type"] == "gemma4_vision"
    shapes = tower_shapes(config, text_width) if isTower else squares_shapes(config, text_width)
    tensors = common.draw({name: shape for name, shape in shapes.items() if shape}, seed)
    for name in shapes:
        if name.endswith(BOUNDS):
            tensors[name] = numpy.float32((-1 if name.endswith("min") else 1) * random.uniform(0.5, 1.2))
        if name.endswith(("q_norm.weight", "k_norm.weight")):
            tensors[name] = tensors[name] * numpy.float32(0.7)
    return tensors


class Text(gemma4.Gemma4):
    """Logits of a text whose tokens `image`, and those of `audio`, stand for vectors."""

    image, audio, rows = None, None, None

    def stands(self, ids):
        """Which tokens stand for vectors."""
        return numpy.isin(ids, [id for id in (self.image, self.audio) if id is not None])

    def embed(self, ids):
        x = super().embed(ids)
        if self.rows is not None:
            x[self.stands(ids)] = self.rows * (1 if self.has("vectors without a factor") else self.config["hidden_size"] ** 0.5)
        return x

    def inputs_of_layers(self, ids, x):
        if self.has("padding's inputs"):
            ids = numpy.where(self.stands(ids), self.get("pad_token_id", 0), ids)
        return super().inputs_of_layers(ids, x)

    def attend(self, query, key, value, scale, window=None, **options):
        if window is None and self.has("full layers stay causal") or self.config.get("use_bidirectional_attention") != "vision" or not self.has("whole images"):
            return super().attend(query, key, value, scale, window=window, **options)
        return self.attend_to(query, key, value, scale, window)

    def attend_to(self, query, key, value, scale, window):
        length, heads = query.shape[:2]
        distance = numpy.arange(length)[:, None] - numpy.arange(length)[None, :]
        blocks = numpy.cumsum(numpy.diff(self.is_image, prepend=0) > 0) * self.is_image  # 0 of tokens of no image
        visible = (distance >= 0) | (blocks[:, None] == blocks[None, :]) & (blocks > 0)[:, None]
        visible &= distance < (window or length)
        mixed = numpy.empty((length, heads, value.shape[-1]))
        for head in range(heads):
            group = head // (heads // key.shape[1])
            scores = numpy.where(visible, query[:, head] @ key[:, group].T * scale, -numpy.inf)
            powers = numpy.exp(scores - scores.max(-1, keepdims=True))
            mixed[:, head] = powers @ value[:, group] / powers.sum(-1, keepdims=True)
        return mixed.reshape(length, -1)

    def logits_of(self, ids, vectors, image, audio=None):
        self.image, self.audio, self.rows, self.is_image = image, audio, vectors, (numpy.asarray(ids) == image).astype(int)
        return self.logits(ids)


VISION = {"model_type": "gemma4_vision", "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 3, "num_key_value_heads": 3,
          "head_dim": 12, "patch_size": 4, "pooling_kernel_size": 3, "position_embedding_size": 35, "rms_norm_eps": 1e-6}
CLIPPED, STANDARD = {**VISION, "use_clipped_linears": True}, {**VISION, "standardize": True, "pooling_kernel_size": 2, "num_key_value_heads": 1}
PLAIN = {"model_type": "gemma4_unified_vision", "patch_size": 4, "pooling_kernel_size": 3, "mm_embed_dim": 24, "mm_posemb_size": 11, "output_proj_dims": 24,
         "rms_norm_eps": 1e-6}
RULES = ("input_min", "input_max", "output_min", "output_max", "columns first", "rotation", "norms of heads", "norm of values", "scores without a scale",
         "norms behind", "pixels from -1 to 1", "positions of columns", "positions of rows", "squares", "standardize")
# The norm behind them hides a common factor of all numbers, up to its epsilon: of these a model without `standardize` shows nothing.
FACTORS = ("factor of the mean", "norm ahead of the projection")
PLAIN_RULES = ("patch_ln1", "patch_ln2", "pos_norm", "positions of columns", "positions of rows", "norm ahead of the projection")
TEXT_RULES = ("vectors without a factor", "padding's inputs", "whole images", "full layers stay causal")


def self_test():
    faults, checks = [], 0

    def expect(condition, what):
        nonlocal checks
        checks += 1
        if not condition:
            faults.append(what)

    differ = lambda a, b: numpy.linalg.norm(a - b) / numpy.linalg.norm(b) > 1e-3
    random, shown = numpy.random.RandomState(3), set()
    for config in (CLIPPED, STANDARD, PLAIN):
        side = config["patch_size"] * config["pooling_kernel_size"]
        pixels, tensors = random.uniform(0, 1, (3, 2 * side, 3 * side)), draw(config, 20, 5)
        model = model_of(config, tensors)
        vectors = model.vectors(pixels)
        expect(vectors.shape == (6, 20) and numpy.isfinite(vectors).all(), f"vectors {vectors.shape}")
        expect(model.read == set(tensors), f"tensors that nothing reads: {sorted(set(tensors) - model.read)}")
        for rule in PLAIN_RULES if config is PLAIN else ():
            expect(differ(model_of(config, tensors, {rule}).vectors(pixels), vectors), f"no square shows '{rule}'")
        shown |= {rule for rule in (*RULES, *FACTORS) if config is not PLAIN and differ(model_of(config, tensors, {rule}).vectors(pixels), vectors)}
    for rule in (*RULES, *FACTORS):
        expect(rule in shown, f"no image shows '{rule}'")
    for (width, height), size in (((640, 480), (912, 672)), ((480, 640), (672, 912)), ((48, 48), (768, 768)), ((1, 1), (768, 768)), ((1000, 1), (13440, 48)),
                                  ((1, 90), (48, 7584)), ((960, 672), (960, 672))):
        expect(size_of(width, height) == size, f"an image of {width} x {height} becomes {size_of(width, height)}")
    for width, height in random.randint(1, 3000, (200, 2)):
        for most in VECTOR_COUNTS:
            columns, rows = (side // 48 for side in size_of(width, height, most))
            expect(1 <= columns * rows <= most, f"{columns * rows} vectors of {width} x {height} pixels, {most} are allowed")
    family = gemma4.FAMILIES["gemma4_text"]
    config = {**family["SMALL"], "use_bidirectional_attention": "vision", "torch_dtype": "float32", "pad_token_id": 3}
    tensors, image = common.draw(family["shapes"](config), 1), 90
    ids, vectors = [5, *[image] * 4, 6, 7, *[image] * 3, 8], random.standard_normal((7, config["hidden_size"]))
    logits = Text(config, tensors).logits_of(ids, vectors, image)
    for rule in TEXT_RULES:
        expect(differ(Text(config, tensors, {rule}).logits_of(ids, vectors, image), logits), f"no text shows '{rule}'")
    causal = {**config, "use_bidirectional_attention": None}
    expect(numpy.array_equal(Text(causal, tensors).logits_of(ids, vectors, image), Text(config, tensors, {"whole images"}).logits_of(ids, vectors, image)),
           "images are seen whole where the configuration does not say so")
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{checks - len(faults)} passed, {len(faults)} failed")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(self_test())
