#!/usr/bin/env python3
"""Adapters that images choose (raptc --named-adapter), each image of a batch its own or none. Models with a reference in test/Reference/numpy are compared with its
outputs of weights into which the adapter is merged in float64; recorded ones (clip, siglip, beit, dinov2, llava) with the library that `raptc --adapter` makes."""

import argparse
import os
import subprocess
import tempfile

import numpy

import chosen_adapters  # finds the folders of the next ones
import image_text
import recorded_models
import convnext
import dinov3_vit
import random_models
import stages
import swin
import tensorfiles
import vit

random = numpy.random.default_rng(29)
BOTH = ("one", "two")
# Numbers of adapters of a batch's images: mixed, none, one alone, and more images than run at a time.
CHOSEN = ([2, 0, 1, 2], [0, 0, 0, 0], [1, 1, 1, 1], [0, 2], [2, 1], [2, 1, 0, 0, 1, 2, 2, 0, 1, 2, 0])


def draw_pixels(count, height, width):
    return random.standard_normal((count, 3, height, width)).astype(numpy.float32)


class Case:
    """A model with two adapters. `modules`: {module with {} for the layer: (rank of the first adapter, of the second)}, 0 for none."""

    def __init__(self, options, directory, label, source, modules, flags=()):
        self.options, self.directory, self.label, self.source, self.flags = options, directory, label, source, list(flags)
        self.tensors = tensorfiles.readDirectory(source)
        own = [{module: ranks[number] for module, ranks in self.layered(modules).items() if ranks[number]} for number in (0, 1)]
        self.adapters = [chosen_adapters.Adapter(self.at(name), name, self.tensors, ranks) for name, ranks in zip(BOTH, own)]
        self.library = self.compile(self.at("named.so"), [adapter.flag for adapter in self.adapters])
        self.checks = chosen_adapters.Checks(label, random_models.TOLERANCE["F32"])

    def at(self, name):
        return os.path.join(self.directory, f"{self.label}-{name}")

    def layered(self, modules):
        """Each module of the layers that the checkpoint has."""
        all = {module.format(layer): ranks for module, ranks in modules.items() for layer in range(8)}
        found = {module: ranks for module, ranks in all.items() if module + ".weight" in self.tensors}
        missing = [module for module in modules if not any(module.format(layer) in found for layer in range(8))]
        assert not missing, missing
        return found

    def compile(self, library, adapters):
        random_models.run([self.options.raptc, self.source, *self.flags, *adapters, "-o", library])
        return library

    def merged(self):
        """Libraries of no adapter and of each one merged."""
        return [self.compile(self.at(f"merged-{number}.so"), [f"--adapter={self.at(name)}"] if name else []) for number, name in enumerate((None, *BOTH))]

    def run(self, library, inputs, names, *flags, fails=None):
        command = [self.options.rapt_run, library, *flags]
        for name, array in inputs.items():
            numpy.save(self.at(name + ".npy"), array)
            command += ["--input", f"{name}={self.at(name)}.npy"]
        for name in names:
            command += ["--output", f"{name}={self.at(name)}.out"]
        done = subprocess.run(command, capture_output=True, text=True)
        if fails:
            assert done.returncode == 1 and fails in done.stderr and len(done.stderr.splitlines()) == 1, f"expected {fails!r}, found: {done.stderr}"
            return {}
        assert done.returncode == 0, done.stderr
        return {name: numpy.load(self.at(name + ".out")) for name in names}

    def compare(self, inputs, wanted, *flags):
        """`inputs`: of four rows or more. `wanted`: of no adapter and of each one {output: [rows, ...]}."""
        names = list(wanted[0])
        first = {name: array[:1] for name, array in wanted[0].items()}
        for number in (1, 2):
            assert any(numpy.linalg.norm(wanted[number][name][:1] - first[name]) > 1e-2 * numpy.linalg.norm(first[name]) for name in names), f"adapter {number} has no effect"

        def check(what, chosen, found):
            for name in names:
                for row, number in enumerate(chosen):
                    self.checks.near(f"{what}: {name} of row {row}, adapter {number}", found[name][row], wanted[number][name][row])

        for chosen in CHOSEN:
            if len(chosen) > len(next(iter(inputs.values()))):
                continue
            rows = {name: array[:len(chosen)] for name, array in inputs.items()}
            check(f"adapters {chosen}", chosen, self.run(self.library, rows | {"adapter": numpy.array(chosen)}, names, *flags))
        for number, name in enumerate((None, *BOTH)):
            found = self.run(self.library, inputs, names, *flags, *([f"--adapter={name}"] if name else []))
            check(f"--adapter {name}", [number] * len(next(iter(inputs.values()))), found)

    def compare_with_merged(self, inputs, names, *flags):
        self.compare(inputs, [self.run(library, inputs, names, *flags) for library in self.merged()], *flags)

    def done(self):
        print(f"PASS {self.label}: relative L2 {self.checks.worst:.1e}", flush=True)


