"""Compiles random decoders that read whole texts, runs them and compares them with test/Reference/numpy/text_decoders.py.

Each family with classes of texts, some with other heads, and models of sentence-transformers: on batches of unequal lengths, among them texts that end
with pad_token_id or are nothing else, and on one text that fills all positions. States and convolutions of one text see nothing of its neighbors, some of
which are shorter than a convolution reaches. Relative L2 of every output against float64 over the
stored weights; compiled code must give the same bits with 1, 2 and 7 threads.
"""

import os
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Reference", "numpy"))

import encoders  # noqa: E402
import random_models  # noqa: E402
import recorded_models  # noqa: E402
import tensorfiles  # noqa: E402
import text_decoders  # noqa: E402
import weights  # noqa: E402

SEED, PAD = 13, 3
TEXTS, TOKENS, SPANS = text_decoders.HEADS
PADDED = {"pad_token_id": PAD}
# Like EmbeddingGemma: tokens see both sides, windows are halved, two linear layers are behind the mean.
AROUND = {"use_bidirectional_attention": True, "architectures": ["Gemma3TextModel"]}
ALL = {"use_bidirectional_attention": "all", "architectures": ["Gemma4TextModel"]}
BOTH = {"architectures": ["Lfm2BidirectionalModel"]}
LINEAR = ((80, False, "identity"), (24, False, "identity"))

# name -> (family, case, head, changes of the configuration, further arguments of make)
CASES = {f"{kind}-texts": (kind, "plain", TEXTS, PADDED, {}) for kind in text_decoders.CLASSES}
CASES.update({
    "qwen3-no-padding": ("qwen3", "plain", TEXTS, {"pad_token_id": None}, {}),
    "qwen3-tokens": ("qwen3", "types", TOKENS, PADDED, {}),
    "qwen3-spans": ("qwen3", "plain", SPANS, PADDED, {"prefix": "transformer."}),
    "gpt_bigcode-tokens": ("gpt_bigcode", "plain", TOKENS, {}, {"part": "classifier"}),
    "qwen3-vectors": ("qwen3", "tied", "", {"architectures": ["Qwen3Model"]}, {"modules": ("lasttoken", True), "prefix": ""}),
    "qwen3-around": ("qwen3", "tied", "", {"is_causal": False, "architectures": ["Qwen3Model"]}, {"modules": ("mean_tokens", False), "prefix": ""}),
    "olmo2-states": ("olmo2", "plain", "", {"architectures": ["Olmo2Model"]}, {"prefix": ""}),
    "gemma3-vectors": ("gemma3_text", "plain", "", AROUND, {"modules": ("mean_tokens", True, LINEAR), "prefix": ""}),
    "gemma3-texts-around": ("gemma3_text", "pattern", TEXTS, {**AROUND, **PADDED, "architectures": ["Gemma3TextForSequenceClassification"]}, {}),
    "lfm2-vectors": ("lfm2", "types", "", {"architectures": ["Lfm2Model"]}, {"modules": ("lasttoken", True), "prefix": ""}),
    "gemma4-vectors": ("gemma4_text", "same-keys", "", {"architectures": ["Gemma4TextModel"]}, {"modules": ("lasttoken", True), "prefix": ""}),
    "gemma4-around": ("gemma4_text", "plain", "", ALL, {"modules": ("mean_tokens", True, LINEAR), "prefix": ""}),
    "gemma4-texts-around": ("gemma4_text", "defaults", TEXTS, {"use_bidirectional_attention": "all", "is_causal": False, **PADDED}, {}),
    "gemma4-experts": ("gemma4_text", "experts", TEXTS, PADDED, {}),
    "kimi-vectors": ("kimi_linear", "one", "", {"architectures": ["KimiLinearModel"]}, {"modules": ("lasttoken", True), "prefix": ""}),
    "lfm2-around": ("lfm2", "plain", "", BOTH, {"modules": ("cls_token", True), "prefix": ""}),
    "lfm2-words": ("lfm2", "types", text_decoders.TABLE, {**BOTH, "architectures": ["Lfm2BidirectionalForMaskedLM"], "tie_word_embeddings": True}, {"prefix": "lfm2."}),
    "lfm2_bidirectional-texts": ("lfm2", "old", TEXTS, {**PADDED, "model_type": "lfm2_bidirectional", "conv_zero_padding": False,
                                                       "architectures": ["Lfm2BidirectionalForSequenceClassification"]}, {}),
    "lfm2_bidirectional-tokens": ("lfm2", "types", TOKENS, {"model_type": "lfm2_bidirectional", "architectures": ["Lfm2BidirectionalForTokenClassification"]}, {}),
    "mamba2-states": ("mamba2", "plain", "", {"architectures": ["Mamba2Model"]}, {"prefix": ""}),
    "granitemoehybrid-vectors-bf16": ("granitemoehybrid", "rope", "", {}, {"modules": ("mean_tokens", True), "dtype": "BF16"}),
    "qwen3-vectors-bf16": ("qwen3", "plain", "", {}, {"modules": ("lasttoken", True), "dtype": "BF16"}),
    "gemma3-vectors-bf16": ("gemma3_text", "plain", "", AROUND, {"modules": ("mean_tokens", True, LINEAR), "dtype": "BF16"}),
    "gemma4-vectors-bf16": ("gemma4_text", "plain", "", {}, {"modules": ("mean_tokens", True), "dtype": "BF16"}),
    "lfm2_bidirectional-bf16": ("lfm2", "types", "", {**BOTH, "model_type": "lfm2_bidirectional"}, {"modules": ("mean_tokens", True), "dtype": "BF16"}),
    "phi3-texts-f16": ("phi3", "plain", TEXTS, PADDED, {"dtype": "F16"}),
})
# Families of test/Reference/transformers alone: the head of tokens is that of words, so that logits are those that the package gave of the language model.
RECORDED = {"deepseek_v2-tokens": "DeepseekV2ForTokenClassification", "deepseek_v3-tokens": "DeepseekV3ForTokenClassification"}
FEW = ("qwen3-vectors", "gemma3-vectors", "falcon-texts", "gemma2-texts", "bloom-texts", "qwen3-spans", "qwen3-vectors-bf16", "qwen3_5_text-texts",
       "lfm2-vectors", "lfm2-around", "lfm2_bidirectional-texts", "lfm2_bidirectional-bf16", "gemma4-around", "gemma4_text-texts", "kimi-vectors")
