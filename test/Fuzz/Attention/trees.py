"""Score and mask regions as trees: drawn, printed as MLIR, and reduced.

A tree is [op, type, *operands], where an operand that is a list is a tree: ["s", "f32"] is the score, ["b"|"h"|"i"|"j", "index"]
an index of the region, ["const", type, value], ["extra", type, n] an element of extra operand n, ["lookup", type, n, *indices]
an element of a table, ["cmpi", "i1", predicate, x, y]; all others are ops of arith and math.
"""

import math

ROUNDING = 2.0 ** -24
SMALL = (0, 1, 2, 3, 5, 7, 14, 31, 32, 33, 64, 100, 255)
# Around the ends of 8, 16, 31, 32, 40, 62 and 63 bits.
LARGE = tuple(sign * (1 << bits) + more for bits in (7, 15, 31, 32, 40, 62) for sign in (1, -1) for more in (-1, 0, 1)) + ((1 << 63) - 1, -(1 << 63))
WIDTH = {"index": 64, "i64": 64, "i32": 32, "i1": 1}
INTEGER_OPS = ("addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "maxsi", "minsi", "maxui", "minui",
               "andi", "ori", "xori", "shli", "shrsi", "shrui")
COMMON_OPS = ("addi", "subi", "muli", "maxsi", "minsi", "floordivsi", "remsi", "divsi")
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
I, J, H, B, S = ["i", "index"], ["j", "index"], ["h", "index"], ["b", "index"], ["s", "f32"]


def const(value, kind="index"):
    return ["const", kind, value]


def compare(predicate, x, y):
    return ["cmpi", "i1", predicate, x, y]


def op(name, x, y):
    return ["arith." + name, x[1], x, y]


def children(tree):
    """Positions of the operands that are trees."""
    return [n for n in range(2, len(tree)) if isinstance(tree[n], list)]


def nodes(tree):
    yield tree
    for n in children(tree):
        yield from nodes(tree[n])


def used_extras(*trees):
    """The extra operands that the trees read."""
    return {node[2] for tree in trees if tree for node in nodes(tree) if node[0] in ("extra", "lookup")}


def mapped(tree, change):
    """The tree with `change` made to every node, operands first."""
    return change([mapped(part, change) if isinstance(part, list) else part for part in tree])


# ---- printing --------------------------------------------------------------------------------------------------------

class Printer:
    """Lines of a region; equal subtrees are one value."""

    def __init__(self, extras):
        self.extras, self.lines, self.known = extras, [], {}

    def line(self, text):
        self.lines.append(f"%{len(self.lines)} = {text}")
        return f"%{len(self.lines) - 1}"

    def widened(self, value, element, kind):
        """An element as the type that the tree has for it."""
        if element == kind:
            return value
        return self.line(f"arith.{'extf' if kind == 'f32' else 'extui' if element == 'i1' else 'extsi'} {value} : {element} to {kind}")

    def value(self, tree):
        key = repr(tree)
        if key not in self.known:
            self.known[key] = self.make(tree)
        return self.known[key]

    def make(self, tree):
        name, kind = tree[0], tree[1]
        if name in ("s", "b", "h", "i", "j"):
            return "%" + name
        if name == "extra":
            return self.widened(f"%e{tree[2]}", self.extras[tree[2]], kind)
        if name == "const":
            return self.line(f"arith.constant {literal(tree[2], kind)} : {kind}" if kind != "i1" else f"arith.constant {str(bool(tree[2])).lower()}")
        values = [self.value(tree[n]) for n in children(tree)]
        if name == "lookup":
            table = self.extras[tree[2]]
            element = "f32" if kind == "f32" else table[:-1].rsplit("x", 1)[1]
            return self.widened(self.line(f"attn.lookup %e{tree[2]}[{', '.join(values)}] : {table} -> {element}"), element, kind)
        if name == "cmpi":
            return self.line(f"arith.cmpi {tree[2]}, {', '.join(values)} : {tree[3][1]}")
        if name == "cast":
            return self.line(f"arith.{cast(tree[2][1], kind)} {values[0]} : {tree[2][1]} to {kind}")
        return self.line(f"{name} {', '.join(values)} : {kind}")


def literal(value, kind):
    if kind != "f32":
        return str(value)
    if math.isnan(value):
        return "0x7FC00000"
    if math.isinf(value):
        return "0x7F800000" if value > 0 else "0xFF800000"
    return f"{value:.9e}"


def cast(source, target):
    if "index" in (source, target):
        return "index_cast"
    if target == "f32":
        return "sitofp"
    return "extui" if source == "i1" else "extsi" if WIDTH[source] < WIDTH[target] else "trunci"


