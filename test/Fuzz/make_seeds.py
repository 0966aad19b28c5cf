#!/usr/bin/env python3
"""Makes the models that the target `state` loads states into, and one folder of valid inputs for each fuzz target.

    make_seeds.py --raptc build/bin/raptc --out FOLDER      FOLDER/models/*.so, FOLDER/seeds/TARGET/*

Inputs come from the models and test data of the checkout, cut to what a fuzzer can turn over quickly.
"""

import argparse
import concurrent.futures
import json
import re
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "test" / "models"
SEPARATOR = b"\xff"
WORDS = ("config", "extractor", "generation", "manifest", "preprocessor", "safetensors", "template", "tokenizer")  # targets with a dictionary

GPT2 = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "relu", "n_embd": 32, "n_head": 2,
        "n_layer": 1, "n_positions": 128, "vocab_size": 61}
T5 = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_ff": 32, "d_kv": 16, "d_model": 32,
      "decoder_start_token_id": 0, "eos_token_id": 1, "feed_forward_proj": "relu", "is_encoder_decoder": True, "n_positions": 128,
      "num_heads": 2, "num_layers": 1, "relative_attention_num_buckets": 8, "vocab_size": 53}
RECURRENT = {"model_type": "recurrent", "architectures": ["RecurrentForCausalLM"], "cell": "lstm", "vocab_size": 61,
             "hidden_size": 16, "max_length": 100}
SEQ2SEQ = {"model_type": "recurrent-encoder-decoder", "architectures": ["RecurrentForConditionalGeneration"], "cell": "gru",
           "vocab_size": 61, "hidden_size": 16, "attention": "bahdanau", "decoder_start_token_id": 1, "eos_token_id": 2,
           "max_length": 100}
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_attention_heads": 4,
         "num_key_value_heads": 2, "num_hidden_layers": 2, "intermediate_size": 96, "vocab_size": 61, "max_position_embeddings": 128,
         "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
         "high_freq_factor": 4.0, "original_max_position_embeddings": 64}, "hidden_act": "silu", "tie_word_embeddings": False}
WINDOWS = {"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1,
           "head_dim": 16, "num_hidden_layers": 3, "intermediate_size": 32, "vocab_size": 61, "max_position_embeddings": 300, "sliding_window": 37}
ALL_WINDOWS = {"model_type": "starcoder2", "architectures": ["Starcoder2ForCausalLM"], "hidden_size": 32, "num_attention_heads": 2,
               "num_key_value_heads": 1, "num_hidden_layers": 1, "intermediate_size": 32, "vocab_size": 61, "max_position_embeddings": 300,
               "sliding_window": 5}
BERT = {"model_type": "bert", "architectures": ["BertForSequenceClassification"], "hidden_size": 32, "num_attention_heads": 2,
        "num_hidden_layers": 1, "intermediate_size": 64, "vocab_size": 61, "max_position_embeddings": 64, "type_vocab_size": 2,
        "hidden_act": "gelu", "layer_norm_eps": 1e-12, "id2label": {"0": "no", "1": "yes"}, "label2id": {"no": 0, "yes": 1}}
VIT = {"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 32, "num_attention_heads": 2,
       "num_hidden_layers": 1, "intermediate_size": 64, "image_size": 32, "patch_size": 8, "num_channels": 3, "hidden_act": "gelu",
       "layer_norm_eps": 1e-12, "qkv_bias": True}
COMPILED = {"decoder": (GPT2, []), "decoder-bf16": (GPT2, ["--cache-dtype=bf16"]), "decoder-i8": (GPT2, ["--cache-dtype=int8"]),
            "encoder-decoder": (T5, []), "recurrent": (RECURRENT, []), "recurrent-encoder-decoder": (SEQ2SEQ, []),
            "windows": (WINDOWS, []), "all-windows": (ALL_WINDOWS, []), "looks": (GPT2, ["--attention-weights"]), "bert": (BERT, []), "vit": (VIT, ["--mcpu=x86-64-v3,x86-64-v4"])}
CONFIGS = {"gpt2": GPT2, "t5": T5, "recurrent": RECURRENT, "seq2seq": SEQ2SEQ, "llama": LLAMA, "bert": BERT, "vit": VIT}

TEMPLATES = [
    "{% for m in messages %}{{ loop.index0 }}{{ m['role'] | upper ~ m.content | trim }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{%- set ns = namespace(found=false) -%}{% for m in messages[::-1] %}{% if m.role == 'user' and not ns.found %}"
    "{% set ns.found = true %}{{ m['content'][0:5] + '!' * 3 }}{% endif %}{% endfor %}{{ ns.found | tojson }}",
    "{% macro f(x, y=2) %}{{ x ** y // 3 % 5 }}{% endmacro %}{{ f(7) }}{{ range(3) | list }}{{ [1, 'a'] | join('-') }}"
    "{{ 'a' in 'abc' and messages is defined }}{{ strftime_now('%d %b %Y') }}",
    "{{ raise_exception('no') if messages | length > 9 else {'a': [1.5, none, true]} | tojson(indent=2) }}{{ 'x y'.split(' ')[-1].title() }}",
]


