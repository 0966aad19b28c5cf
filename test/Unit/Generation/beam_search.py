#!/usr/bin/env python3
"""Hugging Face's beam search (GenerationMixin._beam_search of transformers 4.50 and later) written again in NumPy, one
prompt at a time, with its masks of -1e9 instead of lists that grow. As a program it writes beams.json: random tables of
logits, many of them with ties, and what the search makes of them. Needs python3-numpy."""

import json
import math
import random
from pathlib import Path

import numpy as np

NONE = -1e9


def log_softmax(logits):
    """Summed in order with the C library's functions, so that ties break alike everywhere."""
    largest = max(logits)
    total = 0.0
    for logit in logits:
        total += math.exp(logit - largest)
    return np.array([logit - largest - math.log(total) for logit in logits], np.float64)


def top(values, count):
    return np.argsort(-values, kind="stable")[:count]


def biased(sequence, scores, sequence_bias):
    """SequenceBiasLogitsProcessor; NoBadWordsLogitsProcessor with a bias of -infinity."""
    bias = np.zeros_like(scores)
    for ids, number in sequence_bias:
        if len(ids) == 1:
            bias[ids[0]] += number
        elif len(ids) <= len(sequence) and sequence[-(len(ids) - 1):] == ids[:-1]:
            bias[ids[-1]] += number
    return scores + bias


def process(sequence, scores, penalty, ngram, sequence_bias=(), bad_words=()):
    """SequenceBiasLogitsProcessor, RepetitionPenaltyLogitsProcessor, NoRepeatNGramLogitsProcessor and NoBadWordsLogitsProcessor."""
    scores = biased(sequence, scores, sequence_bias)
    if penalty != 1:
        seen = np.unique(sequence)
        scores[seen] = np.where(scores[seen] < 0, scores[seen] * penalty, scores[seen] / penalty)
    if ngram and len(sequence) + 1 >= ngram:
        banned = {}
        for start in range(len(sequence) - ngram + 1):
            banned.setdefault(tuple(sequence[start:start + ngram - 1]), []).append(sequence[start + ngram - 1])
        for token in banned.get(tuple(sequence[len(sequence) - ngram + 1:]), []):
            scores[token] = -np.inf
    return biased(sequence, scores, [(ids, -np.inf) for ids in bad_words])


def beam_search(logits_of, prompt, beams, returned, most, ends, length_penalty=1.0, early_stopping=False,
                repetition_penalty=1.0, ngram=0, rules=None, sequence_bias=(), bad_words=()):
    """[(tokens without the prompt, score)], best first. `logits_of(sequence)`: list of logits behind a sequence;
    `rules(sequence, scores)`: its scores, with -infinity for tokens that may not come."""
    keep = max(2, 1 + len(ends)) * beams
    in_top = np.arange(keep) < beams
    running = [list(prompt) for _ in range(beams)]
    running_scores = np.full(beams, NONE)
    running_scores[0] = 0
    sequences, scores, finished = [None] * beams, np.full(beams, NONE), np.zeros(beams, bool)
    for length in range(1, most + 1):
        processed = [process(sequence, log_softmax(logits_of(sequence)), repetition_penalty, ngram, sequence_bias, bad_words) for sequence in running]
        if rules:
            processed = [rules(sequence, scores) for sequence, scores in zip(running, processed)]
        accumulated = np.stack(processed) + running_scores[:, None]
        vocabulary = accumulated.shape[1]
        chosen = top(accumulated.ravel(), keep)
        chosen_scores = accumulated.ravel()[chosen]
        extended = [running[index // vocabulary] + [int(index % vocabulary)] for index in chosen]
        hits = np.array([sequence[-1] in ends or length == most for sequence in extended])

        going_on = chosen_scores + hits * NONE
        order = top(going_on, beams)
        running, running_scores = [extended[index] for index in order], going_on[order]

        full = finished.all() and early_stopping is True
        final = chosen_scores / length**length_penalty + full * NONE + ~(hits & in_top) * NONE
        merged = np.concatenate([scores, final])
        order = top(merged, beams)
        everything = sequences + extended
        sequences, scores = [everything[index] for index in order], merged[order]
        finished = np.concatenate([finished, hits & in_top])[order]

        best_length = most if early_stopping == "never" and length_penalty > 0 else length
        worst = np.where(finished, scores.min(), NONE)
        improvable = (running_scores[0] / best_length**length_penalty > worst).any()
        if not improvable or (finished.all() and early_stopping is True) or hits.all():
            break
    return [(sequences[index][len(prompt):], scores[index]) for index in range(returned) if finished[index]]


def table(seed, count, levels):
    """`count` numbers with `levels` different values, which the test makes in the same way."""
    state, result = seed, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        result.append(((state >> 40) % levels) * 8 / levels)
    return result


def sequences(rng, vocabulary):
    """Lists of ids with biases, each list once. No bias is a difference of logits of a table, which would tie with rounding alone."""
    lists = {tuple(rng.randrange(vocabulary) for _ in range(rng.choice([1, 2, 2, 3]))) for _ in range(vocabulary)}
    return [[list(ids), rng.choice([-6.137, -1.511, 0.2713, 2.0371, 4.913])] for ids in sorted(lists)]


def case(rng, more):
    beams = rng.randrange(1, 7)
    vocabulary = rng.randrange(3 * beams + 2, 3 * beams + 12)
    case = {"seed": rng.randrange(1 << 40), "levels": rng.choice([2, 8, 64, 1 << 20]), "vocabulary": vocabulary,
            "prompt": [rng.randrange(vocabulary) for _ in range(rng.randrange(1, 5))], "beams": beams,
            "returned": rng.randrange(1, beams + 1), "most": rng.randrange(1, 12),
            "ends": sorted(rng.sample(range(vocabulary), rng.randrange(0, 3))),
            "length_penalty": rng.choice([-1.0, 0.0, 0.5, 1.0, 1.0, 2.0]),
            "early_stopping": rng.choice([False, True, "never"]),
            "repetition_penalty": rng.choice([1.0, 1.0, 1.25]), "ngram": rng.choice([0, 0, 2, 3])}
    if more.random() < 0.4:
        case["sequence_bias"] = sequences(more, vocabulary)
    if more.random() < 0.3:
        case["bad_words"] = [ids for ids, _ in sequences(more, vocabulary) if len(ids) > 1]
    rows = table(case["seed"], vocabulary * vocabulary * 3, case["levels"])

    def logits_of(sequence):
        row = (len(sequence) % 3 * vocabulary + sequence[-1]) * vocabulary
        return rows[row:row + vocabulary]

    arguments = {key: case[key] for key in case if key not in ("seed", "levels", "vocabulary")}
    case["expected"] = [{"tokens": tokens, "score": float(score)}
                        for tokens, score in beam_search(logits_of, **arguments)]
    return case


if __name__ == "__main__":
    generator, generator_of_biases = random.Random(1), random.Random(3)
    lines = ",\n".join(json.dumps(case(generator, generator_of_biases)) for _ in range(120))
    Path(__file__).with_name("beams.json").write_text(f"[\n{lines}\n]\n")