def with_reference(case, load, sizes, count=4):
    """`load` gives a model of tensors in float64, whose forward reads an image."""
    models = [load(case.tensors), *(load(adapter.merged(case.tensors)) for adapter in case.adapters)]
    for height, width in sizes:
        pixels = draw_pixels(count, height, width)
        each = [[model.forward(image.astype(numpy.float64)) for image in pixels] for model in models]
        case.compare({"pixel_values": pixels}, [{name: numpy.stack([one[name] for one in of]) for name in of[0]} for of in each])
    case.done()


def check_vit(options, directory, label="vit", flags=()):
    source = os.path.join(directory, label + "-model")
    config = {"architectures": ["ViTForImageClassification"], "num_labels": 5}
    vit.make(source, config, 5)
    layer = "vit.encoder.layer.{}."
    case = Case(options, directory, label, source,
                {layer + "attention.attention.query": (3, 0), layer + "attention.attention.value": (1, 7), layer + "attention.output.dense": (0, 2), layer + "intermediate.dense": (5, 0),
                 layer + "output.dense": (0, 4)}, flags)
    settings = vit.load(source).settings
    with_reference(case, lambda tensors: vit.Model(settings, tensors), [(32, 32), (40, 24)], 11 if not flags else 4)
    if not flags:
        pixels = {"pixel_values": draw_pixels(2, 32, 32)}
        case.run(case.library, pixels | {"adapter": numpy.array([0, 3])}, ["logits"], fails="is 3; 0 to 2 is accepted")
        case.run(case.library, pixels | {"adapter": numpy.array([-1, 0])}, ["logits"], fails="is -1; 0 to 2 is accepted")
        case.run(case.library, pixels | {"adapter": numpy.array([0, 1, 2])}, ["logits"], fails="adapter has a batch of 3, an earlier tensor one of 2")
        case.run(case.library, pixels, ["logits"], "--adapter=none", fails="has no adapter none; it has one, two")
        check_evaluator(case, settings)


def check_evaluator(case, settings):
    """The imported program on the evaluator, with the weights that it names."""
    text, everything = case.at("imported.mlir"), case.at("everything")
    random_models.run([case.options.raptc, case.source, case.adapters[0].flag, "--emit=imported", "-o", text])
    rows, adapter = dict(case.tensors), case.adapters[0]
    read = tensorfiles.read(os.path.join(case.at("one"), "adapter_model.safetensors"))
    for name in adapter.changes:
        module = name.removesuffix(".weight")
        a, b = (read[f"base_model.model.{module}.lora_{part}.weight"] for part in "AB")
        b = (4 / a.shape[0] * b).astype(numpy.float32)
        rows |= {f"{module}.lora_A": 0 * a, f"{module}.lora_B": 0 * b, f"{module}.lora_A.one": a, f"{module}.lora_B.one": b}
    tensorfiles.writeModel(everything, settings, rows, "F32", 1)
    pixels = draw_pixels(3, 32, 32)
    numpy.save(case.at("pixels.npy"), pixels)
    numpy.save(case.at("adapter.npy"), numpy.array([1, 0, 1]))
    command = [case.options.rapt_reference, text, f"--weights={everything}", "--input", f"pixel_values={case.at('pixels.npy')}", "--input", f"adapter={case.at('adapter.npy')}",
               "--output", f"logits={case.at('logits.npy')}"]
    random_models.run(command)
    plain, merged = vit.Model(settings, case.tensors), vit.Model(settings, adapter.merged(case.tensors))
    for row, model in enumerate((merged, plain, merged)):
        case.checks.near(f"evaluator, image {row}", numpy.load(case.at("logits.npy"))[row], model.forward(pixels[row].astype(numpy.float64))["logits"])
    random_models.run(command[:-4] + command[-2:])
    for row in range(3):
        case.checks.near(f"evaluator without adapters, image {row}", numpy.load(case.at("logits.npy"))[row], plain.forward(pixels[row].astype(numpy.float64))["logits"])
    numpy.save(case.at("adapter.npy"), numpy.array([1, 2, 1]))
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "is 2; 0 to 1 is accepted" in done.stderr, done.stderr
    print("PASS evaluator of vit")


