"""Random expressions, and the order of their characters in postfix notation."""

LETTERS, LEVELS = "abcdefghijklmnopqrstuvwxyz", {"+": 1, "-": 1, "*": 2, "/": 2}
MOST = 6  # letters


def write(generator, letters, text, level=0):
    """Appends a random expression of the letters to the characters `text`, in brackets where one of `level` needs them. Gives the
    offsets of its characters in the order of postfix notation."""
    if len(letters) == 1:
        text.append(letters[0])
        return [len(text) - 1]
    operator, cut = generator.choice("+-*/"), generator.randint(1, len(letters) - 1)
    bracketed = LEVELS[operator] < level
    text += "(" * bracketed
    left = write(generator, letters[:cut], text, LEVELS[operator])
    text.append(operator)
    place = len(text) - 1
    order = left + write(generator, letters[cut:], text, LEVELS[operator] + 1) + [place]
    text += ")" * bracketed
    return order


def example(generator):
    text = []
    order = write(generator, generator.sample(LETTERS, generator.randint(2, MOST)), text)
    return "".join(text), order
