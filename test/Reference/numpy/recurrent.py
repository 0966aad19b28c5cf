#!/usr/bin/env python3
"""Recurrent models in float64 with numpy alone: independent of Rapt's code, written from the equations of torch.nn.RNN, GRU and LSTM,
of Bahdanau et al. 2015 and Luong et al. 2015, and the schema of docs/Recurrent.md.

    recurrent.py DIR [language-model]    writes a small random model there, an encoder-decoder if not the other

    model = recurrent.load(directory);  logits = model.forward(ids)                      a language model, or a classifier of one row or its tokens
    hidden = model.encode(source);  logits = model.decode(target, hidden)               an encoder-decoder

make(directory, config, seed, storage) writes a random model as a model directory.
"""

import json
import os
import sys

import numpy

import tensorfiles

PARTS = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}
LM = {"model_type": "recurrent", "architectures": ["RecurrentForCausalLM"], "cell": "lstm", "vocab_size": 61, "hidden_size": 32, "max_length": 200}
CLASSIFIER = {**LM, "architectures": ["RecurrentForSequenceClassification"], "num_labels": 5}
TAGGER = {**LM, "architectures": ["RecurrentForTokenClassification"], "num_labels": 5}
BASE = {**LM, "architectures": ["RecurrentModel"]}
SEQ2SEQ = {"model_type": "recurrent-encoder-decoder", "architectures": ["RecurrentForConditionalGeneration"], "cell": "lstm", "vocab_size": 61,
           "hidden_size": 32, "decoder_start_token_id": 1, "eos_token_id": 2, "max_length": 200}


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def step(cell, x, state, weight, bias, projection=None):
    """One step of a cell: x is W_ih input + b_ih, state is (h,) or (h, c); an lstm may have a projection of h."""
    h = state[0]
    p = weight @ h + bias
    if cell == "rnn_tanh":
        return (numpy.tanh(x + p),)
    if cell == "rnn_relu":
        return (numpy.maximum(x + p, 0),)
    x, p = x.reshape(PARTS[cell], -1), p.reshape(PARTS[cell], -1)
    if cell == "gru":
        r, z = sigmoid(x[0] + p[0]), sigmoid(x[1] + p[1])
        return ((1 - z) * numpy.tanh(x[2] + r * p[2]) + z * h,)
    i, f, g, o = x + p
    c = sigmoid(f) * state[1] + sigmoid(i) * numpy.tanh(g)
    h = sigmoid(o) * numpy.tanh(c)
    return h if projection is None else projection @ h, c


class Stack:
    """Layers of one cell, as torch.nn.RNN, GRU or LSTM of that name in the checkpoint."""

    def __init__(self, tensors, name, cell, hidden, layers, bidirectional):
        self.tensors, self.name, self.cell, self.hidden, self.layers, self.bidirectional = tensors, name, cell, hidden, layers, bidirectional
        self.states = 2 if cell == "lstm" else 1
        projection = tensors.get(f"{name}.weight_hr_l0")
        self.sizes = (hidden if projection is None else len(projection), hidden)[:self.states]

    def layer(self, layer, reverse, xs, state):
        """Outputs at every token and the last state of one layer in one direction."""
        get = lambda kind: self.tensors.get(f"{self.name}.{kind}_l{layer}{'_reverse' if reverse else ''}")
        zero, outputs = numpy.zeros(PARTS[self.cell] * self.hidden), [None] * len(xs)
        first, second = get("bias_ih"), get("bias_hh")
        for t in reversed(range(len(xs))) if reverse else range(len(xs)):
            gates = get("weight_ih") @ xs[t] + (zero if first is None else first)
            state = step(self.cell, gates, state, get("weight_hh"), zero if second is None else second, get("weight_hr"))
            outputs[t] = state[0]
        return outputs, state

    def zeros(self):
        return [tuple(numpy.zeros(size) for size in self.sizes) for _ in range(self.layers)]

    def encode(self, xs):
        """Outputs at every token, and each layer's last states with the directions side by side."""
        finals = []
        for layer in range(self.layers):
            found = [self.layer(layer, reverse, xs, self.zeros()[layer]) for reverse in (False, True)[:1 + self.bidirectional]]
            xs = [numpy.concatenate(parts) for parts in zip(*(outputs for outputs, _ in found))]
            finals.append(tuple(numpy.concatenate(parts) for parts in zip(*(state for _, state in found))))
        return xs, finals

    def advance(self, x, states):
        """One token through all layers, forward."""
        after = []
        for layer in range(self.layers):
            outputs, state = self.layer(layer, False, [x], states[layer])
            after.append(state)
            x = outputs[0]
        return x, after


