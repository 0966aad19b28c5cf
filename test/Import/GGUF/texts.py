#!/usr/bin/env python3
"""Texts, chats and what ends them by a model of a GGUF file against the directory that it is made from.

texts.py SCRATCH BIN"""

import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Reference", "numpy"))
import gguf_models  # noqa: E402
import gguf_tokenizers  # noqa: E402

MODEL = os.path.join(HERE, "..", "..", "models", "tiny-gpt")
PLAIN = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + eos_token }}{% endfor %}"
TOOLS = "{{ tools | length }}"
CHAT = {"tokenizer.chat_template": PLAIN, "tokenizer.chat_template.tool_use": TOOLS, "tokenizer.chat_templates": ["tool_use"]}
COMMANDS = (["And God said,", "--tokenize"], ["don't 123  <|endoftext|> caf\u00e9\n", "--tokenize"], ["--chat", "-p", "Who <|endoftext|> art thou?", "--tokenize"],
            ["And God said,", "-n", "16"], ["-p", "In the beginning", "-n", "8"])


def directory(path):
    """tiny-gpt with chat templates."""
    shutil.copytree(MODEL, path)
    with open(os.path.join(path, "tokenizer_config.json"), encoding="utf-8") as file:
        config = json.load(file)
    config["chat_template"] = [{"name": "default", "template": PLAIN}, {"name": "tool_use", "template": TOOLS}]
    with open(os.path.join(path, "tokenizer_config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    return path


def keys(path, **changes):
    with open(os.path.join(path, "tokenizer.json"), encoding="utf-8") as file:
        own = gguf_tokenizers.keys_of(json.load(file), "gpt-2")
    end = own["tokenizer.ggml.tokens"].index("<|endoftext|>")
    return {**own, **CHAT, "tokenizer.ggml.bos_token_id": end, "tokenizer.ggml.eos_token_id": end,
            **{f"tokenizer.ggml.{key}": value for key, value in changes.items()}}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


class Test:
    def __init__(self, scratch, programs):
        shutil.rmtree(scratch, ignore_errors=True)
        os.makedirs(scratch)
        self.scratch, self.programs, self.wrong = scratch, programs, 0
        self.model = directory(os.path.join(scratch, "model"))
        self.wanted = self.answers("directory", self.model)

    def compile(self, name, model, *options):
        return run(os.path.join(self.programs, "raptc"), model, "-o", os.path.join(self.scratch, name + ".so"), *options)

    def answers(self, name, model, *options):
        """What the compiled model says to all commands, or the compiler's messages."""
        status, _, messages = self.compile(name, model, *options)
        if status:
            return messages
        return [run(os.path.join(self.programs, "rapt-run"), os.path.join(self.scratch, name + ".so"), *command)[:2] for command in COMMANDS]

    def file(self, name, own):
        path = os.path.join(self.scratch, name + ".gguf")
        gguf_models.convert(self.model, path, keys=own)
        return path

    def check(self, what, holds, shown=""):
        print("PASS" if holds else "FAIL", what, "" if holds else shown)
        self.wrong += not holds

    def same(self, name, own, *options):
        answers = self.answers(name, self.file(name, own), *options)
        self.check(f"{name}: as the directory", answers == self.wanted, f"{answers} instead of {self.wanted}")

    def other(self, name, own, *options):
        answers = self.answers(name, self.file(name, own), *options)
        self.check(f"{name}: otherwise", answers != self.wanted and isinstance(answers, list), answers)

    def refused(self, name, own, text):
        status, _, messages = self.compile(name, self.file(name, own))
        self.check(f"{name}: refused", status == 1 and text in messages, messages)


def main():
    test = Test(sys.argv[1], sys.argv[2])
    own = keys(test.model)
    test.check("the directory answers", isinstance(test.wanted, list) and all(status == 0 and text for status, text in test.wanted), test.wanted)
    test.same("file", own)
    with open(os.path.join(test.model, "tokenizer.json"), encoding="utf-8") as file:
        test.same("whole", {**own, "tokenizer.huggingface.json": file.read(), "tokenizer.ggml.pre": "unknown"})
    test.same("of-the-directory", {**keys(test.model, pre="unknown"), "tokenizer.ggml.tokens": ["x", *own["tokenizer.ggml.tokens"][1:]]},
              "--tokenizer=" + test.model)
    test.other("other-words", keys(test.model, pre="llama-bpe"))
    test.other("begins", keys(test.model, add_bos_token=True))
    test.refused("unknown-words", keys(test.model, pre="unknown"), "give the folder of the original's tokenizer by --tokenizer=DIR")
    print(f"{test.wrong} wrong")
    sys.exit(1 if test.wrong else 0)


if __name__ == "__main__":
    main()
