"""Lines of a grammar in which verbs agree with subjects that may stand far before them, and the probability of each."""

import math
import random

NOUNS = "dog cat bird king child farmer horse girl".split()
VERBS = "sees hears likes follows".split()
ALONE = "sleeps sings runs waits".split()
ENDS = ["", " again", " by the river", " in the old town", " every night"]
PLURAL = {"child": "children"}
CHARACTERS = "".join(NOUNS + VERBS + ALONE + ENDS + ["the a two that children."])


class Grammar:
    """Random lines, and in `nats` the negative logarithm of the probability of all that were made."""

    def __init__(self, seed):
        self.random, self.nats = random.Random(seed), 0

    def pick(self, choices):
        self.nats += math.log(len(choices))
        return self.random.choice(choices)

    def happens(self, share):
        """True with that probability."""
        found = self.random.random() < share
        self.nats -= math.log(share if found else 1 - share)
        return found

    def noun(self, plural):
        word = self.pick(NOUNS)
        return self.pick(["the ", "two " if plural else "a "]) + (PLURAL.get(word, word + "s") if plural else word)

    def verb(self, words, plural):
        return self.pick(words)[:-1 if plural else None]

    def clause(self, depth):
        """A subject, with up to `depth` nested clauses, and whether it is plural."""
        plural = self.pick([False, True])
        text, kind = self.noun(plural), ""
        if depth and self.happens((1 / 8, 1 / 2)[depth - 1]):
            kind = self.pick(["subject", "object"])
        if kind == "subject":
            text += " that " + self.verb(VERBS, plural) + " " + self.noun(self.pick([False, True]))
        if kind == "object":
            inner, many = self.clause(depth - 1)
            text += " that " + inner + " " + self.verb(VERBS, many)
        return text, plural

    def line(self):
        text, plural = self.clause(2)
        return text + " " + self.verb(ALONE, plural) + self.pick(ENDS) + ".\n"

    def text(self, size):
        """Lines; the last one is cut where the text has `size` characters."""
        text = ""
        while len(text) < size:
            text += self.line()
        return text[:size]
