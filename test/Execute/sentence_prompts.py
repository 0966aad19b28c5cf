#!/usr/bin/env python3
"""Prompts of sentence-transformers: rapt-run gives the vector of the prompt's text and the text, by name and by default; whatever cannot be done is refused.

    sentence_prompts.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run [--work DIR]

The model is seeded; the tokenizer is the WordPiece of bert_tasks.py.
"""

import argparse
import json
import os
import subprocess
import tempfile

import numpy

import bert_tasks

PROMPTS = {"query": "where is ", "document": "what : ", "empty": ""}
SETTINGS = {"__version__": {"sentence_transformers": "5.1.0"}, "model_type": "SentenceTransformer", "prompts": PROMPTS,
            "default_prompt_name": None, "similarity_fn_name": "cosine"}
MODULES = [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
           for i, (path, kind) in enumerate((("", "Transformer"), ("1_Pooling", "Pooling")))]


# What a prompt does is of the program that runs models: the same for each target. The generic one compiles in half of the time.
FAST = () if os.environ.get("RAPT_FULL") == "1" else ("--target=generic",)


class Models:
    def __init__(self, options, work):
        self.options, self.work = options, work

    def compiled(self, name, settings, pooling, head=None, modules=MODULES):
        """A library of the model with these settings; null: no file. The warnings beside it."""
        folder, library = os.path.join(self.work, name), os.path.join(self.work, name + ".so")
        os.makedirs(os.path.join(folder, "1_Pooling"))
        config = {**bert_tasks.CONFIG, "architectures": ["BertFor" + head if head else "BertModel"]}
        files = {"config.json": config, "tokenizer.json": bert_tasks.tokenizer(), "modules.json": modules,
                 "1_Pooling/config.json": pooling, "config_sentence_transformers.json": settings}
        for file, content in files.items():
            if content is not None:
                with open(os.path.join(folder, file), "w") as out:
                    json.dump(content, out)
        done = subprocess.run([self.options.raptc, folder, *FAST, "--random-weights=3", "-o", library], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return library, [line for line in done.stderr.splitlines() if "warning" in line]

    def vector(self, library, *arguments):
        done = subprocess.run([self.options.rapt_run, library, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def refused(self, message, library, *arguments, status=1):
        done = subprocess.run([self.options.rapt_run, library, *arguments], capture_output=True, text=True)
        assert done.returncode == status and message in done.stderr, (arguments, done.returncode, done.stderr)


def check_names(models):
    library, warnings = models.compiled("named", SETTINGS, {"pooling_mode": "mean"})
    assert not warnings, warnings
    plain, asked = models.vector(library, "-p", "paris"), models.vector(library, "-p", "where is paris")
    assert plain != asked
    assert models.vector(library, "-p", "paris", "--prompt-name", "query") == asked
    assert models.vector(library, "-p", "paris", "--prompt-name", "document") == models.vector(library, "-p", "what : paris")
    assert models.vector(library, "-p", "paris", "--prompt-name", "empty") == plain == models.vector(library, "-p", "paris", "--prompt-name", "")
    both = models.vector(library, "-p", "paris", "-p", "berlin", "--prompt-name=query")
    assert both == models.vector(library, "-p", "where is paris", "-p", "where is berlin")
    pair = models.vector(library, "-p", "paris", "--pair", "berlin", "--prompt-name=query")
    assert pair == models.vector(library, "-p", "where is paris", "--pair", "berlin")
    file = os.path.join(models.work, "texts.txt")
    with open(file, "w") as out:
        out.write("paris\nberlin\n")
    assert models.vector(library, "-f", file, "--prompt-name=query") == both
    models.refused("has no prompt passage for --prompt-name; it has query, document, empty", library, "-p", "paris", "--prompt-name=passage")
    models.refused("--prompt-name needs --prompt or --file", library, "--tokens", "1,2", "--prompt-name=query", status=2)
    models.refused("24", library, "-p", "a " * 21, "--prompt-name=query")  # the prompt counts
    models.vector(library, "-p", "a " * 21)


def check_default(models):
    library, _ = models.compiled("default", {**SETTINGS, "default_prompt_name": "query"}, {"pooling_mode": "cls", "include_prompt": False})
    asked = models.vector(library, "-p", "where is paris", "--prompt-name", "")
    assert models.vector(library, "-p", "paris") == asked == models.vector(library, "-p", "paris", "--prompt-name=query")
    assert models.vector(library, "-p", "paris", "--prompt-name", "") != asked
    ids = ",".join(str(i) for i in bert_tasks.ids_of("[CLS] where is paris [SEP]"))
    assert models.vector(library, "--tokens", ids) == asked


def check_refused(models):
    library, [warning] = models.compiled("left-out", {**SETTINGS, "default_prompt_name": "query"}, {"pooling_mode": "mean", "include_prompt": False})
    assert "include_prompt of its Pooling is false" in warning, warning
    message = "its pooling leaves out the tokens of prompts (include_prompt is false)"
    models.refused(message, library, "-p", "paris")
    models.refused(message, library, "-p", "paris", "--prompt-name=document")
    assert models.vector(library, "-p", "paris", "--prompt-name=empty") == models.vector(library, "-p", "paris", "--prompt-name", "")
    for name, settings in (("none", None), ("no-prompts", {**SETTINGS, "prompts": {}})):
        library, _ = models.compiled(name, settings, {"pooling_mode": "mean"})
        models.refused("has no prompts, so --prompt-name names none", library, "-p", "paris", "--prompt-name=query")
        assert models.vector(library, "-p", "paris", "--prompt-name", "") == models.vector(library, "-p", "paris")
    library, _ = models.compiled("classes", SETTINGS, {"pooling_mode": "mean"}, head="SequenceClassification", modules=None)
    models.refused("has no use for --prompt-name, which belongs to feature-extraction", library, "-p", "paris", "--prompt-name=query")


def check_similarity(models):
    """Against numpy, on the vectors that rapt-run prints; distances are negative as in sentence-transformers."""
    texts = ("-p", "paris", "-p", "berlin lies in", "-p", "what is the capital")
    unit = lambda vectors: vectors / numpy.linalg.norm(vectors, axis=-1, keepdims=True)
    measures = {"cosine": lambda a, b: unit(a) @ unit(b).T, "dot": lambda a, b: a @ b.T,
                "euclidean": lambda a, b: -numpy.linalg.norm(a[:, None] - b, axis=-1), "manhattan": lambda a, b: -numpy.abs(a[:, None] - b).sum(-1)}
    for name, measure in measures.items():
        prompts = {} if name == "dot" else PROMPTS  # the similarity is kept without any prompt, too
        library, _ = models.compiled("of-" + name, {**SETTINGS, "prompts": prompts, "similarity_fn_name": name}, {"pooling_mode": "mean"})
        vectors = numpy.array(json.loads(models.vector(library, *texts, "--json"))["results"])
        found = json.loads(models.vector(library, *texts, "--similarity", "--json"))
        assert found["similarity"] == name and numpy.allclose(found["results"], measure(vectors, vectors), rtol=1e-6, atol=1e-6), (name, found)
        lines = models.vector(library, *texts, "--similarity").splitlines()
        assert [line.split("\t") for line in lines] == [[f"{number:.4f}" for number in row] for row in found["results"]], lines
    assert json.loads(models.vector(os.path.join(models.work, "none.so"), *texts, "--similarity", "--json"))["similarity"] == "cosine"
    models.refused("--similarity compares texts, but one is given; each -p is a text", library, "-p", "paris", "--similarity")
    models.refused("classes: text-classification has no use for --similarity, which belongs to feature-extraction",
                   os.path.join(models.work, "classes.so"), *texts, "--similarity")
    models.refused("has no use for --logprobs, which belongs to models that generate text", library, "-p", "paris", "--logprobs")
    library, _ = models.compiled("of-other", {**SETTINGS, "similarity_fn_name": "jaccard"}, {"pooling_mode": "mean"})
    models.refused('names the similarity "jaccard"; expected cosine, dot, euclidean or manhattan', library, *texts, "--similarity")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    parser.add_argument("--work")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rapt-prompts-") as temporary:
        models = Models(options, options.work or temporary)
        for check in (check_names, check_default, check_refused, check_similarity):
            check(models)
            print(check.__name__, "passed")


if __name__ == "__main__":
    main()