def region(tree, extras):
    """The lines of a region; `extras` are the types that it sees of the extra operands."""
    printer = Printer(extras)
    result = printer.value(tree)
    return [*printer.lines, f"attn.yield {result} : {tree[1]}"]


# ---- errors ----------------------------------------------------------------------------------------------------------

def error(tree, score, magnitude, extras):
    """(error, magnitude) of a float tree in binary32, to first order, where the score has error `score` and `magnitude`; `extras` are
    the largest magnitudes of the extra operands."""
    name = tree[0]
    if name == "s":
        return score, magnitude
    if name == "const":  # what is huge is exact, and nothing is added to it
        return 0.0, abs(tree[2]) if abs(tree[2]) <= 1e20 else 0.0
    if name in ("extra", "lookup"):
        return 0.0, extras[tree[2]]
    if name == "cast":
        return 0.0, 1024.0  # `number` divides with remainder
    parts = [error(tree[n], score, magnitude, extras) for n in children(tree) if tree[n][1] == "f32"]
    errors, sizes = zip(*parts)
    if name == "arith.mulf":
        size = sizes[0] * sizes[1]
        return errors[0] * sizes[1] + errors[1] * sizes[0] + 2 * ROUNDING * size, size
    if name in ("arith.addf", "arith.subf"):
        return sum(errors) + ROUNDING * sum(sizes), sum(sizes)
    if name in ("math.tanh", "math.sin", "math.cos"):
        return errors[0] + 8 * ROUNDING * (1 + (sizes[0] if name != "math.tanh" else 0)), 1.0
    return max(errors), max(sizes)  # select, negf, maximumf, minimumf


# ---- drawing ---------------------------------------------------------------------------------------------------------

