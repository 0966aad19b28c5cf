"""Sentences with the part of speech of each word, which some words have several of."""

FOLLOWS = {"": ["DET", "PRON"], "DET": ["ADJ", "NOUN"], "ADJ": ["ADJ", "NOUN"], "NOUN": ["VERB", "MODAL", "PREP", "."], "PRON": ["VERB", "MODAL", "."],
           "MODAL": ["VERB"], "VERB": ["DET", "PRON", "PREP", "."], "PREP": ["DET", "PRON"], ".": []}
WORDS = {"DET": "the a her my every", "PRON": "you it someone everyone", "MODAL": "can will must may", "PREP": "in near with by behind", ".": ".",
         "ADJ": "old young good little green light cold", "NOUN": "man can will ship watch fish light cold green book duck boats girl house tree old young good",
         "VERB": "man can will ship watch fish light book duck see like hear"}
WORDS = {tag: words.split() for tag, words in WORDS.items()}
LONGEST = 16


def paths(words):
    """How many paths make the sentence."""
    counts = {"": 1}
    for word in words:
        after = {}
        for tag, count in counts.items():
            for following in FOLLOWS[tag]:
                if word in WORDS[following]:
                    after[following] = after.get(following, 0) + count
        counts = after
    return counts.get(".", 0)


def example(generator):
    """(words, tags) of a sentence that has one path."""
    while True:
        words, tags, tag = [], [], ""
        while tag != "." and len(words) <= LONGEST:
            tag = generator.choice(FOLLOWS[tag])
            tags.append(tag)
            words.append(generator.choice(WORDS[tag]))
        if 3 < len(words) <= LONGEST and paths(words) == 1:
            return words, tags
