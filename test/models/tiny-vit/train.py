#!/usr/bin/python3
"""Trains tiny-vit and writes this directory's Hugging Face files. Needs Debian's python3-torch, python3-numpy, python3-pil.

    OMP_NUM_THREADS=1 train.py [--steps N]    draws the pictures (shapes.py), trains, measures, writes all files
    OMP_NUM_THREADS=1 train.py --evaluate     only measures model.safetensors and writes expected.json and golden/

expected.json has what PyTorch computes on the held-out pictures: the class of each, how many are right, and how many a
linear classifier on the same pixels gets right, trained on the same pictures. One seed fixes everything; with one thread
the run is repeatable on one machine and one version of PyTorch. Held-out pictures are only measured.
"""

import argparse
import json
import math
import os
import sys
import time

import numpy
import PIL.Image
import torch
import torch.nn.functional as F

import shapes

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Reference", "numpy"))
import tensorfiles  # noqa: E402

SEED = 2021
IMAGE, PATCH, WIDTH, LAYERS, HEADS, INNER, EPSILON = 32, 8, 64, 4, 4, 128, 1e-6
PICTURES, HELD_OUT, BATCH, RATE, WARMUP, DECAY = 12288, 2000, 96, 2e-3, 150, 0.05
GOLDEN = 12

CONFIG = {
    "architectures": ["ViTForImageClassification"], "attention_probs_dropout_prob": 0.0, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.0, "hidden_size": WIDTH, "id2label": {str(i): name for i, name in enumerate(shapes.CLASSES)},
    "image_size": IMAGE, "initializer_range": 0.02, "intermediate_size": INNER,
    "label2id": {name: i for i, name in enumerate(shapes.CLASSES)}, "layer_norm_eps": EPSILON, "model_type": "vit",
    "num_attention_heads": HEADS, "num_channels": 3, "num_hidden_layers": LAYERS, "patch_size": PATCH, "qkv_bias": True,
    "torch_dtype": "float16",
}
PREPROCESSOR = {
    "do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": [0.5, 0.5, 0.5],
    "image_processor_type": "ViTImageProcessor", "image_std": [0.5, 0.5, 0.5], "resample": 2, "rescale_factor": 1 / 255,
    "size": {"height": IMAGE, "width": IMAGE},
}