# Families whose layers the evaluator runs in other cases, and in decoder_random.py.
UNEVALUATED = ("qwen3_5_moe_text-texts", "qwen3_next-texts", "lfm2-texts", "lfm2_moe-texts", "bamba-texts", "granitemoehybrid-texts", "nemotron_h-texts", "mamba2-texts",
               "olmo_hybrid-texts", "granitemoehybrid-vectors-bf16")


def texts(random, config, lengths):
    """[rows, length]; the second text ends with padding, and the third is nothing else."""
    ids = random.randint(0, config["vocab_size"], (len(lengths), max(lengths))).astype(numpy.int64)
    if len(lengths) > 1:
        ids[1, lengths[1] - 4 : lengths[1]] = PAD
        ids[2] = PAD
    return ids


def check_recorded(name, options, directory):
    recorded, source = recorded_models.read(name.removesuffix("-tokens")), os.path.join(directory, "model")
    words = recorded["config"]["vocab_size"]
    recorded["config"] |= {"architectures": [RECORDED[name]], "id2label": {str(i): f"label {i}" for i in range(words)}}
    recorded_models.write(recorded, source)
    tensors = {tensor: weights.tensor(tensor, shape) for tensor, shape in recorded["tensors"].items()}
    tensors |= {"score.weight": tensors.pop("lm_head.weight"), "score.bias": numpy.zeros(words, numpy.float32)}
    tensorfiles.write(os.path.join(source, "model.safetensors"), tensors, "F32")
    return recorded_models.check_cases(options, random_models.program(options, source, directory), directory, recorded["cases"], name)


def check(name, options, directory):
    if name in RECORDED:
        return check_recorded(name, options, directory)
    kind, case, head, changes, further = CASES[name]
    source = os.path.join(directory, "model")
    model = text_decoders.make(source, kind, case, head, changes, seed=SEED, **further)
    dtype = further.get("dtype", "F32")
    most = next(model.config[key] for key in ("max_position_embeddings", "n_positions", "seq_length", "max_seq_len") if key in model.config)
    command = random_models.program(options, source, directory, ())
    worst, random = 0.0, numpy.random.RandomState(3)
    for label, lengths in (("ragged", (13, 41, 2, 1, 33)), ("whole", (most,))):
        ids = texts(random, model.config, lengths)
        inputs = {"input_ids": ids}
        if len(lengths) > 1:
            inputs["attention_mask"] = (numpy.arange(ids.shape[1])[None] < numpy.array(lengths)[:, None]).astype(numpy.int64)
        wanted = encoders.expected(model, ids, lengths, model.head == TEXTS)
        worst = max(worst, encoders.check_batch(options, command, label, directory, inputs, wanted, random_models.TOLERANCE[dtype]))
    return worst


MODELS = random_models.Models(check, [*CASES, *RECORDED], FEW, cuda=("gemma3-vectors", "qwen3-texts", "lfm2-around"), cells=(),
                              evaluated=[name for name in (*CASES, *RECORDED) if name not in UNEVALUATED])
