#!/usr/bin/env python3
"""Writes a random directory of gemma4, or of gemma4_unified, as published ones are: the text part of decoders/gemma4.py, weights of keys that nothing reads,
the images' part of gemma4_images.py, and the sounds' part of gemma4_sounds.py, or tensors of it that nothing reads.

    gemma4_whole.py DIR [--unified | --whole-images] [--sounds]
"""

import argparse

import numpy

import gemma4_images
import gemma4_sounds
import tensorfiles
from decoders import common, gemma4

NO_INPUTS = ("hidden_size_per_layer_input", "vocab_size_per_layer_input")
SOUND = ("audio_tower.layers.0.norm.weight", "embed_audio.embedding_projection.weight")


def whole(is_unified=False, vision=None, sound=None, **changes):
    """The configuration, that of the text part, and the tensors. `changes` are of the text's."""
    family = gemma4.FAMILIES["gemma4_text"]
    text = {key: value for key, value in {**family["SMALL"], **changes}.items() if not (is_unified and key in NO_INPUTS)}
    shapes = family["shapes"]({**text, "hidden_size_per_layer_input": 0} if is_unified else text)
    for layer in range(gemma4.own_layers(text), text["num_hidden_layers"]):
        groups, size = gemma4.head_sizes(text, layer)
        at = f"model.layers.{layer}.self_attn."
        shapes |= {at + "k_proj.weight": (groups * size, text["hidden_size"]), at + "v_proj.weight": (groups * size, text["hidden_size"]), at + "k_norm.weight": (size,)}
    kind = "gemma4_unified" if is_unified else "gemma4"
    vision = vision or (gemma4_images.PLAIN if is_unified else gemma4_images.CLIPPED)
    text |= {"model_type": kind + "_text", "eos_token_id": 96, "torch_dtype": "float32"}
    config = {"model_type": kind, "architectures": [("Gemma4Unified" if is_unified else "Gemma4") + "ForConditionalGeneration"], "text_config": text,
              "vision_config": vision, "audio_config": sound, "image_token_id": 90, "audio_token_id": 91, "boi_token_id": 92, "eoi_token_id": 94,
              "boa_token_id": 89, "eoa_token_index": 93, "eos_token_id": [95, 96], "torch_dtype": "float32"}
    tensors = {name.replace("model.", "model.language_model.", 1): values for name, values in common.draw(shapes, 1).items()}
    tensors |= gemma4_sounds.draw(sound, text["hidden_size"], 3) if sound else {"model." + name: numpy.ones((2, 2), numpy.float32) for name in SOUND}
    tensors |= gemma4_images.draw(vision, text["hidden_size"], 2)
    return config, text, tensors


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("directory")
    parser.add_argument("--unified", action="store_true")
    parser.add_argument("--whole-images", action="store_true", help="tokens of an image see one another")
    parser.add_argument("--sounds", action="store_true", help="sounds are read as well")
    options = parser.parse_args()
    sound = (gemma4_sounds.PLAIN if options.unified else gemma4_sounds.CHUNKED) if options.sounds else None
    config, _, tensors = whole(options.unified, sound=sound, **({"use_bidirectional_attention": "vision"} if options.whole_images else {}))
    tensorfiles.writeModel(options.directory, config, tensors, "F32")


if __name__ == "__main__":
    main()
