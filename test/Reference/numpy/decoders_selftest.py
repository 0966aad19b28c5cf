#!/usr/bin/env python3
"""Checks the decoder families of decoders/ on random tensors.

Each quirk switched off changes the logits of some case; a later token changes no earlier row; every tensor is read. Layers that carry states
give the same in pieces, token by token, and in closed form. Prints "N passed, N failed"; exit status 1 if any failed.
"""

import sys
import types

import numpy

import linear_attention_formula
from decoder_families import FAMILIES
from decoders import common, delta_hybrids, kimi, mamba, mamba_hybrids, olmo_hybrid, short_convs, states

MODULES = (mamba, mamba_hybrids, short_convs, delta_hybrids, olmo_hybrid, kimi)
STATEFUL = {name: types.SimpleNamespace(**facts) for module in MODULES for name, facts in module.FAMILIES.items()}


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
        if isinstance(model, states.Stateful):
            wrong += [f"{name} {case}: {fault}" for fault in stateful_faults(model, ids, logits)]
        shown |= {quirk for quirk in family.QUIRKS if differ(family.Model(config, tensors, {quirk}).logits(ids), logits) > 1e-3}
    return wrong + [f"{name}: no case shows '{quirk}'" for quirk in family.QUIRKS if quirk not in shown]


def closed_form(state, query, key, value, decay, beta=None):
    """states.recurrence by the formula, head by head."""
    heads = [linear_attention_formula.closed_form(query[:, head], key[:, head], value[:, head], decay[:, head], None if beta is None else beta[:, head], before)
             for head, before in enumerate(state)]
    return numpy.stack([outputs for outputs, _ in heads], 1), numpy.stack([last for _, last in heads])


def shifted_rows(rows, weight, bias, before):
    """states.short_conv by the formula."""
    return linear_attention_formula.convolved(rows, weight[:, 0].T, bias, before)[0]


def stateful_faults(model, ids, logits):
    """What differs where a text comes in pieces or the recurrence is computed otherwise."""
    whole = model.states_after(ids)
    if all(part is None for layer in whole for part in layer):
        yield "no layer carries a state"
    for what, pieces in (("two pieces", [ids[:9], ids[9:]]), ("tokens one by one", ids.reshape(-1, 1))):
        if differ(model.in_pieces(pieces), logits) > 1e-12:
            yield f"{what}: other logits"
        if any(differ(model.memory[layer, kind], state) > 1e-12 for layer, kept in enumerate(whole)
               for kind, state in zip(("conv", "matrix"), kept) if state is not None):
            yield f"{what}: other states"
    model.recurrence, model.short_conv = closed_form, shifted_rows
    if differ(model.in_pieces([ids[:9], ids[9:]]), logits) > 1e-11:
        yield "the closed form: other logits"
    if any(differ(state, expected) > 1e-11 for kept, layer in zip(model.states_after(ids), whole)
           for state, expected in zip(kept, layer) if expected is not None):
        yield "the closed form: other states"
    del model.recurrence, model.short_conv


def main():
    failed, families = 0, {**FAMILIES, **STATEFUL}
    for name, family in families.items():
        wrong = check(name, family)
        failed += bool(wrong)
        print("\n".join(wrong) or f"PASS {name}")
    print(f"{len(families) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
