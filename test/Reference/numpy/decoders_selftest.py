#!/usr/bin/env python3
"""Checks the decoder families of decoders/ on random tensors.

Each quirk switched off changes the logits of some case; a later token changes no earlier row; every tensor is read. Prints "N passed, N
failed"; exit status 1 if any failed.
"""

import sys

import numpy

from decoder_families import FAMILIES
from decoders import common


def differ(a, b):
    return numpy.linalg.norm(a - b) / numpy.linalg.norm(b)


def check(name, family):
    """The faults of a family, as lines."""
    wrong, shown = [], set()
    for case, changes in family.CASES.items():
        config = {key: value for key, value in {**family.SMALL, **changes}.items() if value != "absent"}
        config["torch_dtype"] = "float32"
        tensors = common.draw(family.shapes(config), 1, getattr(family, "AROUND_ONE", ()))
        ids = numpy.random.RandomState(2).randint(0, config["vocab_size"], 23)
        model = family.Model(config, tensors)
        logits = model.logits(ids)
        words = getattr(family, "words", lambda config: config["vocab_size"])(config)
        if not numpy.isfinite(logits).all() or logits.shape != (23, words):
            wrong.append(f"{name} {case}: logits {logits.shape} that are not finite, or not of {words} words")
        unread = set(tensors) - model.read
        if unread:
            wrong.append(f"{name} {case}: tensors that nothing reads: {sorted(unread)}")
        other = ids.copy()
        other[17] = (other[17] + 1) % config["vocab_size"]
        if differ(model.logits(other)[:17], logits[:17]) > 1e-12:
            wrong.append(f"{name} {case}: a later token changes an earlier row")
        shown |= {quirk for quirk in family.QUIRKS if differ(family.Model(config, tensors, {quirk}).logits(ids), logits) > 1e-3}
    return wrong + [f"{name}: no case shows '{quirk}'" for quirk in family.QUIRKS if quirk not in shown]


def main():
    failed = 0
    for name, family in FAMILIES.items():
        wrong = check(name, family)
        failed += bool(wrong)
        print("\n".join(wrong) or f"PASS {name}")
    print(f"{len(FAMILIES) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
