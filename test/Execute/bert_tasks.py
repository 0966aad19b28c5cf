#!/usr/bin/env python3
"""Compares rapt-run's answers with each head of a bert to the outputs that it writes for the ids, and these to numpy in
float64.

    bert_tasks.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run --rapt-reference build/bin/rapt-reference [--work DIR]

The models are seeded; the tokenizer is a WordPiece that this script writes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy

import attention_weights
import passed

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Reference", "numpy"))

import bert  # noqa: E402

WORDS = ("[PAD] [UNK] [CLS] [SEP] [MASK] paris is the capital of france where city what he did n't un ##aff ##able "
         "a ##a b ##b c ##é e ##e , . ? ! - ' cafe berlin lies in").split()
ID = {word: i for i, word in enumerate(WORDS)}
CONFIG = {"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64,
          "vocab_size": len(WORDS) + 3, "max_position_embeddings": 24, "type_vocab_size": 2}
HEADS = {
    "mask": ("MaskedLM", {}),
    "class": ("SequenceClassification", {"id2label": {"0": "good", "1": "bad", "2": "\u00fcgly"},
                                         "problem_type": "single_label_classification"}),
    "rerank": ("SequenceClassification", {"id2label": {"0": "LABEL_0"},
                                          "sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity", "version": "4.1.0"}}),
    "relevance": ("SequenceClassification", {"id2label": {"0": "LABEL_0"}, "sbert_ce_default_activation_function": "torch.nn.modules.activation.Sigmoid"}),
    "tokens": ("TokenClassification", {"id2label": {"0": "I-LOC", "1": "B-LOC", "2": "O"}}),
    "answer": ("QuestionAnswering", {}),
    "embed": (None, {}),
    "sentence": ("MaskedLM", {}),
}
MODULES = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in (("", "Transformer"), ("1_Pooling", "Pooling"))]
# Files beside those of the head: sentence-transformers takes the model without it, and lower-cases texts of a cased tokenizer.
FILES = {
    "sentence": {"modules.json": MODULES, "1_Pooling/config.json": {"pooling_mode": "mean"}, "tokenizer_config.json": {"do_lower_case": False},
                 "sentence_bert_config.json": {"max_seq_length": 5, "do_lower_case": True}},
}
HEADS["unread"] = HEADS["mask"]  # without a tokenizer


def tokenizer():
    special = lambda word: {"id": ID[word], "content": word, "single_word": False, "lstrip": word == "[MASK]", "rstrip": False,
                            "normalized": False, "special": True}
    piece = lambda name, kind: {"Sequence": {"id": name, "type_id": kind}}
    mark = lambda name, kind: {"SpecialToken": {"id": name, "type_id": kind}}
    single = [mark("[CLS]", 0), piece("A", 0), mark("[SEP]", 0)]
    return {
        "added_tokens": [special(word) for word in WORDS[:5]],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                       "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": single, "pair": single + [piece("B", 1), mark("[SEP]", 1)],
                           "special_tokens": {word: {"id": word, "ids": [ID[word]], "tokens": [word]}
                                              for word in ("[CLS]", "[SEP]")}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": ID},
    }


def softmax(logits):
    shifted = numpy.exp(logits.astype(numpy.float64) - logits.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


class Models:
    def __init__(self, options, work):
        self.options, self.work, self.done = options, work, {}

    def library(self, name):
        if name in self.done:
            return self.done[name]
        head, config = HEADS[name]
        folder = os.path.join(self.work, name)
        os.makedirs(folder)
        architecture = "BertFor" + head if head else "BertModel"
        readers = {"tokenizer.json": tokenizer(), "tokenizer_config.json": {"mask_token": "[MASK]"}} if name != "unread" else {}
        files = {"config.json": {**CONFIG, **config, "architectures": [architecture]}, **readers, **FILES.get(name, {})}
        for file, content in files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
            with open(os.path.join(folder, file), "w") as out:
                json.dump(content, out)
        library = self.done[name] = os.path.join(self.work, name + ".so")
        flags = ["--random-weights=3", *(["--attention-weights", "--attention-log-sum-exp"] if name == "embed" else [])]
        done = subprocess.run([self.options.raptc, folder, *flags, "-o", library], check=True, capture_output=True, text=True)
        self.told = done.stderr
        return library

    def run(self, name, *arguments, fails=None):
        done = subprocess.run([self.options.rapt_run, self.library(name), *arguments], capture_output=True, text=True)
        if fails is not None:
            assert done.returncode == 1 and fails in done.stderr and done.stderr.count("\n") <= 2, (arguments, done)
        else:
            assert done.returncode == 0, (arguments, done.stderr)
        return done

    def results(self, name, *arguments):
        done = self.run(name, *arguments, "--json")
        parsed = json.loads(done.stdout)
        assert parsed["task"] in done.stderr, done.stderr
        return parsed["results"]

    def forward(self, name, rows, outputs, types=None):
        """The outputs for rows of ids of unequal length, padded."""
        shape = len(rows), max(len(row) for row in rows)
        ids, mask, kinds = (numpy.zeros(shape, numpy.int64) for _ in range(3))
        for i, row in enumerate(rows):
            ids[i, :len(row)], mask[i, :len(row)] = row, 1
            if types:
                kinds[i, :len(row)] = types[i]
        at = lambda part: os.path.join(self.work, part + ".npy")
        command = []
        for part, tensor in (("input_ids", ids), ("attention_mask", mask), ("token_type_ids", kinds)):
            numpy.save(at(part), tensor)
            command += ["--input", f"{part}={at(part)}"]
        for part in outputs:
            command += ["--output", f"{part}={at(part)}"]
        self.run(name, *command)
        found = [numpy.load(at(part)) for part in outputs]
        with open(os.path.join(self.work, name, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        if name in FILES:
            config["architectures"] = ["BertModel"]
        model = bert.Model(config, bert.tensors(config, 3))
        for i, row in enumerate(rows):
            wanted = model.forward(numpy.array(row), numpy.array(kinds[i, :len(row)]))
            for part, got in zip(outputs, found):
                own = got[i, :len(row)] if wanted[part].shape[0] == len(row) and got.shape[1] == shape[1] else got[i]
                error = numpy.linalg.norm(own - wanted[part]) / numpy.linalg.norm(wanted[part])
                assert error <= 1e-5, (name, part, error)
        return found


def ids_of(words):
    return [ID[word] for word in words.split()]


def close(got, wanted):
    assert numpy.shape(got) == numpy.shape(wanted) and numpy.allclose(got, wanted, rtol=1e-6, atol=1e-9), (got, wanted)


def check_fill_mask(models):
    text, ids = "Paris is the [MASK] of France.", ids_of("[CLS] paris is the [MASK] of france . [SEP]")
    [[best]] = models.results("mask", "-p", text)
    [logits] = models.forward("mask", [ids], ["logits"])
    wanted, likeliest = softmax(logits[0, 4]), logits[0].argmax(-1)
    order = [i for i in numpy.argsort(-wanted, kind="stable") if i < len(WORDS)][:5]
    assert [one["token"] for one in best] == order
    close([one["score"] for one in best], wanted[order])
    for one in best:
        assert one["token_str"] == WORDS[one["token"]]
        joined = "paris is the" + (WORDS[one["token"]][2:] if WORDS[one["token"]].startswith("##") else " " + one["token_str"])
        if one["token"] > 4 and one["token_str"] not in ",.?!'n't":
            assert one["sequence"] == joined + " of france.", one
    shown = models.run("mask", "-p", text, "--top-k", "2").stdout.splitlines()
    assert shown == [f"{one['score']:.4f}\t{one['token_str']}\t{one['sequence']}" for one in best[:2]], shown
    assert shown == ["0.0324\t.\tparis is the. of france.", "0.0320\t?\tparis is the? of france."], shown
    # Several masks, several lines, unequal lengths.
    file = os.path.join(models.work, "lines.txt")
    with open(file, "w") as out:
        out.write("[MASK] is [MASK]\nthe [MASK]\r\n")
    two, one = models.results("mask", "-f", file, "--top-k", "1")
    [logits] = models.forward("mask", [ids_of("[CLS] [MASK] is [MASK] [SEP]"), ids_of("[CLS] the [MASK] [SEP]")], ["logits"])
    for got, place in ((two[0], (0, 1)), (two[1], (0, 3)), (one[0], (1, 2))):
        close(got[0]["score"], softmax(logits[place])[got[0]["token"]])
    assert "[MASK]" in two[0][0]["sequence"] and "[MASK]" not in one[0][0]["sequence"]
    models.run("mask", "-p", "paris", fails="the text has no [MASK], the token to fill in")
    models.run("mask", "-f", file + "x", fails="lines.txtx")
    models.run("mask", "-p", "a " * 23, fails="the text has no [MASK]")
    models.run("mask", "-p", "[MASK]" + " a" * 23, fails="the text has 26 tokens; the model's positions hold 24")
    models.run("mask", "-p", "[MASK]", "-n", "3", fails="mask: fill-mask has no use for --max-new-tokens, which belongs to models that generate text and --audio")
    models.run("mask", "-p", "[MASK]", "--question", "a", fails="mask: fill-mask has no use for --question, which belongs to")
    # Ids in, ids out. Without a tokenizer none is known to be the mask, and every position is filled in.
    given = ",".join(map(str, ids))
    shown = models.run("mask", "--tokens", given, "--top-k", "2").stdout.splitlines()
    assert shown == [f"{one['score']:.4f}\t{one['token']}" for one in best[:2]], shown
    models.run("mask", "--tokens", "2,3", fails="the text has no [MASK]")
    [every] = models.results("unread", "--tokens", given, "--top-k", "1")
    assert [one[0]["token"] for one in every] == likeliest.tolist(), every
    card = models.run("unread").stdout.splitlines()[-1]
    assert card.endswith("unread.so --tokens 1,2,3"), card
    models.run("unread", *card.split()[-2:])


def check_classes(models):
    names = HEADS["class"][1]["id2label"]
    rows = [ids_of("[CLS] cafe [SEP]"), ids_of("[CLS] he did n't ? [SEP] un ##aff ##able [SEP]")]
    pair = models.results("class", "-p", "he didn't?", "--pair", "Unaffable")
    assert pair, "the vocabulary has no word for didn't"
    rows[1] = ids_of("[CLS] he did ? [SEP] un ##aff ##able [SEP]")
    [logits] = models.forward("class", rows, ["logits"], [0, [0] * 5 + [1] * 4])
    for got, row in ((models.results("class", "-p", "Caf\u00e9")[0], 0),
                     (models.results("class", "-p", "he did?", "--pair", "Unaffable")[0], 1)):
        wanted = softmax(logits[row])
        order = numpy.argsort(-wanted, kind="stable")
        assert [one["label"] for one in got] == [names[str(i)] for i in order], got
        close([one["score"] for one in got], wanted[order])
    by_ids = models.results("class", "--tokens", ",".join(map(str, rows[0])))[0]
    assert by_ids == models.results("class", "-p", "cafe")[0]
    assert len(models.run("class", "-p", "cafe", "--top-k", "0").stdout.splitlines()) == 3
    shown = models.run("class", "-p", "cafe", "--top-k", "1").stdout
    assert shown == f"{by_ids[0]['score']:.4f}\t{by_ids[0]['label']}\n", shown
    models.run("class", "-p", "a", "--chat", fails="class: text-classification has no use for --chat, which belongs to models that generate text")
    check_problems(models)
    check_rerankers(models)


def check_problems(models):
    """Classes that may hold together have probabilities of their own, and a regression gives its numbers: weight files that say so."""
    [path] = [os.path.join(models.work, name) for name in os.listdir(models.work) if name.startswith("class-") and name.endswith(".weights")]
    with open(path, "rb") as file:
        content = file.read()
    [[logits]] = models.forward("class", [ids_of("[CLS] cafe [SEP]")], ["logits"])
    single = b'"problem_type":"single_label_classification"'
    assert content.count(single) == 1
    for problem, wanted in (("multi_label_classification", 1 / (1 + numpy.exp(-logits.astype(float)))), ("regression", logits)):
        with open(os.path.join(models.work, "other.weights"), "wb") as file:
            file.write(content.replace(single, f'"problem_type":"{problem}"'.encode().ljust(len(single))))
        got = models.results("class", "-p", "cafe", "--weights", file.name, "--any-weights")[0]
        order = numpy.argsort(-wanted, kind="stable")
        assert [one["label"] for one in got] == [["good", "bad", "\u00fcgly"][i] for i in order], got
        close([one["score"] for one in got], wanted[order])


def check_rerankers(models):
    """One class stands for itself; a reranker's configuration may ask for the logit."""
    for name, function in (("rerank", lambda x: x), ("relevance", lambda x: 1 / (1 + numpy.exp(-x)))):
        [[logits]] = models.forward(name, [ids_of("[CLS] cafe [SEP]")], ["logits"])
        [[got]] = models.results(name, "-p", "cafe")
        close([got["score"]], function(logits.astype(float)))