class Drawer:
    """Draws trees over the extra operands [(type of an element, extents of a table or None)]."""

    def __init__(self, random, extras):
        self.random, self.extras = random, extras

    def elements(self, kind):
        return [["extra", kind, n] for n, (element, table) in enumerate(self.extras) if element == kind and table is None]

    def constant(self, kind="index"):
        value = self.random.choice(SMALL if self.random.random() < 0.8 else LARGE)
        limit = 1 << (WIDTH[kind] - 1)
        return const(value if -limit <= value < limit else (value + limit) % (2 * limit) - limit, kind)

    def integer(self, depth=3, kind="index"):
        """Any integer, often of i and j."""
        r = self.random
        if depth == 0 or r.random() < 0.2:
            leaves = self.elements(kind)
            if leaves and r.random() < 0.4:
                return r.choice(leaves)
            if r.random() < 0.3:
                return self.constant(kind)
            leaf = r.choice((I, J, I, J, H, B))
            return leaf if kind == "index" else ["cast", kind, leaf] if kind == "i32" else ["cast", "i64", ["cast", "i32", leaf]]
        choice = r.random()
        if choice < 0.08:
            return ["arith.select", kind, self.condition(depth - 1), self.integer(depth - 1, kind), self.integer(depth - 1, kind)]
        if choice < 0.16 and kind == "index":
            return ["cast", "index", self.integer(depth - 1, r.choice(("i32", "i64")))]
        if choice < 0.22 and kind == "i32":
            return ["cast", "i32", self.integer(depth - 1, r.choice(("index", "i64")))]
        if choice < 0.3 and kind == "i32":
            tables = [n for n, (element, table) in enumerate(self.extras) if element == "i32" and table]
            if tables:
                return self.lookup(r.choice(tables), depth - 1)
        name = r.choice(COMMON_OPS if r.random() < 0.7 else INTEGER_OPS)
        second = self.constant(kind) if r.random() < 0.5 else self.integer(depth - 1, kind)
        return op(name, self.integer(depth - 1, kind), second)

    def lookup(self, n, depth):
        element, table = self.extras[n]
        return ["lookup", element, n, *(self.integer(depth) for _ in table)]

    def condition(self, depth=2):
        r = self.random
        if depth and r.random() < 0.25:
            return op(r.choice(("andi", "ori", "xori")), self.condition(depth - 1), self.condition(depth - 1))
        kind = r.choice(("index", "index", "index", "i32", "i64")) if self.elements("i64") else r.choice(("index", "index", "i32"))
        return compare(r.choice(PREDICATES), self.integer(depth, kind), self.integer(depth, kind))

    def number(self):
        """A float whose value is exact: an integer below 1,024 times a small power of two, or an element."""
        r = self.random
        leaves = self.elements("f32")
        tables = [n for n, (element, table) in enumerate(self.extras) if element == "f32" and table]
        if leaves and r.random() < 0.5:
            return r.choice(leaves)
        if tables and r.random() < 0.6:
            return self.lookup(r.choice(tables), 2)
        whole = op("remsi", self.integer(2, "i32"), const(r.choice((7, 33, 1000)), "i32"))
        return ["arith.mulf", "f32", ["cast", "f32", whole], const(2.0 ** -r.randint(3, 8), "f32")]

    def bias(self, s):
        return ["arith.addf", "f32", s, self.number()]

    def cap(self, s):
        limit = self.random.choice((1.5, 8.0, 30.0))
        inner = ["arith.mulf", "f32", s, const(1 / limit, "f32")]
        return ["arith.mulf", "f32", ["math.tanh", "f32", inner], const(limit, "f32")]

    def alibi(self, s):
        distance = ["cast", "f32", op("remsi", ["cast", "i32", op("subi", J, I)], const(1024, "i32"))]
        return ["arith.addf", "f32", s, ["arith.mulf", "f32", distance, const(2.0 ** -self.random.randint(2, 7), "f32")]]

    def halved(self, s):
        return ["arith.select", "f32", self.condition(1), s, ["arith.mulf", "f32", s, const(0.5, "f32")]]

    def waved(self, s):
        return [self.random.choice(("math.sin", "math.cos")), "f32", s]

    def bounded(self, s):
        return [self.random.choice(("arith.maximumf", "arith.minimumf")), "f32", s, self.number()]

    def score(self):
        """One to three steps; sometimes what a caller writes for a masked or a chosen key."""
        r, tree = self.random, S
        steps = (self.bias, self.bias, self.cap, self.alibi, self.halved, self.waved, self.bounded)
        for _ in range(r.randint(1, 3)):
            tree = r.choice(steps)(tree)
        if r.random() < 0.25:
            special = const(r.choice((-math.inf, -1e9, -8e29, 2.4e38, 3e38, -1e4, math.inf, math.nan)), "f32")
            tree = ["arith.select", "f32", self.mask(), special, tree]
        return tree

    def mask(self):
        r = self.random
        causal = compare("sle", J, I)
        window = const(r.choice((1, 2, 5, 33, 64, 100)) if r.random() < 0.8 else r.choice(LARGE))
        apart = op("subi", I, J)
        chunk = const(r.choice((1, 3, 16, 32, 50)))
        kinds = [causal, causal, op("andi", causal, compare("slt", apart, window)), compare("slt", op("maxsi", apart, op("subi", J, I)), window),
                 op("ori", causal, compare("slt", J, window)), compare("eq", op("divsi", I, chunk), op("divsi", J, chunk)),
                 compare("eq", op("remsi", apart, chunk), const(0)), compare("sge", I, J), compare("sgt", J, I),
                 compare("slt", J, window), compare("ne", J, window), compare("slt", apart, op("addi", H, chunk)),
                 compare(r.choice(PREDICATES), op("addi", op("muli", I, const(r.randint(-3, 3))), op("muli", J, const(r.randint(-3, 3)))),
                         const(r.choice((0, 1, -5, 40)))), self.condition(2), self.condition(3)]
        for kind in ("i32", "i64"):  # documents, lists of keys
            found = self.elements(kind)
            if found:
                kinds += 4 * [compare(r.choice(("eq", "ne", "sle")), r.choice(found), r.choice([*found, const(r.choice((0, 1, 2)), kind)]))]
        if r.random() < 0.03:
            return const(r.choice((0, 1)), "i1")
        tree = r.choice(kinds)
        return op("andi", tree, causal) if r.random() < 0.15 else tree


# ---- reducing --------------------------------------------------------------------------------------------------------

def smaller(tree):
    """Trees of the same type that are simpler by one step, the simplest first."""
    for n in range(2, len(tree)):
        if isinstance(tree[n], list) and tree[n][1] == tree[1]:
            yield tree[n]
    if tree[0] not in ("const", "i", "j", "s"):
        leaves = {"index": [I, J, const(0), const(1)], "f32": [S, const(0.0, "f32")], "i1": [compare("sle", J, I)],
                  "i32": [["cast", "i32", J], const(1, "i32")], "i64": [const(1, "i64")]}
        for leaf in leaves[tree[1]]:
            if len(list(nodes(leaf))) < len(list(nodes(tree))):
                yield leaf
    for n in children(tree):
        for part in smaller(tree[n]):
            yield [*tree[:n], part, *tree[n + 1:]]
