"""Dates as people write them, beside ISO 8601, and which characters each digit comes from.

example(random, held) gives (source, target, spans): spans[i] is the half-open range of characters of the source that
character i of the target comes from, None for the hyphens. Every tenth day is held out: `held` examples have only such
days, the others none.
"""

import datetime

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
FIRST, LAST = datetime.date(1950, 1, 1), datetime.date(2049, 12, 31)
# {d} day, {D} day of two digits, {o} ordinal day, {m} month, {M} month of two digits, {n} name, {a} abbreviation,
# {y} year, {s} year of two digits, {w} weekday, {x} its abbreviation.
FORMATS = (
    "{d} {n} {y}", "{d} {a} {y}", "{D} {a} {y}", "{o} {n} {y}", "{o} of {n} {y}", "the {o} of {n}, {y}", "{n} {d}, {y}", "{a} {d}, {y}",
    "{n} {o}, {y}", "{a}. {d}, {y}", "{w}, {d} {n} {y}", "{w}, {n} {d}, {y}", "{x} {d} {a} {y}", "{x}, {D} {a} {y}", "{w} the {o} of {n} {y}",
    "{d}.{m}.{y}", "{D}.{M}.{y}", "{d}. {n} {y}", "{m}/{d}/{y}", "{M}/{D}/{y}", "{y}/{M}/{D}", "{y} {n} {d}", "{y}, {o} {n}", "{y}-{a}-{D}",
    "{D}-{a}-{y}", "{d} {n} '{s}", "{a} {d} '{s}", "{d}.{m}.{s}", "{m}/{d}/{s}", "{d}-{a}-{s}",
)


def ordinal(day):
    return f"{day}{'th' if 10 < day < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


def isHeld(date):
    return date.toordinal() % 10 == 7


def render(date, form):
    """The text, and for each part of the date ("y", "m", "d") the range of its characters."""
    y, m, d = date.year, date.month, date.day
    month, week = MONTHS[m - 1], DAYS[date.weekday()]
    values = {"d": ("d", str(d)), "D": ("d", f"{d:02}"), "o": ("d", ordinal(d)), "m": ("m", str(m)), "M": ("m", f"{m:02}"), "n": ("m", month),
              "a": ("m", month[:3]), "y": ("y", str(y)), "s": ("y", f"{y % 100:02}"), "w": (None, week), "x": (None, week[:3])}
    text, ranges, i = "", {}, 0
    while i < len(form):
        if form[i] != "{":
            text += form[i]
            i += 1
            continue
        part, value = values[form[i + 1]]
        if part:
            ranges[part] = (len(text), len(text) + len(value) - (2 if form[i + 1] == "o" else 0))
        text += value
        i += 3
    return text, ranges


def spansOf(ranges, text):
    """The source of each character of the ISO date: digits that the source has come from that digit, the others from the whole part."""
    spans = []
    for part, digits in (("y", 4), ("m", 2), ("d", 2)):
        begin, end = ranges[part]
        for i in range(digits):
            place = end - digits + i
            spans.append((place, place + 1) if text[begin].isdigit() and place >= begin else (begin, end))
        spans.append(None)
    return spans[:-1]


def example(random, held):
    while True:
        date = datetime.date.fromordinal(random.randint(FIRST.toordinal(), LAST.toordinal()))
        if isHeld(date) == held:
            break
    text, ranges = render(date, random.choice(FORMATS))
    style = random.randrange(3)
    spans = spansOf(ranges, text)
    return (text, text.title(), text.upper())[style], date.isoformat(), spans


def vocabulary():
    """Tokens by id: special ones, then characters. Sources are read in lower case."""
    letters = "".join(MONTHS + DAYS) + "stndrdthof"
    characters = sorted(set(letters + "0123456789 ',-./"))
    return ["<pad>", "<s>", "</s>", "<unk>"] + characters