def check_pieces(models):
    shown = models.run("class", "-p", "unaffable", "--pair", "é", "--tokenize").stdout
    assert shown == "".join(f"{ID[word]}\t{word}\n" for word in "[CLS] un ##aff ##able [SEP] e [SEP]".split()), shown
    shown = models.run("answer", "-p", "paris", "--question", "where", "--tokenize", "--json").stdout
    assert json.loads(shown)["pieces"] == "[CLS] where [SEP] paris [SEP]".split(), shown
    models.run("class", "-p", "a", "--tokenize", "--chat", fails="class: text-classification has no use for --chat")


def check_tokens(models):
    names = ["I-LOC", "B-LOC", "O"]
    text = "\u4e2d Caf\u00e9-unaffable  [SEP]x, paris caf\u0065\u0301!"
    ids = ids_of("[CLS] [UNK] cafe - un ##aff ##able [SEP] [UNK] , paris cafe ! [SEP]")
    spans = ["\u4e2d", "Caf\u00e9", "-", "un", "aff", "able", "[SEP]", "x", ",", "paris", "cafe\u0301", "!"]
    [got] = models.results("tokens", "-p", text)
    [logits] = models.forward("tokens", [ids], ["logits"])
    wanted = softmax(logits[0])
    expected = [i for i in range(1, len(ids) - 1) if wanted[i].argmax() != 2]
    assert [one["index"] for one in got] == expected and 2 < len(expected) < 12, (got, expected)
    for one in got:
        place = one["index"]
        assert one["entity"] == names[wanted[place].argmax()] and one["word"] == WORDS[ids[place]], one
        assert text.encode()[one["start"]:one["end"]].decode() == spans[place - 1], one
        close(one["score"], wanted[place].max())
    shown = models.run("tokens", "-p", text).stdout.splitlines()
    assert shown[0] == f"{got[0]['score']:.4f}\t{got[0]['entity']}\t{got[0]['start']}-{got[0]['end']}\t{got[0]['word']}", shown


