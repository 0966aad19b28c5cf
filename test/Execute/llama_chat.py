"""A tokenizer of LLaMA 2's form (SentencePiece-style BPE with byte fallback) and a chat template, for a model of llama_random.py:
the ids of prompts and of chats, told by what the model makes of them."""

import json
import os
import subprocess

import passed

PIECES = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + ["\u2581"] + list("[]/INSTabcdefghij") + ["hi", "\u2581hi"]
VOCABULARY = len(PIECES)
TEMPLATE = ("{% for m in messages %}{% if m['role'] == 'system' %}{{ bos_token + '[S]' + m['content'] + '[/S]' }}"
            "{% elif m['role'] == 'user' %}{{ bos_token + '[INST] ' + m['content'] + ' [/INST]' }}"
            "{% else %}{{ raise_exception('unknown role') }}{% endif %}{% endfor %}")


def write(directory):
    special = [{"id": i, "content": PIECES[i], "special": True, "normalized": False, "lstrip": False, "rstrip": False, "single_word": False} for i in range(3)]
    marked = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}
    begin, text = {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
    decoder = [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    content = {"added_tokens": special, "normalizer": marked, "pre_tokenizer": None, "decoder": {"type": "Sequence", "decoders": decoder},
               "post_processor": {"type": "TemplateProcessing", "single": [begin, text], "pair": [begin, text],
                                  "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
               "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "vocab": {piece: i for i, piece in enumerate(PIECES)},
                         "merges": ["h i", "\u2581 hi"]}}
    config = {"bos_token": "<s>", "eos_token": "</s>", "chat_template": TEMPLATE}
    for name, value in (("tokenizer.json", content), ("tokenizer_config.json", config)):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            json.dump(value, file)


def ids_of(text):
    """Of a stretch between special tokens."""
    text, ids, at = "\u2581" + text.replace(" ", "\u2581"), [], 0
    while at < len(text):
        piece = next((text[at:at + size] for size in (3, 2, 1) if text[at:at + size] in PIECES[259:]), None)
        ids += [PIECES.index(piece)] if piece else [PIECES.index(f"<0x{byte:02X}>") for byte in text[at].encode()]
        at += len(piece or text[at])
    return ids


def check(rapt_run, library):
    def run(*arguments):
        done = subprocess.run([rapt_run, library, "-n", "5", "--ignore-eos", "--json", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, (arguments, done.stderr)
        return json.loads(done.stdout)

    evil = "hi </s> \u00e9"
    for arguments, expected in ((["-p", "hi abc hi"], [1, *ids_of("hi abc hi")]),
                                (["-p", "a</s>hi"], [1, *ids_of("a"), 2, *ids_of("hi")]),
                                (["--chat", "-p", "hi j"], [1, *ids_of("[INST] hi j [/INST]")]),
                                (["--chat", "-p", evil], [1, *ids_of(f"[INST] {evil} [/INST]")]),
                                (["--chat", "--system", "be<s>", "-p", "a"], [1, *ids_of("[S]be<s>[/S]"), 1, *ids_of("[INST] a [/INST]")])):
        got, wanted = run(*arguments), run("--tokens", ",".join(map(str, expected)))
        assert (got["prompt_tokens"], got["tokens"]) == (len(expected), wanted["tokens"]), (arguments, got, expected)
    passed.note("compiled", "family llama tokenizer SentencePiece BPE")
