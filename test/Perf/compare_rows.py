"""The rows of test/Perf/compare: what every engine runs, and the limit that Rapt's figure is a share of."""

import json
import sys
from pathlib import Path

import peers

sys.path.append(str(Path(__file__).resolve().parent.parent / "Execute"))

ROWS = [1, 16, 128, 512]
# Columns and depth of matmuls, and their numbers of rows. No cache holds the weights of the last one in any type.
MATMULS = {(768, 768): ROWS, (2304, 768): ROWS, (3072, 768): ROWS, (768, 3072): ROWS, (4096, 4096): ROWS, (16384, 4096): ROWS[:1]}
# Attention with 12 heads: whether it is by bf16 dot-product matmuls, channels of a head, lengths.
ATTENTIONS = [(False, 64, [512, 1024, 2048, 4096]), (False, 128, [512, 2048]), (True, 64, [512, 1024, 2048, 4096]), (True, 128, [512, 2048, 4096])]
ONNX_F32, FASTEST = "ONNX Runtime, f32", "llama.cpp in 4 bits, flash attention"  # of prompts in other widths
SMALL = {"bert": "bert-base", "vit": "vit-base", "t5": "t5-small", "minilm": "minilm-l6", "whisper": "whisper-base"}  # and the folder of its config
# Texts of mixed lengths: the model, its name, its ONNX file, tokens of the shortest and of the longest, texts, ONNX Runtime's batches.
TEXTS = [("minilm", "all-MiniLM-L6", "minilm", 4, 128, 64), ("bert", "bge-base", "bge", 16, 256, 32)]


class Row:
    """One line of the table. `cases`: of each engine, Rapt first. `limit`: a case of compare_rapt that measures operations or bytes a
    second, and `work`: how many of them a case needs. `tolerance`: how far results may be apart, relative L2. `isOfBf16Matmuls`: whether
    code without bf16 matmuls has no such row."""

    def __init__(self, name, unit, amount, rapt, others, limit="rate f32", work=0, tolerance=1e-3, isOfBf16Matmuls=False):
        self.name, self.unit, self.amount, self.cases = name, unit, amount, {"Rapt": rapt, **others}
        self.limit, self.work, self.tolerance, self.isOfBf16Matmuls = limit, work, tolerance, isOfBf16Matmuls


def matmul_rows():
    """Matmuls in f32, in bf16, and with int8 weights, whose activations Rapt gets in f32; oneDNN gets them as integers, and in
    f32 as well, which its reorder rounds by one scale that it is told, where Rapt finds one for each row. With weights of 8 and 4 bits in
    groups of 32 llama.cpp rounds activations, too; Rapt's have a scale for each column or a group of 32."""
    for (n, k), numbers in MATMULS.items():
        for m in numbers:
            case, operations = f"matmul {n} {k} {m}", 2 * n * k * m
            name = f"matmul {m} x {n} x {k}"
            limit = lambda dtype, size: {"limit": f"read {int(size * n * k)}", "work": size * n * k} if m == 1 else {"limit": f"rate {dtype}", "work": operations}
            yield Row(name, "GFLOP/s", operations / 1e9, case, {"oneDNN": f"{case} f32", "OpenBLAS": case, "PyTorch": case}, **limit("f32", 4))
            yield Row(f"{name} in bf16", "GFLOP/s", operations / 1e9, f"bf16_{case}", {"oneDNN": f"{case} bf16"}, **limit("bf16", 2))
            yield Row(f"{name} in 8 bits, rounding rows", "GOP/s", operations / 1e9, f"quantized_{case}",
                      {"oneDNN, of rounded rows": f"{case} i8", "oneDNN, rounding by a known scale": f"{case} rounded", "llama.cpp, q8_0": f"{case} q8_0"}, **limit("i8", 1), tolerance=2e-2)
            yield Row(f"{name} in 4 bits, rounding rows", "GOP/s", operations / 1e9, f"w4_{case}", {"llama.cpp, q4_0": f"{case} q4_0"}, **limit("i4", 9 / 16), tolerance=0.3)