class LanguageModel:
    def __init__(self, config, tensors):
        self.settings, self.tensors = config, tensors
        self.stack = Stack(tensors, "rnn", config["cell"], config["hidden_size"], config.get("num_layers", 1), config.get("bidirectional", False))

    def embed(self, ids):
        return [self.tensors["embedding.weight"][i] for i in ids]

    def states(self, ids):
        """States of the last layer, [tokens, directions x hidden]."""
        return numpy.array(self.stack.encode(self.embed(ids))[0])

    def forward(self, ids):
        """Logits [tokens, vocabulary] of a language model, [labels] of a classifier, [tokens, labels] of one of tokens."""
        outputs, finals = self.stack.encode(self.embed(ids))
        t = self.tensors
        if self.settings["architectures"] == ["RecurrentForTokenClassification"]:
            return numpy.array(outputs) @ t["classifier.weight"].T + t["classifier.bias"]
        if "classifier.weight" in t:
            pooling = self.settings.get("pooling", "last")
            pooled = finals[-1][0] if pooling == "last" else numpy.mean(outputs, 0) if pooling == "mean" else numpy.max(outputs, 0)
            return t["classifier.weight"] @ pooled + t["classifier.bias"]
        head = t["embedding.weight"] if self.settings.get("tie_word_embeddings") else t["lm_head.weight"]
        return numpy.array(outputs) @ head.T + t["lm_head.bias"]


class EncoderDecoder:
    def __init__(self, config, tensors):
        self.settings, self.tensors = config, tensors
        c, hidden = config, config["hidden_size"]
        layers = c.get("encoder_layers", 1)
        self.encoder = Stack(tensors, "encoder", c["cell"], c.get("encoder_hidden_size", hidden), layers, c.get("bidirectional", False))
        self.decoder = Stack(tensors, "decoder", c["cell"], hidden, c.get("decoder_layers", layers), False)
        self.attention = c.get("attention", "none")
        self.feeds = self.attention.startswith("luong") and c.get("input_feeding", True)
        self.output = "encoder_embedding.weight" if c.get("share_embeddings") else "decoder_embedding.weight"

    def encode(self, ids):
        order = -1 if self.settings.get("reverse_source") else 1
        memory, self.finals = self.encoder.encode([self.tensors["encoder_embedding.weight"][i] for i in ids[::order]])
        self.memory = memory[::order]  # each output at its own token
        return numpy.array(self.memory)

    def first(self):
        """The decoder's states before its first token."""
        if self.settings.get("bridge", "dense" if self.settings.get("bidirectional") else "copy") == "copy":
            return list(self.finals)
        t, last = self.tensors, self.finals[-1][0]
        return [tuple(numpy.tanh(t[f"bridge.{part}_l{layer}.weight"] @ last + t[f"bridge.{part}_l{layer}.bias"]) for part in "hc"[:self.decoder.states])
                for layer in range(self.decoder.layers)]

    def attend(self, query):
        memory, t = numpy.array(self.memory), self.tensors
        if self.attention == "bahdanau":
            scores = numpy.tanh(t["attention.query.weight"] @ query + memory @ t["attention.key.weight"].T) @ t["attention.score"]
        elif self.attention == "luong_general":
            scores = memory @ t["attention.key.weight"].T @ query
        else:
            scores = memory @ query
        weights = numpy.exp(scores - scores.max())
        return weights @ memory / weights.sum()

    def advance(self, token, states, fed):
        """Logits, states and attention vector after one token."""
        t, context = self.tensors, None
        x = embedded = t[self.output][token]
        if self.attention == "bahdanau":
            context = self.attend(states[-1][0])
            x = numpy.concatenate([x, context])
        elif self.feeds:
            x = numpy.concatenate([x, fed])
        h, states = self.decoder.advance(x, states)
        if self.attention == "bahdanau":
            h = numpy.concatenate([h, context, embedded])
        elif self.attention != "none":
            h = fed = numpy.tanh(t["attention.combine.weight"] @ numpy.concatenate([self.attend(h), h]))
        head = t[self.output] if self.settings.get("tie_word_embeddings") else t["lm_head.weight"]
        return head @ h + t["lm_head.bias"], states, fed

    def decode(self, ids, hidden):
        states, fed, logits = self.first(), numpy.zeros(self.decoder.hidden), []
        for token in ids:
            row, states, fed = self.advance(token, states, fed)
            logits.append(row)
        return numpy.array(logits)