def best_span(logits, ids, begin, end):
    """The best (score, first, last) among tokens [begin, end), as Hugging Face's pipeline counts."""
    scores = []
    for part in logits:
        masked = numpy.full(len(ids), -10000.0)
        masked[0], masked[begin:end] = part[0], part[begin:end]
        scores.append(softmax(masked))
        scores[-1][0] = 0
    outer = numpy.tril(numpy.triu(numpy.outer(*scores)), 14)
    outer[:begin], outer[:, end:] = -1, -1
    first, last = numpy.unravel_index(outer.argmax(), outer.shape)
    return outer[first, last], first, last


def check_answers(models):
    question, text = "Where is Paris?", "Berlin lies in, Caf\u00e9 unaffable  city."
    asked = ids_of("[CLS] where is paris ? [SEP]")
    words = ids_of("berlin lies in , cafe un ##aff ##able city . [SEP]")
    spans = [(0, 6), (7, 11), (12, 14), (14, 15), (16, 21), (22, 31), (22, 31), (22, 31), (33, 37), (37, 38)]
    [got] = models.results("answer", "--question", question, "-p", text)
    ids = asked + words
    types = [0] * len(asked) + [1] * len(words)
    logits = [part[0] for part in models.forward("answer", [ids], ["start_logits", "end_logits"], [types])]
    wanted, first, last = best_span(logits, ids, len(asked), len(ids) - 1)
    close(got["score"], wanted)
    begin, end = spans[first - len(asked)][0], spans[last - len(asked)][1]
    assert (got["start"], got["end"]) == (begin, end), (got, first, last)
    assert got["answer"] == text.encode()[begin:end].decode()
    shown = models.run("answer", "--question", question, "-p", text).stdout
    assert shown == f"{got['score']:.4f}\t{begin}-{end}\t{got['answer']}\n", shown
    # Windows: 24 positions, 7 of them for the question, and 12 tokens that a window shares with the next.
    words = [word for word in ("a b c e is in the city of he".split() * 4)]
    [got] = models.results("answer", "--question", question, "-p", " ".join(words))
    best = (-1, 0, 0)
    for at in range(0, len(words), 5):
        part = words[at:at + 17]
        ids = asked + [ID[word] for word in part] + [ID["[SEP]"]]
        types = [0] * len(asked) + [1] * (len(part) + 1)
        logits = [p[0] for p in models.forward("answer", [ids], ["start_logits", "end_logits"], [types])]
        wanted, first, last = best_span(logits, ids, len(asked), len(ids) - 1)
        best = max(best, (wanted, first - len(asked) + at, last - len(asked) + at))
        if at + 17 >= len(words):
            break
    close(got["score"], best[0])
    assert got["answer"] == " ".join(words[best[1]:best[2] + 1]), (got, best)
    models.run("answer", "-p", "a", fails="answer: question-answering needs --question beside the text")
    models.run("answer", "--question", "a", "-p", " ", fails="the text that has the answer is empty")
    models.run("answer", "--question", "a " * 20, "-p", "a b c d", fails="the question takes 23 of 24 tokens")