def dense(out, count):
    layer = torch.nn.Linear(count, out)
    torch.nn.init.trunc_normal_(layer.weight, std=1 / math.sqrt(count))
    torch.nn.init.zeros_(layer.bias)
    return layer


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = torch.nn.LayerNorm(WIDTH, EPSILON), torch.nn.LayerNorm(WIDTH, EPSILON)
        self.query, self.key, self.value, self.mix = (dense(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = dense(INNER, WIDTH), dense(WIDTH, INNER)

    def forward(self, x):
        y = self.before(x)
        cut = lambda part: part(y).unflatten(2, (HEADS, -1)).transpose(1, 2)
        q, k, v = cut(self.query), cut(self.key), cut(self.value)
        weights = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(WIDTH // HEADS), 3)
        x = x + self.mix((weights @ v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.after(x))))


NAMES = {"before": "layernorm_before", "after": "layernorm_after", "query": "attention.attention.query",
         "key": "attention.attention.key", "value": "attention.attention.value", "mix": "attention.output.dense",
         "up": "intermediate.dense", "down": "output.dense"}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cut = torch.nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.token = torch.nn.Parameter(torch.randn(1, 1, WIDTH) * 0.02)
        self.positions = torch.nn.Parameter(torch.randn(1, (IMAGE // PATCH) ** 2 + 1, WIDTH) * 0.02)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = torch.nn.LayerNorm(WIDTH, EPSILON), dense(len(shapes.CLASSES), WIDTH)

    def forward(self, pixels):
        x = self.cut(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x[:, 0]))

    def parts(self):
        """(Hugging Face's name, parameter)"""
        yield "vit.embeddings.cls_token", self.token
        yield "vit.embeddings.position_embeddings", self.positions
        for kind in ("weight", "bias"):
            yield f"vit.embeddings.patch_embeddings.projection.{kind}", getattr(self.cut, kind)
        for number, block in enumerate(self.blocks):
            for part, name in NAMES.items():
                for kind in ("weight", "bias"):
                    yield f"vit.encoder.layer.{number}.{name}.{kind}", getattr(getattr(block, part), kind)
        for name, part in (("vit.layernorm", self.norm), ("classifier", self.head)):
            for kind in ("weight", "bias"):
                yield f"{name}.{kind}", getattr(part, kind)


def pixel_values(picture):
    """The pixel values that the processor of preprocessor_config.json makes of a picture."""
    resized = PIL.Image.fromarray(picture).resize((IMAGE, IMAGE), PIL.Image.BILINEAR)
    scaled = (numpy.asarray(resized).astype(numpy.float64) * (1 / 255)).astype(numpy.float32)
    return ((scaled - numpy.float32(0.5)) / numpy.float32(0.5)).transpose(2, 0, 1)


def pictures(seed, count):
    drawn = [shapes.draw(seed, number) for number in range(count)]
    values = torch.tensor(numpy.stack([pixel_values(picture) for picture, _ in drawn]))
    return values, torch.tensor([kind for _, kind in drawn])


def varied(pixels):
    """Mirrored, turned, with other colors: what leaves a shape what it is."""
    pixels = pixels[:, torch.randperm(3)]
    for flips, dims in ((torch.rand(len(pixels)) < 0.5, [2]), (torch.rand(len(pixels)) < 0.5, [1])):
        pixels = torch.where(flips[:, None, None, None], pixels.flip([d + 1 for d in dims]), pixels)
    return torch.where((torch.rand(len(pixels)) < 0.5)[:, None, None, None], pixels.transpose(2, 3), pixels)


def fit(model, values, kinds, steps, rate, vary):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=DECAY, betas=(0.9, 0.98))
    begin, total = time.time(), 0.0
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min((step + 1) / WARMUP, 0.5 + 0.5 * math.cos(math.pi * step / steps))
        chosen = torch.randint(len(values), (BATCH,))
        pixels = vary(values[chosen])
        loss = F.cross_entropy(model(pixels), kinds[chosen])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        if (step + 1) % 250 == 0:
            print(f"step {step + 1}: loss {total / 250:.4f}, {time.time() - begin:.0f} s", flush=True)
            total = 0.0


def load():
    """The model of model.safetensors, whose numbers are rounded to f16."""
    model, stored = Model(), tensorfiles.read(os.path.join(HERE, "model.safetensors"))
    for name, part in model.parts():
        part.data = torch.tensor(stored[name].astype(numpy.float32))
    return model


def predict(model, values):
    with torch.no_grad():
        return torch.cat([torch.softmax(model(part), 1) for part in values.split(250)])


def write(name, content):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1 if name == "expected.json" else 2, sort_keys=True)
        file.write("\n")


def evaluate(model, linear):
    values, kinds = pictures(shapes.HELD_OUT, HELD_OUT)
    ours = predict(model, values)
    share = lambda chances: float((chances.argmax(1) == kinds).double().mean())
    best = ours.topk(2, 1).values
    expected = {
        "pictures": HELD_OUT, "right": share(ours), "linear_right": share(predict(linear, values)) if linear else None,
        "smallest_lead": float((best[:, 0] - best[:, 1]).min()),
        "predictions": "".join(str(int(kind)) for kind in ours.argmax(1)), "golden": [],
    }
    os.makedirs(os.path.join(HERE, "golden"), exist_ok=True)
    for number in range(GOLDEN):
        picture, _ = shapes.draw(shapes.HELD_OUT, number)
        PIL.Image.fromarray(picture).save(os.path.join(HERE, "golden", f"{number}.png"), optimize=True)
        expected["golden"].append({"file": f"golden/{number}.png", "label": shapes.CLASSES[int(ours[number].argmax())],
                                   "probabilities": [round(float(chance), 6) for chance in ours[number]]})
    if linear is None:
        with open(os.path.join(HERE, "expected.json"), encoding="utf-8") as file:
            expected["linear_right"] = json.load(file)["linear_right"]
    write("expected.json", expected)
    print(f"right: {expected['right']:.2%}, a linear classifier {expected['linear_right']:.2%}; "
          f"smallest lead of a prediction {expected['smallest_lead']:.5f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--evaluate", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    model, linear = Model(), None
    if not options.evaluate:
        values, kinds = pictures(shapes.TRAINING, PICTURES)
        print(f"{PICTURES} pictures, {sum(part.numel() for part in model.parameters())} parameters", flush=True)
        linear = torch.nn.Sequential(torch.nn.Flatten(), dense(len(shapes.CLASSES), 3 * IMAGE * IMAGE))
        fit(linear, values, kinds, 3000, 1e-3, lambda pixels: pixels)
        fit(model, values, kinds, options.steps, RATE, varied)
        tensors = {name: part.detach().numpy() for name, part in model.parts()}
        tensorfiles.write(os.path.join(HERE, "model.safetensors"), tensors, "F16")
        write("config.json", CONFIG)
        write("preprocessor_config.json", PREPROCESSOR)
    evaluate(load(), linear)


if __name__ == "__main__":
    main()