def compile_model(raptc, out, name):
    config, options = COMPILED[name]
    file, library = out / f"{name}.json", out / f"{name}.so"
    text = json.dumps([config, options])
    stamp = out / f"{name}.stamp"
    if library.exists() and stamp.exists() and stamp.read_text() == text and stamp.stat().st_mtime > raptc.stat().st_mtime:
        return
    file.write_text(json.dumps(config))
    subprocess.run([raptc, file, "-o", library, "--random-weights=1", *options], check=True, capture_output=True)
    stamp.write_text(text)


def compile_models(raptc, out, jobs):
    out.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda name: compile_model(raptc, out, name), COMPILED))


def section(library):
    """The content of .rapt.manifest, without its NUL."""
    data = library.read_bytes()
    offset, size, count, names = struct.unpack_from("<Q10xHHH", data, 40)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    strings = headers[names][4]
    for header in headers:
        if data[strings + header[0]:].startswith(b".rapt.manifest\0"):
            return data[header[4]:header[4] + header[5]].rstrip(b"\0")
    raise ValueError(f"{library} has no manifest")


def elf():
    """A small shared library's headers: a manifest, names of sections, a dynamic symbol and its strings."""
    names = b"\0.rapt.manifest\0.shstrtab\0.dynsym\0.dynstr\0"
    strings, content = b"\0model_module\0memcpy\0", b'{"rapt": {"version": "0.1.0", "abi": [1, 0]}}\0'
    symbols = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0) + struct.pack("<IBBHQQ", 1, 0x11, 0, 1, 64, 8)
    symbols += struct.pack("<IBBHQQ", 14, 0x12, 0, 0, 0, 0)
    parts, at, headers = [names, content, symbols, strings], 64, [struct.pack("<IIQQQQIIQQ", *[0] * 10)]
    places = []
    for part in parts:
        places.append((at, len(part)))
        at += len(part)
    for name, kind, part, link, entry in ((1, 1, 1, 0, 0), (16, 3, 0, 0, 0), (26, 11, 2, 4, 24), (34, 3, 3, 0, 0)):
        headers.append(struct.pack("<IIQQQQIIQQ", name, kind, 2, 0, *places[part], link, 1, 8, entry))
    start = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, at, 0, 64, 56, 0, 64, 5, 2)
    return start + b"".join(parts) + b"".join(headers)


def weight_file(sections):
    """As rapt/artifact.h says, with the ids of test/Fuzz/Weights.cpp."""
    table, body, at = b"", b"", 4096
    for name, content in sections:
        table += struct.pack("<64sQQ", name, at, len(content))
        body += content + bytes(-len(content) % 4096)
        at += len(content) + -len(content) % 4096
    ids = bytes(range(16)) * 2
    header = struct.pack("<QII", 0x0054475754504152, 1, len(sections)) + ids + struct.pack("<Q", 4096 + len(body)) + table
    return header + bytes(4096 - len(header)) + body