def of_stages(options, directory, label, family, changes, modules, sizes):
    source, config = os.path.join(directory, label + "-model"), {**family.SMALL, **changes}
    stages.make(source, config, family.shapes(config), stages.prefix(config), 5)
    case = Case(options, directory, label, source, modules)
    with_reference(case, lambda tensors: family.Model(config, tensors), sizes)


def check_dinov3(options, directory):
    layer = "dinov3_vit.layer.{}."
    of_stages(options, directory, "dinov3", dinov3_vit, {"num_register_tokens": 4},
              {layer + "attention.q_proj": (3, 2), layer + "attention.k_proj": (1, 0), layer + "mlp.up_proj": (0, 5), layer + "mlp.down_proj": (2, 0)}, [(32, 48)])


def check_convnext(options, directory):
    """Pixels of a stage are as many as the stage has."""
    of = lambda stage: f"convnext.encoder.stages.{stage}.layers.{{}}."
    of_stages(options, directory, "convnext", convnext, {"architectures": ["ConvNextForImageClassification"], "num_labels": 7},
              {of(0) + "pwconv1": (3, 2), of(1) + "pwconv2": (1, 4)}, [(24, 40)])


def check_swin(options, directory):
    """Windows, and shifted ones, change the order of an image's patches, but not that of images."""
    of = lambda stage: f"swin.encoder.layers.{stage}.blocks.{{}}."
    config = swin.SMALL
    of_stages(options, directory, "swin", swin, {}, {of(0) + "attention.self.query": (3, 2), of(0) + "attention.self.value": (2, 0), of(1) + "intermediate.dense": (0, 6), of(1) + "output.dense": (1, 1)},
              [tuple(stages.pair(config["image_size"]))])


def recorded(options, directory, name, modules, flags=()):
    source = os.path.join(directory, name + "-model")
    model = recorded_models.read(name)
    recorded_models.write(model, source)
    return Case(options, directory, name, source, modules, flags), model["config"]


def check_beit(options, directory):
    case, config = recorded(options, directory, "beit", {"beit.encoder.layer.{}.attention.attention.query": (3, 1), "beit.encoder.layer.{}.output.dense": (0, 2)})
    case.compare_with_merged({"pixel_values": draw_pixels(4, config["image_size"], config["image_size"])}, ["logits"])
    case.done()


def check_dinov2(options, directory):
    """Gate and up are rows of one tensor."""
    case, config = recorded(options, directory, "dinov2-swiglu", {"encoder.layer.{}.mlp.weights_in": (3, 1), "encoder.layer.{}.attention.attention.value": (0, 2)})
    case.compare_with_merged({"pixel_values": draw_pixels(4, config["image_size"], config["image_size"])}, ["last_hidden_state", "pooler_output"])
    case.done()


def check_towers(options, directory, name, flags=()):
    """An adapter may change the tower of texts, that of images, or both."""
    case, config = recorded(options, directory, name, {"text_model.encoder.layers.{}.self_attn.q_proj": (3, 1), "text_model.encoder.layers.{}.mlp.fc1": (2, 0),
                                                       "vision_model.encoder.layers.{}.self_attn.v_proj": (4, 2), "vision_model.encoder.layers.{}.mlp.fc2": (0, 1)}, flags)
    side, text = config["vision_config"]["image_size"], config["text_config"]
    ids = random.integers(3, 50, (4, text["max_position_embeddings"]))
    case.compare_with_merged({"pixel_values": draw_pixels(4, side, side)}, ["image_embeds"], "--entry=encode_image")
    case.compare_with_merged({"input_ids": ids}, ["text_embeds"], "--entry=encode_text")
    case.done()


