"""Lines for comparing tokenizers: every code point of all planes, random mixtures, real text.

    python3 make_lines.py lines.jsonl [real text ...]

Each line is {"text": ...}, and every eighth one has a "pair" too."""
import json
import random
import sys
import unicodedata

SPACES = " \t\n\r\x0b\x0c\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\u180e\u200b\u2060\ufeff"
WORDS = ("the model reads a text don't we've I'M they'll IT'S naïve café ÅNGSTRÖM straße ΣΊΣΥΦΟΣ İstanbul ﬁne １２３ ½ ⅷ ٣٤ "
         "日本語 テキスト 한국어 العربية עברית हिन्दी ไทย Модель ▁under <s> </s> <unk> [MASK] [CLS] <|endoftext|> <0x0A> ## "
         "e\u0301 o\u0302\u0301 ﬁ\u0301 å ¼ ① ㎏ ｶﾞ 👩‍👩‍👧 🇩🇪🇫🇷 a.b,c;d 1,234.50 $100 #tag foo_bar x\u0000y \u00ad\u200d").split(" ")
# Blocks that scripts live in, so that random runs stay within a script as real text does.
BLOCKS = [(0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x530, 0x780), (0x780, 0xB00), (0xB00, 0xE00),
          (0xE00, 0x1100), (0x1100, 0x1400), (0x1400, 0x1A00), (0x1A00, 0x2000), (0x2000, 0x2070), (0x2070, 0x2C00),
          (0x2C00, 0x3000), (0x3000, 0x3400), (0x4E00, 0x4F00), (0xA000, 0xA900), (0xA900, 0xAC00), (0xAC00, 0xAC80),
          (0xF900, 0xFB00), (0xFB00, 0x10000), (0x10000, 0x10400), (0x10400, 0x11000), (0x11000, 0x12000),
          (0x16000, 0x17000), (0x1B000, 0x1B200), (0x1D000, 0x1D800), (0x1E000, 0x1F000), (0x1F000, 0x1FB00),
          (0x20000, 0x20100), (0x2B800, 0x2B940), (0x30000, 0x30100), (0xE0000, 0xE0200), (0xF0000, 0xF0040),
          (0x10FF00, 0x110000)]


def code_points():
    return [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def every_code_point():
    """Each one once: side by side, and every second line with letters and blanks between."""
    points = code_points()
    for number, begin in enumerate(range(0, len(points), 64)):
        part = points[begin:begin + 64]
        yield "".join(part) if number % 2 == 0 else "".join("a" + c + ("b " if i % 3 else "b") for i, c in enumerate(part))


def in_block(draw, length):
    low, high = draw.choice(BLOCKS)
    return "".join(chr(draw.randrange(low, high)) for _ in range(length))


def mixture(draw):
    parts = []
    for _ in range(draw.randrange(1, 14)):
        kind = draw.randrange(6)
        if kind == 0:
            parts.append("".join(draw.choice(SPACES) for _ in range(draw.randrange(1, 4))))
        elif kind == 1:
            parts.append(draw.choice(WORDS))
        elif kind == 2:
            parts.append(in_block(draw, draw.randrange(1, 9)))
        elif kind == 3:
            parts.append(" ")
        elif kind == 4:
            parts.append(draw.choice("aeiouxn日か") + "".join(chr(draw.randrange(0x300, 0x370)) for _ in range(draw.randrange(1, 4))))
        else:
            c = draw.randrange(0x110000)
            parts.append(chr(c) if not 0xD800 <= c < 0xE000 else draw.choice(WORDS))
    return "".join(parts)


def main():
    draw = random.Random(41)
    lines = list(every_code_point())
    lines += [mixture(draw) for _ in range(12000)]
    lines += [" ".join(draw.choice(WORDS) for _ in range(draw.randrange(1, 12))) for _ in range(3000)]
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8", errors="ignore") as file:
            lines += [line.rstrip("\n")[:400] for line in file][:3000]
    with open(sys.argv[1], "w", encoding="ascii") as output:
        for number, line in enumerate(lines):
            entry = {"text": line}
            if number % 8 == 7:
                entry["pair"] = lines[draw.randrange(len(lines))][:80]
            output.write(json.dumps(entry) + "\n")
    planes = {ord(c) >> 16 for line in lines for c in line}
    print(f"{len(lines)} lines, {len(planes)} planes, Unicode {unicodedata.unidata_version} names blocks")


main()