def check_embeddings(models):
    file, out = os.path.join(models.work, "texts.txt"), os.path.join(models.work, "vectors.npy")
    with open(file, "w") as lines:
        lines.write("paris is the capital\n\nunaffable")
    got = models.results("embed", "-f", file)
    rows = [ids_of("[CLS] paris is the capital [SEP]"), ids_of("[CLS] [SEP]"), ids_of("[CLS] un ##aff ##able [SEP]")]
    [wanted] = models.forward("embed", rows, ["sentence_embedding"])
    assert numpy.array_equal(numpy.array(got, numpy.float32), wanted)
    assert models.run("embed", "-f", file, "--output", f"sentence_embedding={out}").stdout.count("\n") == 5
    assert numpy.array_equal(numpy.load(out), wanted)
    pooled = os.path.join(models.work, "pooled.npy")
    models.run("embed", "-p", "paris", "--output", f"pooler_output={pooled}", "--output", f"last_hidden_state={out}")
    hidden, pooler = models.forward("embed", [ids_of("[CLS] paris [SEP]")], ["last_hidden_state", "pooler_output"])
    assert numpy.array_equal(numpy.load(out), hidden) and numpy.array_equal(numpy.load(pooled), pooler)
    models.run("embed", "-p", "paris", "--output", f"logits={out}", fails="no tensor logits")
    told = models.run("sentence", "-p", "Paris is the capital", "-p", "Berlin", "--output", f"sentence_embedding={out}").stderr
    assert "modules.json: texts become vectors, as in sentence-transformers" in models.told, models.told
    assert "1 text has more than 5 tokens, at which sentence-transformers cuts them (max_seq_length); they are read whole" in told, told
    [wanted] = models.forward("sentence", [rows[0], ids_of("[CLS] berlin [SEP]")], ["sentence_embedding"])
    assert numpy.array_equal(numpy.load(out), wanted)
    card = models.run("mask").stdout
    assert card.endswith("run: with -p TEXT of at most 24 tokens\n"), card


