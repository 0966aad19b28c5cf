"""Writes model directories: what the training scripts of the small models share."""

import json
import os
import re
import struct

import torch


def save(value, directory, name):
    text = json.dumps(value, indent=1, ensure_ascii=False)
    text = re.sub(r"\[[-+.,e\d\s]+\]", lambda match: " ".join(match[0].split()), text)  # numbers of a list on one line
    with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
        file.write(text + "\n")


def saveModel(module, config, directory, halves=True):
    """config.json and model.safetensors, in f16 or f32. Parameters of `module` become the stored ones, so that what it computes afterwards
    is of the same numbers."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, value in module.state_dict().items():
        value.copy_(value.half() if halves else value)
        bytes_ = value.numpy().astype("<f2" if halves else "<f4").tobytes()
        header[name] = {"dtype": "F16" if halves else "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(bytes_)]}
        data += bytes_
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(directory, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    save({**config, "torch_dtype": "float16" if halves else "float32"}, directory, "config.json")


def saveWords(words, directory):
    """A tokenizer of whole words; the id of a word is its index."""
    ids = {word: i for i, word in enumerate(words)}
    saveTokenizer({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": ids},
                  directory, "[UNK]", pre_tokenizer={"type": "Whitespace"}, normalizer={"type": "Lowercase"},
                  decoder={"type": "WordPiece", "prefix": "##", "cleanup": False})


def saveCharacters(characters, directory):
    """A tokenizer of characters; the first one stands for all others."""
    ids = {character: i for i, character in enumerate(characters)}
    saveTokenizer({"type": "BPE", "dropout": None, "unk_token": characters[0], "continuing_subword_prefix": None, "end_of_word_suffix": None,
                   "fuse_unk": False, "byte_fallback": False, "vocab": ids, "merges": []}, directory, characters[0], decoder={"type": "Fuse"})


def saveTokenizer(model, directory, unknown, **parts):
    special = [{"id": 0, "content": unknown, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}]
    save({"version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None, "pre_tokenizer": None,
          "post_processor": None, "decoder": None, **parts, "model": model}, directory, "tokenizer.json")
    save({"unk_token": unknown, "clean_up_tokenization_spaces": False, "tokenizer_class": "PreTrainedTokenizerFast"}, directory,
         "tokenizer_config.json")


def padded(texts, numbers):
    """Numbers of the words of texts, [texts, longest], and how many words each text has."""
    longest = max(map(len, texts))
    ids = [[numbers[word] for word in words] + [0] * (longest - len(words)) for words in texts]
    return torch.tensor(ids), torch.tensor([len(words) for words in texts])


def saveHeld(examples, numbers, model, labels, directory):
    """heldout.tsv, which has of each text the label, and the label and the probability that the model gives it; expected.json counts how many agree."""
    texts, wanted = zip(*examples)
    scores = model(*padded(texts, numbers)).softmax(1)
    found = scores.argmax(1).tolist()
    right = sum(i == j for i, j in zip(found, wanted))
    with open(os.path.join(directory, "heldout.tsv"), "w", encoding="utf-8") as file:
        for words, number, best, row in zip(texts, wanted, found, scores.tolist()):
            file.write(f"{' '.join(words)}\t{labels[number]}\t{labels[best]}\t{row[best]:.6f}\n")
    save({"texts": len(texts), "right": right}, directory, "expected.json")
    print(f"{right} of {len(texts)} right")