def check_llava(options, directory, label="llava", flags=()):
    """Adapters of the decoder and of the tower of images, in the entries and in texts about an image."""
    source = os.path.join(directory, label + "-model")
    image_text.write_model(source)
    decoder, tower = "language_model.model.layers.{}.", "vision_tower.encoder.layers.{}."
    case = Case(options, directory, label, source, {decoder + "self_attn.q_proj": (3, 1), decoder + "mlp.down_proj": (0, 4), tower + "self_attn.v_proj": (2, 5), tower + "mlp.fc1": (3, 0)}, flags)
    pixels = {"pixel_values": draw_pixels(4, image_text.SIDE, image_text.SIDE)}
    libraries = case.merged()
    vectors = [case.run(library, pixels, ["image_embeddings"], "--entry=encode_image") for library in libraries]
    case.compare(pixels, vectors, "--entry=encode_image")
    ids = [1, 5, *[image_text.IMAGE] * image_text.VECTORS, 7, 9]
    texts = [{"input_ids": numpy.array([ids] * 4), "image_embeddings": of["image_embeddings"]} for of in vectors]
    logits = [case.run(library, text, ["logits"])["logits"] for library, text in zip(libraries, texts)]
    for number, name in enumerate((None, *BOTH)):
        found = case.run(case.library, texts[number], ["logits"], *([f"--adapter={name}"] if name else []))["logits"]
        case.checks.near(f"logits of adapter {name}", found, logits[number])
    picture = case.at("picture.png")
    image_text.write_image(picture, random.integers(0, 256, (image_text.SIDE, image_text.SIDE, 3), numpy.uint8))
    tell = lambda library, *flags: random_models.run([options.rapt_run, library, "--image", picture, "-p", "w1 <image> w7", "-n", "12", "--temperature", "0", *flags])
    told = [tell(library) for library in libraries]
    assert len(set(told)) == 3, told
    for name, wanted in zip((None, *BOTH), told):
        found = tell(case.library, *([f"--adapter={name}"] if name else []))
        assert found == wanted, f"adapter {name}: {found!r}, expected {wanted!r}"
    case.done()


def check_faults(options, directory):
    """A matrix that joins stages is no linear map of a layer."""
    source = os.path.join(directory, "faulty")
    stages.make(source, swin.SMALL, swin.shapes(swin.SMALL), stages.prefix(swin.SMALL), 5)
    tensors = tensorfiles.readDirectory(source)
    module = next(name for name in tensors if name.endswith("downsample.reduction.weight")).removesuffix(".weight")
    chosen_adapters.write_adapter(os.path.join(directory, "joins"), {}, {module: chosen_adapters.pair(*tensors[module + ".weight"].shape, 2)})
    chosen_adapters.refused(options, source, [f"--named-adapter=a={os.path.join(directory, 'joins')}"],
                            f'changes "{module}.weight", which is no linear map of a layer by itself; merge the adapter instead: --adapter')
    print("PASS faulty adapters")


CASES = {
    "vit": check_vit,
    "dinov3": check_dinov3,
    "convnext": check_convnext,
    "swin": check_swin,
    "beit": check_beit,
    "dinov2": check_dinov2,
    "clip": lambda options, directory: check_towers(options, directory, "clip"),
    "siglip": lambda options, directory: check_towers(options, directory, "siglip"),
    "llava": check_llava,
    "faults": check_faults,
    "vit-generic": lambda options, directory: check_vit(options, directory, "vit-generic", ["--target=generic"]),
    "vit-cuda": lambda options, directory: check_vit(options, directory, "vit-cuda", ["--target=cuda"]),
    "clip-cuda": lambda options, directory: check_towers(options, directory, "clip", ["--target=cuda"]),
    "llava-cuda": lambda options, directory: check_llava(options, directory, "llava-cuda", ["--target=cuda"]),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--raptc", "--rapt-run", "--rapt-reference"):
        parser.add_argument(option, required=True)
    parser.add_argument("--only", nargs="*", help="these cases (all but those of cuda)")
    options = parser.parse_args()
    for name, run in CASES.items():
        if name in options.only if options.only else not name.endswith("-cuda"):
            with tempfile.TemporaryDirectory() as directory:
                run(options, directory)


if __name__ == "__main__":
    main()