def shapes(config):
    """Tensor name -> shape."""
    c, table, cell = config, {}, config["cell"]
    hidden, vocabulary = c["hidden_size"], c["vocab_size"]
    width, words = c.get("embedding_size", hidden), c.get("decoder_vocab_size", vocabulary)

    def stack(name, inputs, size, layers, bidirectional):
        projected = c.get("proj_size", 0)
        for layer in range(layers):
            for suffix in ("", "_reverse")[:1 + bidirectional]:
                n = PARTS[cell] * size
                if projected:
                    table[f"{name}.weight_hr_l{layer}{suffix}"] = (projected, size)
                for kind, shape in (("weight_ih", (n, inputs)), ("weight_hh", (n, projected or size)), ("bias_ih", (n,)), ("bias_hh", (n,))):
                    if len(shape) == 2 or c.get("bias", True):
                        table[f"{name}.{kind}_l{layer}{suffix}"] = shape
            inputs = (projected or size) * (1 + bidirectional)
        return inputs

    def dense(name, rows, columns):
        table[name + ".weight"], table[name + ".bias"] = (rows, columns), (rows,)

    bidirectional = c.get("bidirectional", False)
    if c["model_type"] == "recurrent":
        table["embedding.weight"] = (vocabulary, width)
        outputs = stack("rnn", width, hidden, c.get("num_layers", 1), bidirectional)
        if c["architectures"][0].endswith("Classification"):
            dense("classifier", c["num_labels"], outputs)
        elif c["architectures"][0].endswith("CausalLM"):
            dense("lm_head", vocabulary, outputs)
    else:
        table["encoder_embedding.weight"] = (vocabulary, width)
        if not c.get("share_embeddings"):
            table["decoder_embedding.weight"] = (words, width)
        size, layers, attention = c.get("encoder_hidden_size", hidden), c.get("encoder_layers", 1), c.get("attention", "none")
        memory = stack("encoder", width, size, layers, bidirectional)
        feeds = attention.startswith("luong") and c.get("input_feeding", True)
        inputs = width + (memory if attention == "bahdanau" else hidden if feeds else 0)
        stack("decoder", inputs, hidden, c.get("decoder_layers", layers), False)
        if c.get("bridge", "dense" if bidirectional else "copy") == "dense":
            for layer in range(c.get("decoder_layers", layers)):
                for part in "hc" if cell == "lstm" else "h":
                    dense(f"bridge.{part}_l{layer}", hidden, memory)
        if attention == "bahdanau":
            n = c.get("attention_size", size)
            table.update({"attention.query.weight": (n, hidden), "attention.key.weight": (n, memory), "attention.score": (n,)})
        if attention == "luong_general":
            table["attention.key.weight"] = (hidden, memory)
        if attention.startswith("luong"):
            table["attention.combine.weight"] = (hidden, memory + hidden)
        dense("lm_head", words, hidden + memory + width if attention == "bahdanau" else hidden)
    if c.get("tie_word_embeddings"):
        del table["lm_head.weight"]
    return table


def make(directory, config, seed=7, storage="F32"):
    """Writes a random model; matmuls keep about the variance of their input."""
    random, tensors = numpy.random.RandomState(seed), {}
    for name, shape in shapes(config).items():
        values = random.standard_normal(shape)
        if name.endswith("bias") or "bias_" in name:
            values *= 0.2
        elif "embedding" not in name:
            values /= numpy.sqrt(shape[-1])
        tensors[name] = values.astype(numpy.float32)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)
    tensorfiles.write(os.path.join(directory, "model.safetensors"), tensors, storage)


def load(directory):
    """The model over the stored weights, in float64. Vectors are kept in f32 by Rapt, so nothing is rounded again."""
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    tensors = {name: values.astype(numpy.float64) for name, values in tensorfiles.readDirectory(directory).items()}
    return (LanguageModel if config["model_type"] == "recurrent" else EncoderDecoder)(config, tensors)


if __name__ == "__main__":
    make(sys.argv[1], LM if sys.argv[2:] == ["language-model"] else SEQ2SEQ)
