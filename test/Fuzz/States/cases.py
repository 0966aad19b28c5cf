"""Draws kernels of linear attention and of short convolutions, and the rows that each is called with."""

import dataclasses
import random as randoms

from state_kernels import LinearAttention, ShortConv

CHANNELS = (1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 32, 33, 40, 48, 64, 65, 96, 128)
LENGTHS = (0, 0, 1, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 129)
DECAYS = ((-30, 0), (-30, -20), (-2, 0), (-2, 0), (-1e-3, 0), (-1e-6, 0), (0, 0))
BETAS = ((0, 2), (0, 2), (0, 1), (0, 0), (1, 1), (2, 2))
STATES = ("none", "rows", "rows", "slots", "layer")
CALLS = 3  # of a kernel, as they cost little beside its compilation
MOST = 1 << 20  # numbers of states that all tokens of a call change


@dataclasses.dataclass(frozen=True)
class Case:
    """A kernel and a call. `cut`: where its text of one row is cut in two, or 0."""

    kernel: object
    lengths: tuple
    seed: int
    decays: tuple = (-2, 0)
    betas: tuple = (0, 2)
    cut: int = 0

    def work(self):
        kernel = self.kernel
        return sum(self.lengths) * (kernel.outputs * kernel.channels[0] * kernel.channels[1] if isinstance(kernel, LinearAttention) else kernel.taps * kernel.channels)


def heads_of(r, pairing):
    """Heads of queries, keys and values: those of keys and values are multiples of one another, queries share states or the reverse."""
    few, times = r.choice((1, 1, 2, 3)), r.choice((1, 1, 2, 3))
    keys, values = r.choice(((few, few), (few, few * times), (few * times, few)))
    states = max(keys, values)
    fewer = [heads for heads in range(1, states + 1) if states % heads == 0]
    return r.choice([*fewer, states] if pairing == "remainder" else [*fewer, states, 2 * states]), keys, values


def linear_attention(r, label):
    kind, pairing = r.choice(("linear", "gated", "gated", "delta", "gated_delta", "gated_delta")), r.choice(("neighbors", "neighbors", "remainder"))
    queries, keys, values = heads_of(r, pairing)
    return LinearAttention(kind, queries, keys, values, (r.choice(CHANNELS), r.choice(CHANNELS)), r.choice(("head", "channel")) if "gated" in kind else "", pairing,
                           r.choice(STATES), r.choice(("f32", "f32", "f32", "bf16", "f16")), r.choice((1.0, 1.0, 0.125, -0.5)), label)


def short_conv(r, label):
    taps = r.randint(1, 6)
    return ShortConv(r.choice((*CHANNELS, 160)), taps, r.choice((1, 1, 1, 2, 3, 7)), r.choice(("", "silu", "silu", "tanh")), r.random() < 0.5,
                     "none" if taps == 1 else r.choice(STATES), r.choice(("f32", "f32", "bf16", "f16")), label)


def draw(seed, index):
    """A call of kernel index / CALLS."""
    r = randoms.Random(f"kernel {seed} {index // CALLS}")
    kernel = (short_conv if r.random() < 0.2 else linear_attention)(r, f"k{index // CALLS}")
    r = randoms.Random(f"call {seed} {index}")
    case = Case(kernel, tuple(r.choice(LENGTHS) for _ in range(r.randint(0, 5))), r.randint(1, 1 << 30), r.choice(DECAYS), r.choice(BETAS))
    if kernel.state == "rows" and r.random() < 0.5:
        length = r.choice((2, 9, 17, 33, 65, 129))
        case = dataclasses.replace(case, lengths=(length,), cut=r.choice((1, length // 2, length // 8 * 8 or 1, length - 1)))
    while case.work() > MOST and max(case.lengths) > 1:
        case = dataclasses.replace(case, lengths=tuple(length // 2 for length in case.lengths), cut=case.cut // 2)
    return case


def smaller(case):
    """Simpler cases by one step; not all of them are kernels."""
    for number, length in enumerate(case.lengths):
        without = case.lengths[:number] + case.lengths[number + 1:]
        yield from [dataclasses.replace(case, lengths=without)] * (not case.cut)
        for less in sorted({0, 1, length // 2, length - 1} & set(range(length))):
            yield dataclasses.replace(case, lengths=case.lengths[:number] + (less,) + case.lengths[number + 1:], cut=min(case.cut, less))
    kernel = case.kernel
    for name, plain in (("state", "none"), ("state", "rows"), ("state", "slots"), ("dtype", "f32"), ("pairing", "neighbors"), ("scale", 1.0), ("decay", "head"), ("bias", False), ("activation", "")):
        if getattr(kernel, name, plain) not in (plain, "") and not (case.cut and name == "state"):
            yield dataclasses.replace(case, kernel=dataclasses.replace(kernel, **{name: plain}))
    for name in ("queries", "keys", "values", "taps", "dilation"):
        for less in range(1, getattr(kernel, name, 1)):
            yield dataclasses.replace(case, kernel=dataclasses.replace(kernel, **{name: less}))
    if isinstance(kernel, ShortConv):
        sizes = [less for less in (1, 2, 8, 32) if less < kernel.channels]
    else:
        sizes = [sides for less in (1, 2, 8, 32) for sides in ((less, kernel.channels[1]), (kernel.channels[0], less)) if sides != kernel.channels and sides[0] <= kernel.channels[0] and sides[1] <= kernel.channels[1]]
    yield from (dataclasses.replace(case, kernel=dataclasses.replace(kernel, channels=channels)) for channels in sizes)