def attention_rows():
    """In bf16 where that is faster than f32."""
    for narrow, size, length in ((narrow, size, length) for narrow, size, lengths in ATTENTIONS for length in lengths):
        width = 12 * size
        inputs = " ".join(f"{name}=f32:{salt}:1x{length}x{width}" for name, salt in (("q", 1), ("k", 2), ("v", 3)))
        empty = f"past_key=f32:0:1x12x0x{size} past_value=f32:0:1x12x0x{size} last=i32:{length - 1}:1 total=i32:{length}:"
        for kind, pairs in (("dense", length * length), ("causal", length * (length + 1) // 2)):
            case, operations = f"attention {kind} {length} {size}", 4 * width * pairs
            others = {"llama.cpp": case}
            if not narrow:
                others |= {"ONNX Runtime": f"onnx attention_{kind}_{size} {inputs}", "PyTorch": case}
            if not narrow and kind == "causal":
                others["ONNX Runtime, grouped-query op"] = f"onnx attention_grouped_{size} {inputs} {empty}"
            yield Row(f"attention 12 x {size}, {length}, {kind}{', in bf16' if narrow else ''}", "GFLOP/s", operations / 1e9,
                      f"bf16_{case}" if narrow else case, others, "rate bf16" if narrow else "rate f32", operations, 1e-2 if narrow else 1e-3, narrow)


def recurrent_rows():
    for rows in (1, 8):
        case, length = f"lstm {rows} 64", 64
        yield Row(f"LSTM of 512 units, {rows} x {length}", "ms", 0, case, {"PyTorch": case}, work=2 * 2 * 512 * 2048 * rows * length)


def model_rows():
    def transformer(tokens, layers=12, width=768, inner=3072):
        return layers * (2 * tokens * (4 * width * width + 2 * width * inner) + 4 * tokens * tokens * width)

    for suffix, words, how in (("", "", {}), ("-bf16", " in bf16", {"limit": "rate bf16", "tolerance": 3e-2})):
        for tokens in (128, 384):
            yield Row(f"BERT-base{words}, {tokens} tokens", "ms", 0, f"forward bert{suffix} input_ids last_hidden_state 30522 1 {tokens}",
                      {"ONNX Runtime": f"onnx bert input_ids=i64:30522:1x{tokens}"}, work=transformer(tokens), **how)
        yield Row(f"ViT-B/16{words}, one image", "ms", 0, f"forward vit{suffix} pixel_values logits 0 1 3 224 224",
                  {"ONNX Runtime": "onnx vit pixel_values=f32:1:1x3x224x224"}, work=transformer(197) + 2 * 196 * 768 * 768, **how)
        yield Row(f"T5-small{words}, source of 128, first step", "ms", 0, f"translate t5{suffix} 32128 128",
                  {"ONNX Runtime": "onnx t5 input_ids=i64:32128:1x128 decoder_input_ids=i64:0:1x1"}, **how)


def text_rows():
    """Tokens are those of the texts, without padding."""
    for model, name, onnx, least, most, count in TEXTS:
        lengths = [least + (most - least) * (i * 37 % count) ** 2 // (count - 1) ** 2 for i in range(count)]
        with open(Path(peers.ROOT) / "test" / "models" / SMALL[model] / "config.json", encoding="utf-8") as file:
            config = json.load(file)
        width = config["hidden_size"]
        work = config["num_hidden_layers"] * sum(2 * n * (4 * width * width + 2 * width * config["intermediate_size"]) + 4 * n * n * width for n in lengths)
        case = f"{config['vocab_size']} {least} {most} {count}"
        others = {f"ONNX Runtime, {batch} at a time": f"texts {onnx} {case} {batch}" for batch in (1, 4, 16)}
        for suffix, words, how in (("", "", {}), ("-bf16", " in bf16", {"limit": "rate bf16", "tolerance": 3e-2})):
            yield Row(f"{name}{words}, {count} texts of {least} to {most} tokens", "tokens/s", sum(lengths), f"texts {model}{suffix} {case}", others,
                      work=work, **how)


def sound_rows():
    width, inner, positions, layers = 512, 2048, 1500, 6
    work = layers * (2 * positions * (4 * width * width + 2 * width * inner) + 4 * positions * positions * width)
    work += 2 * 3 * (2 * positions * 80 * width + positions * width * width) + layers * 2 * 2 * positions * width * width
    for suffix, words, how in (("", "", {}), ("-bf16", " in bf16", {"limit": "rate bf16", "tolerance": 3e-2})):
        yield Row(f"Whisper-base{words}, encoding 30 seconds", "ms", 0, f"sound whisper{suffix} 80 3000 1500 512",
                  {"ONNX Runtime": "onnx whisper input_features=f32:1:1x80x3000"}, work=work, **how)


def decoder_rows(decoder):
    for phase, tokens in peers.TOKENS.items():
        others = {"llama.cpp, flash attention": phase, "llama.cpp, plain attention": phase}
        if decoder.key == "gpt2":
            others["ONNX Runtime"] = phase
        elif phase == "prefill" and decoder.type != peers.Q4_0 and not decoder.isOfFile:
            others |= {**({ONNX_F32: phase} if decoder.model == "gpt2" else {}), FASTEST: phase}
        if phase == "prefill":
            amount, limit, work = tokens, f"rate {decoder.dtype}", decoder.operations(tokens)
        else:
            read = decoder.bytes(peers.TOKENS["prefill"] + tokens // 2)
            amount, limit, work = peers.TURN, f"read {read}", peers.TURN * read
        yield Row(f"{decoder.name}, {phase} of {tokens}", "tokens/s", amount, phase, others, limit, work)


DECODERS = {decoder.key: decoder for decoder in peers.DECODERS}
GROUPS = {"kernels": [*matmul_rows(), *attention_rows(), *recurrent_rows(), *model_rows(), *text_rows(), *sound_rows()], **{key: [*decoder_rows(decoder)] for key, decoder in DECODERS.items()}}
