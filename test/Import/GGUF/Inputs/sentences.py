"""Makes a small bert with random weights whose texts become vectors, as a directory of sentence-transformers and as a GGUF file.

    sentences.py RAPTC SCRATCH"""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..", "..")
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(SOURCE, "Reference", "numpy")]
import families  # noqa: E402
import gguf_models  # noqa: E402
import gguf_tokenizers  # noqa: E402

raptc, scratch = sys.argv[1:]
with open(os.path.join(SOURCE, "Tokenizer", "vectors", "bert.json"), encoding="utf-8") as file:
    tokenizer = json.load(file)["tokenizer"]
config = {**families.ENCODER, "model_type": "bert", "architectures": ["BertModel"], "vocab_size": len(tokenizer["model"]["vocab"])}
checks = families.Checks(scratch, raptc)
checks.directories({"sentences": (config, {})})
files = {**families.modules("pooling_mode_mean_tokens"), "tokenizer.json": tokenizer}
checks.beside("sentences", files)
keys = {"bert.pooling_type": 1, **gguf_tokenizers.keys_of(tokenizer)}
gguf_models.convert(checks.path("sentences", "dir"), checks.path("sentences.gguf"), keys=keys)
sys.exit(checks.failures != 0)
