#!/usr/bin/env python3
"""The segments of a window as Whisper's transcribe.py cuts them, written again from its rules. As a program it writes
segments.json: random tokens, many of them with timestamps as a model writes them, and what the rules make of them. A
number says how many cases are written, 160 by default."""

import json
import random
import sys
from pathlib import Path


def cut_parts(tokens, begin, stride, window_begin, window_frames):
    """[[first frame, last frame, tokens], ...] and the frames to the next window."""
    is_time = [token >= begin for token in tokens]
    text = "".join("T" if time else "w" for time in is_time)
    pairs = [at for at in range(1, len(text)) if text[at - 1:at + 1] == "TT"]
    alone = text.endswith("wT")
    parts, advance = [], window_frames
    if pairs:
        borders = [0] + pairs + ([len(tokens)] if alone else [])
        for first, last in zip(borders, borders[1:]):
            part = tokens[first:last]
            # A first token that is no timestamp would stand for a time before the window.
            parts.append((max(0, part[0] - begin) * stride, (part[-1] - begin) * stride, part))
        if not alone:
            advance = (tokens[borders[-1] - 1] - begin) * stride
    else:
        times = [token - begin for token in tokens if token >= begin]
        end = times[-1] * stride if times and times[-1] != 0 else window_frames
        parts.append((0, end, tokens))
    # The reference would read the same window again and again where nothing advances.
    advance = advance or window_frames
    return [[window_begin + first, window_begin + last, part] for first, last, part in parts if first < last], advance


def cut(tokens, begin, stride, window_begin, window_frames):
    """[[first frame, last frame, words], ...] and the frames to the next window."""
    parts, advance = cut_parts(tokens, begin, stride, window_begin, window_frames)
    return [[first, last, [token for token in part if token < begin]] for first, last, part in parts], advance


def written(random, begin, frames, stride):
    """Tokens in the order that the rules of timestamps allow, ended anywhere."""
    tokens, time = [begin + random.choice([0, 0, 0, 1, 3])], 0
    time = tokens[0] - begin
    for _ in range(random.randrange(5)):
        tokens += [random.randrange(begin) for _ in range(random.randrange(1, 4))]
        time = min(time + random.choice([0, 0, 1, 2, 5, 9]), frames // stride)
        tokens.append(begin + time)
        if random.random() < 0.2:
            break
        time = min(time + random.choice([0, 0, 0, 2]), frames // stride)
        tokens.append(begin + time)
    return tokens[:random.randrange(len(tokens) + 1)] if random.random() < 0.4 else tokens


def main():
    generator, cases = random.Random(3), []
    for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 160):
        begin, stride = generator.choice([4, 30]), generator.choice([1, 2, 3])
        frames = generator.choice([1, 7, 60, 60])
        if number % 3:
            tokens = written(generator, begin, 60, stride)
        else:
            tokens = [generator.randrange(begin + 6) for _ in range(generator.randrange(9))]
        start = generator.choice([0, 60, 1001])
        segments, advance = cut(tokens, begin, stride, start, frames)
        cases.append({"tokens": tokens, "begin": begin, "stride": stride, "window": [start, frames],
                      "segments": segments, "advance": advance})
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    Path(__file__).with_name("segments.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
