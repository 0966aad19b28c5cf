"""Decoders that read whole texts, in float64: vectors by the modules of sentence-transformers, classes of texts and of tokens, spans.

The states are those that a family of decoders/ gives its head. A class of a text is that of its last token whose id is not pad_token_id,
of the first one where there is none, as GenericForSequenceClassification of transformers has it.
"""

import numpy

import bert
import tensorfiles
from decoder_families import FAMILIES
from decoders import common

LABELS = 5

# model_type -> the name of its classes, without the head
CLASSES = {"gemma": "Gemma", "gemma2": "Gemma2", "gemma3_text": "Gemma3Text", "gpt_neo": "GPTNeo", "gpt_bigcode": "GPTBigCode", "opt": "OPT",
           "bloom": "Bloom", "mpt": "Mpt", "falcon": "Falcon", "qwen3": "Qwen3", "olmo": "Olmo", "olmo2": "Olmo2", "smollm3": "SmolLM3", "granite": "Granite",
           "cohere": "Cohere", "gpt_neox": "GPTNeoX", "gptj": "GPTJ", "phi": "Phi", "stablelm": "StableLm", "phi3": "Phi3", "starcoder2": "Starcoder2",
           "qwen3_next": "Qwen3Next", "qwen3_5_text": "Qwen3_5Text", "qwen3_5_moe_text": "Qwen3_5MoeText", "lfm2": "Lfm2", "lfm2_moe": "Lfm2Moe", "mamba2": "Mamba2",
           "bamba": "Bamba", "granitemoehybrid": "GraniteMoeHybrid", "falcon_h1": "FalconH1", "nemotron_h": "NemotronH", "olmo_hybrid": "OlmoHybrid",
           "gemma4_text": "Gemma4Text", "kimi_linear": "KimiLinear"}

# The head of a class -> the part of its tensors, their rows, and whether they have a bias
TABLE = "ForMaskedLM"  # its matrix is the table of words
HEADS = {"ForSequenceClassification": ("score", LABELS, False), "ForTokenClassification": ("score", LABELS, True),
         "ForQuestionAnswering": ("qa_outputs", 2, True)}


def head_tensors(config, head, part, seed):
    _, rows, has_bias = HEADS[head]
    width = next(config[key] for key in ("hidden_size", "n_embd", "d_model") if key in config)
    random = numpy.random.RandomState(seed + 1)
    tensors = {part + ".weight": (random.standard_normal((rows, width)) / numpy.sqrt(width)).astype(numpy.float32)}
    if has_bias:
        tensors[part + ".bias"] = random.standard_normal(rows).astype(numpy.float32)
    return tensors


class Model:
    """One text at a time. `modules` are those of bert.writeModules, where no head is given, the mean without them; `without` names quirks that are left out:
    "padding", "around", and those of the family."""

    def __init__(self, config, tensors, head, part, modules=None, without=()):
        self.config, self.tensors, self.head, self.part, self.modules, self.without = config, tensors, head, part, modules, without
        kind = config["model_type"]
        self.decoder = FAMILIES["lfm2" if kind == "lfm2_bidirectional" else kind].Model(config, tensors, without)
        says = config.get("use_bidirectional_attention") in (True, "all") or not config.get("is_causal", True)
        says = says or "Lfm2Bidirectional" in config.get("architectures", [""])[0]
        self.decoder.around = says and "around" not in without

    def dense(self, x):
        bias = self.part + ".bias"
        return x @ self.tensors[self.part + ".weight"].astype(numpy.float64).T + (self.tensors[bias] if bias in self.tensors else 0)

    def last(self, ids):
        """The index of the token that the text's classes are of."""
        pad = self.config.get("pad_token_id")
        if pad is None or "padding" in self.without:
            return len(ids) - 1
        return max([at for at, token in enumerate(ids) if token != pad], default=0)

    def forward(self, ids):
        """{name: array} of the outputs: [length, ...], or [...] for the whole text."""
        x = self.decoder.states(ids)
        if self.head == "ForSequenceClassification":
            return {"logits": self.dense(x[self.last(ids)])}
        if self.head == "ForTokenClassification":
            return {"logits": self.dense(x)}
        if self.head == "ForQuestionAnswering":
            start, end = self.dense(x).T
            return {"start_logits": start, "end_logits": end}
        if self.head == TABLE:
            return {"logits": x @ self.tensors["model.embed_tokens.weight"].astype(numpy.float64).T}
        pooler = bert.Model.__new__(bert.Model)
        pooler.modules, pooler.kind = self.modules or ("mean_tokens", False), numpy.float64
        return {"last_hidden_state": x, "sentence_embedding": pooler.sentence(x)}


def make(directory, kind, case, head, changes, modules=None, prefix=None, part=None, seed=0, dtype="F32"):
    """Writes a random model and gives the reference of what is stored. `prefix` is what the names of the transformer's tensors begin with,
    in place of the usual one; `part` names those of the head."""
    family = FAMILIES[kind]
    config = {key: value for key, value in {**family.SMALL, **family.CASES[case], **changes}.items() if value != "absent"}
    config["torch_dtype"] = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}[dtype]
    tensors = common.tensors_of(family, config, seed)
    stored = {name: values for name, values in tensors.items() if not name.startswith(("lm_head.", "embed_out."))}
    if head in HEADS:
        config.setdefault("architectures", [CLASSES[kind] + head])
        config["id2label"] = {str(i): f"label {i}" for i in range(LABELS)}
        part = part or HEADS[head][0]
        stored.update(head_tensors(config, head, part, seed))
    elif modules:
        width = next(config[key] for key in ("hidden_size", "n_embd", "d_model") if key in config)
        bert.writeModules(directory, *modules, *([()] if len(modules) == 2 else []), width)
    usual = next(iter(tensors)).split(".")[0] + "."
    renamed = lambda name: prefix + name.removeprefix(usual) if prefix is not None and name.startswith(usual) else name
    kinds = {renamed(name): "F32" for name in stored if name.endswith(getattr(family, "F32", ()))}
    tensorfiles.writeModel(directory, config, {renamed(name): values for name, values in stored.items()}, dtype, kinds=kinds)
    read = tensorfiles.readDirectory(directory)
    return Model(config, {**tensors, **{name: read[renamed(name)] for name in stored}}, head, part, modules)
