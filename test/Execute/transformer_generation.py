#!/usr/bin/env python3
"""Checks generation behind the encoder, on a random model of the transformer family: see encoder_decoder_generation.py.

    transformer_generation.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --runtime build/lib/librapt_runtime.so
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import passed  # noqa: E402
import transformer  # noqa: E402
from encoder_decoder_generation import runProgram  # noqa: E402

CONFIG = {"d_model": 60, "nhead": 5, "dim_feedforward": 71, "num_encoder_layers": 1, "n_positions": 200, "generator_bias": True}


def build(directory):
    transformer.make(directory, CONFIG, 5)
    return transformer.load(directory)


if __name__ == "__main__":
    runProgram(__doc__, build)
    passed.note("compiled", "family transformer decode")