def safetensors():
    entry = lambda dtype, shape, begin, end: {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    header = {"__metadata__": {"format": "pt"}, "a": entry("F32", [2, 3], 0, 24), "b": entry("BF16", [3], 24, 30), "c": entry("I64", [], 30, 38),
              "d": entry("F16", [0, 7], 38, 38)}
    text = json.dumps(header).encode()
    index = {"metadata": {"total_size": 16}, "weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}
    yield b"\0" + struct.pack("<Q", len(text)) + text + bytes(38)
    yield b"\1" + text + SEPARATOR + b"38"
    yield b"\2" + json.dumps(index).encode()


def gguf_files():
    """Whole files: of each type of value, with tensors of several types, quantized ones too, and a part of two."""
    sys.path.insert(0, str(ROOT / "test/Reference/numpy"))
    import gguf
    metadata = {"general.architecture": "llama", "llama.block_count": 1, "general.alignment": 64, "a": gguf.Typed("f64", 0.5), "b": True, "c": ["x", "yz"],
                "d": [1, -2], "e": [0.5], "f": gguf.Typed("u64", 2**63), "g": gguf.Array("u8", b"123")}
    tensors = {"token_embd.weight": gguf.Blocks(30, [4, 3], bytes(24)), "output_norm.weight": gguf.Blocks(0, [4], bytes(16)),
               "blk.0.attn_q.weight": gguf.Blocks(8, [32, 2], bytes(68))}
    files = [gguf.encode(metadata, tensors), gguf.encode(metadata, tensors, gaps={"output_norm.weight": 2}), gguf.encode({"a": 1}),
             gguf.encode({"split.no": 1, "split.count": 2}, tensors)]
    files += [gguf.encode({f"tokenizer.{key}": value for key, value in keys.items()}) for keys in gguf_tokenizers(gguf)]
    return [bytes([zeros]) + file for file in files for zeros in (0, 1)]


def gguf_tokenizers(gguf):
    """The keys of a tokenizer of each kind."""
    pairs = {"ggml.model": "gpt2", "ggml.pre": "llama-bpe", "ggml.tokens": ["h", "i", "hi", "<|eot_id|>", "<s>"], "ggml.token_type": [1, 1, 1, 3, 4],
             "ggml.merges": ["h i"], "ggml.bos_token_id": 4, "ggml.eos_token_id": 3, "ggml.add_eos_token": True, "chat_template": "{{ x }}",
             "chat_templates": ["rag"], "chat_template.rag": "{{ y }}"}
    pieces = {"ggml.model": "llama", "ggml.tokens": ["<unk>", "<s>", "</s>", "<0x0A>", "\u2581", "h", "i", "hi"], "ggml.token_type": [2, 3, 3, 6, 1, 1, 1, 1],
              "ggml.scores": [0.0, 0.0, 0.0, 0.0, -3.0, -3.0, -3.0, -1.0], "ggml.add_space_prefix": False}
    words = {"ggml.model": "bert", "ggml.tokens": ["[UNK]", "[CLS]", "[SEP]", "\u2581hi", "s"], "ggml.token_type": [3, 3, 3, 1, 1],
             "ggml.normalizer.lowercase": True, "ggml.mask_token_id": 0, "ggml.seperator_token_id": 2}
    likelihoods = {**pieces, "ggml.model": "t5", "ggml.precompiled_charsmap": gguf.Array("u8", b"\4\0\0\0\0\0\0\0x\0"), "ggml.remove_extra_whitespaces": True}
    listed = {**pieces, "ggml.model": "gemma4", "ggml.merges": ["h i"]}
    return [pairs, pieces, listed, words, likelihoods, {"huggingface.json": "{}", "ggml.model": "rwkv", "ggml.suppress_tokens": [0]}]


def tokenizers():
    """Parts as test/Fuzz/Tokenizer.cpp takes them."""
    text = "Hello, World's  caf\u00e9 \u4e2d\u6587 don't 123\n<s> [MASK] \U0001f600".encode()
    whole = lambda parts: SEPARATOR.join(parts + [b""] * (7 - len(parts))) + SEPARATOR + text
    for file in sorted((ROOT / "test/Tokenizer/vectors").glob("*.json")):
        vector = json.loads(file.read_text())
        yield whole([json.dumps(vector["tokenizer"], ensure_ascii=False).encode(), json.dumps(vector.get("config", {})).encode()])
    for name in ("date-translator", "number-speller"):
        yield whole([(MODELS / name / part).read_bytes() for part in ("tokenizer.json", "tokenizer_config.json")])
    small = {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, " ": 5}, "merges": ["a b", "ab c"]}
    yield whole([json.dumps({"model": small}).encode()])
    words = {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "Hello": 1, ",": 2, "World": 3, "don": 4}}
    yield whole([json.dumps({"pre_tokenizer": {"type": "Whitespace"}, "model": words}).encode()])
    split = {"type": "Split", "pattern": {"Regex": r"\p{L}+|\s+(?!\S)|\d{1,3}"}, "behavior": "Isolated", "invert": False}
    yield whole([json.dumps({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [split]}, "model": small}).encode()])
    vocabulary, merges = b'{"H": 0, "e": 1, "l": 2, "o": 3, "He": 4, "<|endoftext|>": 5}', b"#version: 0.2\nH e\n"
    yield whole([b"", b'{"tokenizer_class": "GPT2Tokenizer"}', b'{"eos_token": "<|endoftext|>"}', b'{"<s>": 6}', vocabulary, merges])
    yield whole([b"", b'{"do_lower_case": true}', b"", b"", b"", b"", b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nworld\n##s\n,\n"])


def templates():
    chats = json.loads((ROOT / "test/Unit/Generation/chats.json").read_text())
    config = b'{"bos_token": "<s>", "eos_token": {"content": "</s>"}}'
    snippets = [source for source, _ in json.loads((ROOT / "test/Unit/Generation/snippets.json").read_text())]
    for template in [*chats["templates"].values(), *TEMPLATES, *snippets]:
        yield SEPARATOR.join([template.encode(), b"", config])
    yield SEPARATOR.join([TEMPLATES[0].encode(), b'{"messages": [{"role": "user", "content": "x"}], "tools": [{"name": "f"}]}', b""])


def npy():
    for descr, shape, data in (("<f4", "(2, 3)", bytes(24)), ("<i8", "(1,)", bytes(8)), ("|b1", "()", b"\1"), ("<f8", "(0, 4)", b"")):
        header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        yield b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + data
        yield b"\x93NUMPY\2\0" + struct.pack("<I", len(header)) + header + data


def kernels():
    """Text of every stage's tests that is short enough; the target compiles it to the end."""
    for file in sorted((ROOT / "test").glob("**/*.mlir")):
        if file.stat().st_size < 6000 and file.parts[-2] in ("Examples", "Dialect", "Attn", "Transforms", "Conversion", "Execute", "Driver"):
            for part in file.read_bytes().split(b"// -----"):
                yield part


def seeds(models):
    """{target: its inputs}"""
    generation = {"do_sample": True, "temperature": 0.7, "top_k": 40, "top_p": 0.9, "min_p": 0.05, "repetition_penalty": 1.1,
                  "max_new_tokens": 20, "eos_token_id": [1, 2], "bos_token_id": 0, "stop_strings": ["\n"]}
    beams = {"num_beams": 4, "num_return_sequences": 2, "length_penalty": 0.8, "early_stopping": "never", "max_length": 40,
             "transformers_version": "4.40.0"}
    preprocessors = [json.loads((MODELS / "tiny-vit/preprocessor_config.json").read_text()),
                     {"image_processor_type": "CLIPImageProcessor", "do_resize": True, "size": {"shortest_edge": 8}, "do_center_crop": True,
                      "crop_size": {"height": 6, "width": 6}, "resample": 3, "do_normalize": True, "image_mean": [0.5, 0.4, 0.3],
                      "image_std": [0.2, 0.3, 0.4], "do_rescale": True, "rescale_factor": 0.00392156862745098}]
    configs = [json.dumps(config).encode() for config in CONFIGS.values()] + [file.read_bytes() for file in sorted(MODELS.glob("*/config.json"))]
    images = [image for kind in ("png", "jpg", "webp") for image in sorted((ROOT / "test/Image/data").glob(f"*.{kind}"))]
    sounds = [file for file in sorted((ROOT / "test/Audio/data").glob("*.*")) if file.suffix != ".json"]
    extractors = [case["config"] for case in json.loads((ROOT / "test/Audio/data/expected.json").read_text())["features"]]
    encode = lambda value: json.dumps(value).encode()
    return {
        "audio": [file.read_bytes() for file in sounds], "config": configs, "elf": [elf()],
        "extractor": [text.encode() for text in extractors], "generation": [encode(generation), encode(beams)], "gguf": gguf_files(),
        "image": [file.read_bytes() for file in images], "manifest": [section(file) for file in sorted(models.glob("*.so"))],
        "npy": npy(), "preprocessor": [encode(each) for each in preprocessors], "safetensors": safetensors(),
        "state": [bytes(20) + bytes([0, state, model]) for model in range(7) for state in range(8)], "template": templates(),
        "tokenizer": tokenizers(), "compile": [*kernels(), *configs],
        "weights": [bytes([flags]) + weight_file([(b"weights", bytes(64)), (b"tokenizer.json", b"{}")]) for flags in (0, 1, 8)],
    }


def words(inputs):
    """Strings in quotes in the inputs, names before colons and words of templates: a fuzzer puts these together."""
    found = set(re.findall(rb"[\"']([^\"'\\\n]{1,32})[\"']", b"\n".join(inputs)))
    found |= set(re.findall(rb"[{|] ?([a-z_]{2,12})[ (]", b"\n".join(inputs)))
    found |= {b"null", b"true", b"false", b"1e400", b"-1", b"0", b"2147483648", b"9223372036854775807", b"18446744073709551616", b"\\u0000", b"\\ud800"}
    lines = ('"' + "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\x{c:02x}" for c in word) + '"' for word in sorted(found))
    return "\n".join([*lines][:4000]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raptc", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1, help="models compiled at the same time")
    parser.add_argument("--models-only", action="store_true", help="compile the models alone")
    args = parser.parse_args()
    compile_models(args.raptc.resolve(), args.out / "models", args.jobs)
    if args.models_only:
        return
    for target, inputs in seeds(args.out / "models").items():
        inputs = list(inputs)
        if target in WORDS:
            (args.out / f"{target}.dict").write_text(words(inputs))
        folder = args.out / "seeds" / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(inputs):
            (folder / f"{number:03}").write_bytes(content)


if __name__ == "__main__":
    main()
