"""Numbers up to 999,999, their English words, the pieces of both, and which numbers are held out."""

import random

PAD, END, UNKNOWN = 0, 1, 2
SPACE = "\u2581"
ONES = "zero one two three four five six seven eight nine".split()
TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SEED = 1729
# How many numbers of 1, 2, ... 6 digits are held out; the ten digits themselves are all learned.
HELD_OUT = (0, 10, 90, 200, 300, 400)

PIECES = ["<pad>", "</s>", "<unk>", SPACE, *"0123456789", *(SPACE + word for word in (*ONES, *TEENS, *TENS, "hundred", "thousand")),
          *("-" + word for word in ONES[1:])]
IDS = {piece: number for number, piece in enumerate(PIECES)}


def words(number):
    """The pieces of a number in words, such as _three _hundred _fourteen _thousand _one _hundred _fifty -nine."""
    if number >= 1000:
        return words(number // 1000) + [SPACE + "thousand"] + (words(number % 1000) if number % 1000 else [])
    if number >= 100:
        return words(number // 100) + [SPACE + "hundred"] + (words(number % 100) if number % 100 else [])
    if number >= 20:
        return [SPACE + TENS[number // 10 - 2]] + (["-" + ONES[number % 10]] if number % 10 else [])
    return [SPACE + (ONES[number] if number < 10 else TEENS[number - 10])]


def text(number):
    return "".join(words(number)).replace(SPACE, " ").strip()


def source(number):
    """Its digits as ids, with the end."""
    return [IDS[SPACE], *(IDS[digit] for digit in str(number)), END]


def target(number):
    return [*(IDS[piece] for piece in words(number)), END]


def range_of(digits):
    return (0 if digits == 1 else 10 ** (digits - 1)), 10**digits


def held_out():
    """Ascending."""
    numbers = random.Random(SEED)
    return sorted(n for digits, count in enumerate(HELD_OUT, 1) for n in numbers.sample(range(*range_of(digits)), count))


def tokenizer():
    """tokenizer.json: a Unigram model of T5's form."""
    added = [{"id": i, "content": PIECES[i], "special": True, "normalized": False, "lstrip": False, "rstrip": False, "single_word": False} for i in range(3)]
    space = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True}
    end = {"SpecialToken": {"id": "</s>", "type_id": 0}}
    sequence = lambda name: {"Sequence": {"id": name, "type_id": 0}}
    template = {"type": "TemplateProcessing", "single": [sequence("A"), end], "pair": [sequence("A"), end, sequence("B"), end],
                "special_tokens": {"</s>": {"id": "</s>", "ids": [END], "tokens": ["</s>"]}}}
    score = lambda piece: 0 if IDS[piece] < 3 else -2 if len(piece) == 1 else -1
    model = {"type": "Unigram", "unk_id": UNKNOWN, "vocab": [[piece, score(piece)] for piece in PIECES], "byte_fallback": False}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None, "pre_tokenizer": space,
            "post_processor": template, "decoder": space, "model": model}
