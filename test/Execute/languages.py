#!/usr/bin/env python3
"""rapt-run --source-language and --target-language: texts are those of the same tokens with that language, which recorded_models.py
compares with the transformers package, by sampling and by beams. The language is before or behind the source; the target's is the first new token,
or the one that the text starts from where that is a language. Each fault gives one line."""

import argparse
import json
import os
import subprocess
import tempfile

import recorded_models

START, PADDING, END, GERMAN, ENGLISH, FRENCH = 2, 1, 4, 7, 8, 9
LANGUAGES = {"de_DE": GERMAN, "en_XX": ENGLISH, "fr_XX": FRENCH}
ROLES = {"<s>": 0, "<pad>": PADDING, "</s>": START, "<end>": END}


def write_model(directory, isBehind=False, hasLanguage=True, start=START, forced=None):
    recorded = recorded_models.read("bart")
    recorded["config"] |= {"decoder_start_token_id": start, "forced_bos_token_id": forced}
    recorded_models.write(recorded, directory)
    special = ROLES | LANGUAGES
    vocabulary = special | {f"w{id}": id for id in range(61) if id not in special.values()}
    tokens = [{"id": id, "content": token, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False} for token, id in special.items()]
    text, language, end = {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "en_XX", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}
    single = [text, end, language] if isBehind else [language, text, end]
    if not hasLanguage:
        single.remove(language)
    tokenizer = {"version": "1.0", "added_tokens": tokens, "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": None, "truncation": None, "padding": None,
                 "post_processor": {"type": "TemplateProcessing", "single": single, "pair": [],
                                    "special_tokens": {token: {"id": token, "ids": [special[token]], "tokens": [token]} for token in ("en_XX", "</s>")}},
                 "model": {"type": "WordPiece", "vocab": vocabulary, "unk_token": "<pad>", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}}
    with open(os.path.join(directory, "tokenizer.json"), "w") as file:
        json.dump(tokenizer, file)
    with open(os.path.join(directory, "tokenizer_config.json"), "w") as file:
        json.dump({"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}, file)
    recorded_models.write_generation_config(recorded, directory, **({} if forced is None else {"forced_bos_token_id": forced}))


# What a language does is of the program that runs models: the same for each target. The generic one compiles in half of the time.
FAST = () if os.environ.get("RAPT_FULL") == "1" else ("--target=generic",)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:

        def compiled(name, **how):
            source, library = os.path.join(work, name), os.path.join(work, name + ".so")
            write_model(source, **how)
            subprocess.run([options.raptc, source, *FAST, "-o", library], check=True, capture_output=True)
            return library

        def run(library, *arguments, fails=None):
            done = subprocess.run([options.rapt_run, library, "-n", "9", "--json", *arguments], capture_output=True, text=True)
            if fails:
                assert done.returncode == 1 and fails in done.stderr, (arguments, done)
                return None
            assert done.returncode == 0, (arguments, done)
            found = json.loads(done.stdout)
            return [one["tokens"] for one in found.get("sequences", [found])]

        plain = compiled("plain")
        ways = ((), ("--beams", "3", "--returns", "3"), ("--temperature", "1.5", "--seed", "4"))
        for library, ids in ((plain, (ENGLISH, 20, 31, START)), (compiled("behind", isBehind=True), (20, 31, START, ENGLISH))):
            for way in ways:
                def by_ids(library, language):
                    return run(library, "--tokens", ",".join(str(language if id == ENGLISH else id) for id in ids), "--ignore-eos", *way)

                assert run(library, "-p", "w20 w31", "--ignore-eos", *way) == by_ids(library, ENGLISH)
                french = run(library, "-p", "w20 w31", "--source-language", "fr_XX", "--ignore-eos", *way)
                assert french == by_ids(library, FRENCH), (french, way)
        # A text that names a language keeps it.
        assert run(plain, "-p", "en_XX w20", "--src-lang", "fr_XX") == run(plain, "--tokens", f"{FRENCH},{ENGLISH},20,{START}")

        forced = compiled("forced", forced=GERMAN)
        for way in ways:
            german = run(plain, "-p", "w20 w31", "--target-language", "de_DE", *way)
            assert german == run(forced, "-p", "w20 w31", *way) and all(one[0] == GERMAN for one in german), (german, way)
            # The language of the line comes before that of the file.
            english = run(forced, "-p", "w20 w31", "--tgt-lang", "en_XX", *way)
            assert english == run(plain, "-p", "w20 w31", "--target-language", "en_XX", *way) and all(one[0] == ENGLISH for one in english), (english, way)
        # Where texts start from a language it is replaced.
        germans, frenchs = compiled("germans", start=GERMAN), compiled("frenchs", start=FRENCH)
        assert run(germans, "-p", "w20 w31", "--target-language", "fr_XX") == run(frenchs, "-p", "w20 w31")
        assert run(germans, "-p", "w20 w31") != run(frenchs, "-p", "w20 w31")

        run(plain, "-p", "w20", "--source-language", "xx", fails="error: --source-language: the vocabulary has no token xx")
        run(plain, "-p", "w20", "--target-language", "xx\x1b", fails="error: --target-language: the vocabulary has no token xx")
        run(compiled("none", hasLanguage=False), "-p", "w20", "--source-language", "fr_XX", fails="error: --source-language: the tokenizer puts no language around a text")
        run(plain, "--tokens", "20,21,22,23", "--source-language", "fr_XX", fails="error: --source-language: the prompt has no token of a language")
        print("languages: passed")


if __name__ == "__main__":
    main()