def check_attention(models):
    """The weights of the encoder are the reference evaluator's, and are drawn with the tokens of each text."""
    ids, mask = numpy.zeros((2, 13), int), numpy.zeros((2, 13), int)
    rows = [ids_of("[CLS] paris is the capital [SEP]"), ids_of("[CLS] un ##aff ##able [SEP]")]
    for i, row in enumerate(rows):
        ids[i, :len(row)], mask[i, :len(row)] = row, 1
    folder, flags = os.path.join(models.work, "embed"), ("--random-weights=3", "--attention-weights", "--attention-log-sum-exp")
    got = attention_weights.compare(models.options, models.work, models.library("embed"), folder, {"input_ids": ids},
                                    {"attention_mask": mask}, {"attentions": mask, "log_sum_exp": mask}, *flags, more=("last_hidden_state",))
    maps, file = os.path.join(models.work, "maps"), os.path.join(models.work, "looked.txt")
    with open(file, "w") as lines:
        lines.write("paris is the capital\nunaffable\n")
    models.run("embed", "-f", file, "--attention-weights", maps)
    assert len(os.listdir(maps)) == 2 * (2 * 3 + 1)
    for i, row in enumerate(rows):
        tokens = [WORDS[token] for token in row]
        attention_weights.check_files(maps, f"row{i}-attentions", got["attentions"][i], (0,), (0, 1), tokens, tokens)
    models.run("class", "-p", "a", "--attention-weights", maps, fails="class does not give its attention weights: compile it with raptc --attention-weights")
    models.run("embed", "-p", "a", "--attention-weights", file, fails="looked.txt")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    parser.add_argument("--rapt-reference", required=True)
    parser.add_argument("--work")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-tasks-") as folder:
        models = Models(options, options.work or folder)
        checks = (check_fill_mask, check_classes, check_pieces, check_tokens, check_answers, check_embeddings, check_attention)
        for check in checks:
            check(models)
        print(f"{len(checks)} checks passed")
        passed.note("compiled", "family bert tokenizer WordPiece")


if __name__ == "__main__":
    sys.exit(main())
