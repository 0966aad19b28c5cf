#!/usr/bin/env python3
"""Checks text_decoders.py on random models: each of its quirks switched off changes an output, only tokens that see both sides change with
those behind them, and states of a text ahead would show in all that follow. Prints "N passed, N failed"; exit status 1 if any failed.
"""

import sys
import tempfile

import numpy

import text_decoders
from decoders import states

OTHER = [40, 41, 42]
TEXT = [5, 9, 3, 11, 7, 1, 30, 31, 32, 33, 34, 3, 3]  # ends with the padding 3
AROUND = {"use_bidirectional_attention": True, "architectures": ["Gemma3TextModel"]}
BOTH = {"architectures": ["Lfm2BidirectionalModel"], "tie_word_embeddings": True}
SCORE = "ForSequenceClassification"
MODULES = {"modules": ("mean_tokens", True, ((24, False, "identity"),))}

# name -> (arguments of make, quirks that show)
CASES = {
    "class": (("qwen3", "plain", SCORE, {"pad_token_id": 3}), {}, ("padding", "norms of heads", "window")),
    "class without padding": (("qwen3", "plain", SCORE, {"pad_token_id": None}), {}, ("norms of heads",)),
    "vector": (("gemma3_text", "plain", "", AROUND), MODULES, ("around", "half of the window", "two bases")),
    "vector of qwen3": (("qwen3", "tied", "", {"is_causal": False}), MODULES, ("around",)),
    "class of qwen3_5": (("qwen3_5_text", "plain", SCORE, {"pad_token_id": 3}), {}, ("padding", "delta rule", "gate of attention")),
    "vector of lfm2": (("lfm2", "types", "", {}), MODULES, ("first gate", "last gate")),
    "vector of lfm2_bidirectional": (("lfm2", "plain", "", BOTH), MODULES, ("around", "centered convolution", "first gate")),
    "words of lfm2_bidirectional": (("lfm2", "types", text_decoders.TABLE, BOTH), {}, ("around", "centered convolution", "bias of the convolution")),
    "class of gemma4": (("gemma4_text", "plain", SCORE, {"pad_token_id": 3}), {}, ("padding", "window", "the last source", "inputs of layers", "two bases")),
    "vector of gemma4": (("gemma4_text", "plain", "", {"use_bidirectional_attention": "all"}), MODULES, ("around", "half of the window", "the last source")),
    "class of kimi_linear": (("kimi_linear", "plain", SCORE, {"pad_token_id": 3}), {},
                             ("padding", "delta rule", "norm of the latents", "part of the keys that heads share", "decay of each channel")),
}


def main():
    failed = 0
    for name, (positional, named, quirks) in CASES.items():
        with tempfile.TemporaryDirectory() as directory:
            model = text_decoders.make(directory, *positional, seed=1, **named)
        again = lambda without=(): text_decoders.Model(model.config, model.tensors, model.head, model.part, model.modules, without)
        output = "logits" if model.head else "sentence_embedding"
        right = model.forward(TEXT)[output]
        wrong = [quirk for quirk in quirks if numpy.allclose(again((quirk,)).forward(TEXT)[output], right, rtol=1e-3)]
        other = [*TEXT[:-3], 40, *TEXT[-2:]]
        sees_behind = not numpy.allclose(model.decoder.states(other)[:4], model.decoder.states(TEXT)[:4], rtol=1e-9)
        if sees_behind != model.decoder.around:
            wrong.append("what tokens see")
        if isinstance(model.decoder, states.Stateful) and not model.decoder.around:
            behind = model.decoder.in_pieces([OTHER, TEXT])[len(OTHER) :]
            if any(numpy.allclose(behind[at], row, rtol=1e-3) for at, row in enumerate(model.decoder.logits(TEXT))):
                wrong.append("a token that no state of another text changes")
        failed += bool(wrong)
        print(f"FAIL {name}: {', '.join(wrong)}" if wrong else f"PASS {name}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
