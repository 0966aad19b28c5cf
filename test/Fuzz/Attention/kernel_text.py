"""The MLIR text of a case, for the compiler and for the reference evaluator, and the arrays of its calls."""

import numpy as np

import cases
import trees

ALL = f"affine_map<({', '.join(cases.DIMS)}) -> "
NAMES = {"b": "rows", "q": "queries", "kv": "keys", "hkv": "heads", "g": "groups"}
LONGEST = {"q": "longest_queries", "kv": "longest_keys"}
DECLARED = [*NAMES.values(), *LONGEST.values(), "blocks", "slots", "sinks"]
TABLES = [f"table{n}_{i}" for n in range(3) for i in range(3)]  # extents of tables
HEAD = "".join(f"attn.dim @{name} min 0 max 65536\n" for name in DECLARED) + "".join(f"attn.dim @{name} min 1 max 65536\n" for name in TABLES)
SCALAR = {"f32": np.float32, "i32": np.int32, "i64": np.int64, "bf16": np.uint16, "f16": np.float16, "i8": np.int8, "i1": np.bool_}


class Argument:
    """An array of a kernel: `dims` are its dims, or numbers; `more` is what its one extent has more than the dim; `within` are the dims
    that count within a sequence where those of q, k and v are packed."""

    def __init__(self, name, element, dims, more=0, within=()):
        self.name, self.element, self.dims, self.more, self.within = name, element, dims, more, within

    def is_static(self, case, dim):
        if dim == "b" and case["named"] and cases.has_one_sequence(case):  # a dim with a name would have to be declared as 1
            return True
        return isinstance(dim, int) or dim in ("dqk", "dqk2", "dv") or (dim in case["static"] and dim not in self.within)

    def shape(self, extents):
        sizes = [dim if isinstance(dim, int) else extents[("longest_" if dim in self.within else "") + dim] for dim in self.dims]
        return tuple(size + self.more for size in sizes)

    def type(self, case, extents):
        sizes = [str(size) if self.is_static(case, dim) else "?" for dim, size in zip(self.dims, self.shape(extents))]
        return f"tensor<{'x'.join([*sizes, self.element])}>"

    def attributes(self, case, names):
        """The array's attributes: its name, and the names of its dynamic extents where the case has them."""
        dynamic = [dim for dim in self.dims if not self.is_static(case, dim)]
        dims = [(LONGEST if dim in self.within else NAMES).get(dim, dim) + ("+1" if self.more else "") for dim in dynamic]
        text = f'attn.name = "{self.name}"'
        return f"{{{text}, attn.dims = [{', '.join(quoted(dims))}]}}" if names and dims else f"{{{text}}}"


def quoted(names):
    return [f'"{name}"' for name in names]


def extents_of(case, data):
    extents = {**cases.packed_extents(case, data), **case["heads"], **case["channels"]}
    extents["longest_q"] = max(data["q"], default=0) if "q" in case["begins"] else extents["q"]
    for n, extra in enumerate(case["extras"]):
        extents.update({f"table{n}_{i}": extent for i, extent in enumerate(extra["table"] or [])})
    extents["dqk2"] = case["second"]["channels"] if case.get("second") else 0
    extents["sinks"] = case["heads"]["hkv"] * case["heads"]["g"]
    extents["longest_kv"] = max((n for _, n in cases.keys_of(case, data)), default=0) if "kv" in case["begins"] else extents["kv"]
    return extents


def arguments_of(case):
    """The arrays of a kernel without a cache, in order."""
    found = [Argument("q", case["types"]["q"], case["maps"]["q"]), Argument("k", case["types"]["k"], case["maps"]["k"]),
             Argument("v", case["types"]["v"], case["maps"]["v"])]
    for side, name in (("q", "qb"), ("kv", "kb")):
        if side in case["begins"]:
            found.append(Argument(name, "i32", ["b"], more=1))
    for given, name in (("offset", "at"), ("length", "len")):
        if case[given]:
            found.append(Argument(name, "i32", ["b"]))
    return found + shared_arguments(case)


def shared_arguments(case):
    """The extra operands, the vector of additive similarity, and the sinks."""
    found = []
    for n, extra in enumerate(case["extras"]):
        within = case["begins"] if "b" in extra["map"] else ()
        table = [f"table{n}_{i}" for i in range(len(extra["table"]))] if extra["table"] and extra.get("dynamic") else extra["table"]
        found.append(Argument(f"x{n}", extra.get("stored", extra["type"]), table or extra["map"], within=within))
    if case["additive"]:
        found.append(Argument("w", case["types"]["q"], ["dqk"]))
    if case.get("sink"):
        found.append(Argument("sink", case["sink"], [sinks_dim(case)]))
    if case.get("second"):
        found += [Argument(name, case["second"]["types"][name], map_) for name, map_ in case["second"]["maps"].items()]
    if case.get("weights"):
        asked = case["weights"]
        found.append(Argument("p", "f32", ["q", asked["layers"], len(asked["heads"]), asked["keys"]]))
    return found


def sinks_dim(case):
    """The number of query heads, or the dim that it is where extents of heads are dynamic."""
    used = {dim for map_ in case["maps"].values() for dim in map_}
    dynamic = [dim for dim in ("hkv", "g") if dim in used and dim not in case["static"]]
    known = [case["heads"][dim] for dim in ("hkv", "g") if dim in used and dim in case["static"]]
    return int(np.prod(known)) if not dynamic else dynamic[0] if len(dynamic) == 1 and known in ([], [1]) else "sinks"


def results_of(case, step=""):
    """The results of the op that are arrays of their own, in order; the weights are an argument's array."""
    found = [Argument("o" + step, case["types"]["o"], case["maps"]["o"])]
    if case.get("lse"):
        found.append(Argument("lse" + step, "f32", cases.lse_map(case)))
    return found


def updated(case, step=""):
    """The array that the op updates in place."""
    return [argument for argument in step_or_plain(case, step) if argument.name == "p" + step] if case.get("weights") else []


def step_or_plain(case, step):
    return step_arguments(case, step) if case["cache"] else arguments_of(case)


def element_types(case):
    """The types of the regions' arguments for the extra operands."""
    def seen(extra):
        element = extra.get("stored", extra["type"])
        extents = ["?" if extra.get("dynamic") else str(extent) for extent in extra["table"] or []]
        return "tensor<" + "x".join([*extents, element]) + ">" if extents else element
    return [seen(extra) for extra in case["extras"]]


def attention(case, types, operands, step=""):
    """The op's text: `types` and `operands` are those of q, k, v and all others by the names of their arguments."""
    extras = [f"x{n}" for n in range(len(case["extras"]))]
    made = [result.name for result in results_of(case, step)] + ["new_p" + step] * bool(case.get("weights"))
    lines = [f"  {', '.join('%' + name for name in made)} = attn.attention {', '.join(operands[name] for name in 'qkv')}, %scale"]
    for name, argument in (("q_begin", "qb"), ("q_offset", "at"), ("kv_begin", "kb"), ("kv_length", "len")):
        if argument in operands:
            lines.append(f"    {name}({operands[argument]} : {types[argument]})")
    if extras:
        lines.append(f"    extras({', '.join(operands[x] for x in extras)} : {', '.join(types[x] for x in extras)})")
    if case["additive"]:
        lines.append(f"    additive({operands['w']} : {types['w']})")
    if case.get("sink"):
        lines.append(f"    sink({operands['sink']} : {types['sink']})")
    if case.get("second"):
        lines.append(f"    second({operands['q2']}, {operands['k2']} : {types['q2']}, {types['k2']})")
    if case.get("weights"):
        lines.append(f"    weights({operands['p']}[%slot] heads {case['weights']['heads']} : {types['p']})")
    if case.get("lse"):
        lines.append("    log_sum_exp" + (f"({ALL}({', '.join(cases.lse_map(case))})>)" if case["lse"] == "reversed" else ""))
    maps = [case["maps"][side] for side in "qkvo"] + [extra["map"] for extra in case["extras"]]
    if case.get("second"):
        maps += [["dqk" if dim == "dqk2" else dim for dim in map_] for map_ in case["second"]["maps"].values()]
    lines.append("    maps [" + ", ".join(f"{ALL}({', '.join(map_)})>" for map_ in maps) + "]")
    lines.append(f"    : {types['q']}, {types['k']}, {types['v']} -> {types['o']}")
    seen = element_types(case)
    shown = "".join(f", %e{n}: {kind}" for n, kind in enumerate(seen))
    for name, first in (("score", "%s: f32, "), ("mask", "")):
        if case[name]:
            lines.append(f"    {name} {{\n    ^bb0({first}%b: index, %h: index, %i: index, %j: index{shown}):")
            lines += ["      " + line for line in trees.region(case[name], seen)]
            lines.append("    }")
    return "\n".join(lines)


def constants(case):
    layer = f"  %layer = arith.constant {case['cache']['layer']} : index\n" if case["cache"] else ""
    slot = f"  %slot = arith.constant {case['weights']['layer']} : index\n" if case.get("weights") else ""
    return f"  %scale = arith.constant {case['scale']:.9e} : f32\n{layer}{slot}"


def returned(case, step=""):
    """(values, arrays) of a function's results for one op."""
    results, weights = results_of(case, step), updated(case, step)
    return [*(f"%{a.name}" for a in results), *(f"%new_{a.name}" for a in weights)], [*results, *weights]


def plain_text(case, name, names):
    """A kernel without a cache; `names`: with the names of dims that the case has."""
    extents = extents_of(case, case["data"][0])
    arguments, (values, results) = arguments_of(case), returned(case)
    types = {argument.name: argument.type(case, extents) for argument in [*arguments, *results]}
    show = ", ".join(f"%{a.name}: {types[a.name]} {a.attributes(case, names)}" for a in arguments)
    operands = {a.name: "%" + a.name for a in arguments}
    return f"""func.func @{name}({show}) -> ({', '.join(f"{types[a.name]} {a.attributes(case, names)}" for a in results)}) attributes {{attn.entry}} {{
{constants(case)}{attention(case, types, operands)}
  return {', '.join(values)} : {', '.join(types[a.name] for a in results)}
}}
"""


# ---- kernels with a cache --------------------------------------------------------------------------------------------

def cache_type(case):
    cache, heads, (dqk, dv), types = case["cache"], case["heads"]["hkv"], case["channels"].values(), case["types"]
    if (dqk, types["k"]) == (dv, types["v"]):
        return f"!attn.kv_cache<{cache['layers']} x {heads} x {dqk}, block = {cache['block']}, {types['k']}>"
    return f"!attn.kv_cache<[{cache['layers']} x {heads} x ({dqk} x {types['k']}, {dv} x {types['v']})], block = {cache['block']}>"


def pool_argument():
    """The cache in memory, whose header tells the bytes of a block."""
    return Argument("pool", "i8", ["blocks"])


def step_arguments(case, step=""):
    """The arrays of one step; `step` ends their names."""
    heads, channels = case["heads"]["hkv"], case["channels"]
    own = [Argument("q", case["types"]["q"], case["maps"]["q"]), *(Argument(name, case["types"]["q"], ["q", heads, channels[dim]]) for name, dim in (("nk", "dqk"), ("nv", "dv"))),
           Argument("qb", "i32", ["b"], more=1), Argument("at", "i32", ["b"]), *shared_arguments(case)]
    for argument in own:
        argument.name += step
    return own


def step_extents(case, data, blocks):
    extents = extents_of(case, data)
    return {**extents, "slots": slots_of(case, data), "blocks": blocks, "kv": slots_of(case, data) * case["cache"]["block"]}


def slots_of(case, data):
    """Blocks of a row of the block table: those of the longest sequence, and one more."""
    longest = max((past + n for past, n in zip(data["past"], data["q"])), default=0)
    return -(-longest // case["cache"]["block"]) + 1


def append(case, cache, types, step, made):
    return f"""  %{made} = attn.kv_append {cache}[%layer], %nk{step}, %nv{step} rows(%qb{step}, %at{step}, %table)
    : {types['cache']}, {types['nk' + step]}, {types['nv' + step]}, {types['qb' + step]}, {types['at' + step]}, {types['table']}
  %keys{step}, %values{step} = attn.kv_view %{made}[%layer], %table : {types['cache']}, {types['table']} -> {types['k']}, {types['v']}
"""


def step_text(case, types, step, cache, made):
    """One step: append, then attention over all of the cache."""
    named = {argument.name: types[argument.name + step] for argument in step_arguments(case)}
    named.update(k=types["k"], v=types["v"], o=types["o" + step])
    operands = {argument.name: f"%{argument.name}{step}" for argument in step_arguments(case) if argument.name not in ("nk", "nv")}
    operands.update(k=f"%keys{step}", v=f"%values{step}")
    return append(case, cache, types, step, made) + attention(case, named, operands, step)


def view_types(case, extents):
    """Keys and values as the cache shows them."""
    rows = str(extents["b"]) if "b" in case["static"] else "?"
    return {side: f"tensor<{rows}x?x{case['heads']['hkv']}x{case['channels'][dim]}x{case['types'][side]}>" for side, dim in (("k", "dqk"), ("v", "dv"))}


def cached_text(case, name, names):
    """A step of a kernel with a cache in memory, which it updates in place."""
    extents = step_extents(case, case["data"][0], 0)
    pool, table, (values, made) = pool_argument(), Argument("table", "i32", ["b", "slots"]), returned(case)
    arguments = [pool, table, *step_arguments(case)]
    types = {a.name: a.type(case, extents) for a in [*arguments, *made]}
    types.update(pool=cache_type(case), cache=cache_type(case), **view_types(case, extents))
    show = ", ".join(f"%{a.name}: {types[a.name]} {a.attributes(case, names)}" for a in arguments)
    results = ", ".join(f"{types[a.name]} {a.attributes(case, names)}" for a in (pool, *made))
    return f"""func.func @{name}({show}) -> ({results}) attributes {{attn.entry}} {{
{constants(case)}{step_text(case, types, "", "%pool", "new")}
  return %new, {', '.join(values)} : {types['pool']}, {', '.join(types[a.name] for a in made)}
}}
"""


def cached_reference(case, name):
    """Both steps, with the cache as a value."""
    extents = step_extents(case, case["data"][0], 0)
    table = Argument("table", "i32", ["b", "slots"])
    arguments = [table, *step_arguments(case, "0"), *step_arguments(case, "1")]
    values, outs = (sum(parts, []) for parts in zip(returned(case, "0"), returned(case, "1")))
    types = {a.name: a.type(case, extents) for a in [*arguments, *outs]}
    kind = cache_type(case)
    types.update(cache=kind, **view_types(case, extents))
    show = ", ".join([f'%pool: {kind} {{attn.name = "pool"}}', *(f"%{a.name}: {types[a.name]} {a.attributes(case, False)}" for a in arguments)])
    results = ", ".join(f"{types[a.name]} {a.attributes(case, False)}" for a in outs)
    return f"""func.func @{name}({show}) -> ({results}) attributes {{attn.entry}} {{
{constants(case)}{step_text(case, types, "0", "%pool", "new0")}
{step_text(case, types, "1", "%new0", "new1")}
  return {', '.join(values)} : {', '.join(types[a.name] for a in outs)}
}}
"""


def compiled_text(case, name):
    return (cached_text if case["cache"] else plain_text)(case, name, case["named"])


def reference_text(case, name="f"):
    return cached_reference(case, name) if case["cache"] else plain_text(case, name, False)


# ---- arrays ----------------------------------------------------------------------------------------------------------

def to_bf16(x):
    """The bits of bf16, to the nearest, ties to even; NaN stays one."""
    whole = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)  # a vector of a scalar
    return np.where(np.isnan(x), 0x7FC0, (whole + 0x7FFF + ((whole >> 16) & 1)) >> 16).astype(np.uint16).reshape(np.shape(x))


def stored(x, element):
    """The array as a kernel gets it."""
    return to_bf16(x) if element == "bf16" else x.astype(SCALAR[element])


def widened(x, element):
    """The numbers of a kernel's array, in f32."""
    if element != "bf16":
        return x.astype(np.float32)
    return (np.atleast_1d(x).astype(np.uint32) << 16).view(np.float32).reshape(np.shape(x))


def rounded(x, element):
    """The values that a kernel gets, as f32 or integers."""
    if element == "bf16":
        return widened(to_bf16(x), element)
    return x.astype(np.float16).astype(np.float32) if element == "f16" else x.astype(SCALAR[element])


def along(array, map_, dim):
    """A view with `dim` first."""
    return np.moveaxis(array, map_.index(dim), 0)


def unused_keys(case, data, map_, array):
    """Fills the keys or values that no sequence has with NaN, or with numbers that would show."""
    rest, keys = np.nan if data["stale"] else 3.0, cases.keys_of(case, data)
    used = np.zeros((max(1, len(keys)), array.shape[map_.index("kv")]), bool)
    for b, (first, count) in enumerate(keys):
        used[b, first:first + count] = True
    if "b" not in map_:
        along(array, map_, "kv")[~used.any(0)] = rest
        return
    for b in range(len(keys)):
        row = along(array, map_, "b")[b]
        np.moveaxis(row, [d for d in map_ if d != "b"].index("kv"), 0)[~used[b]] = rest


def poisoned(random, map_, array, poison):
    """Some keys or values get `poison`, most often late ones, which a causal mask hides from most queries."""
    keys = along(array, map_, "kv")
    if len(keys) and array.size:
        place = max(random.integers(0, len(keys)), random.integers(0, len(keys)))
        poison(keys[place])


def poison(own, elements, infinite):
    """All elements of keys or values become NaN, or infinite, or those of one channel do. Compiled programs without a region take scores
    of -infinity in another way (A19), so keys are NaN there."""
    special = own.choice((np.nan, np.nan, np.inf, -np.inf)) if infinite else np.nan
    if own.random() < 0.5:
        elements[...] = special
    else:
        elements[..., own.integers(0, elements.shape[-1])] = special


def poisoned_extras(own, arguments, found):
    """Some elements of what is added to scores are NaN or infinite; few enough that most scores stay numbers."""
    for argument in arguments:
        array = found[argument.name]
        if argument.name.startswith("x") and argument.element in ("f32", "bf16", "f16") and array.size >= 16 and own.random() < 0.5:
            array.reshape(-1)[own.integers(0, array.size, own.integers(1, 4))] = own.choice((np.nan, np.inf, -np.inf))


def values_of(random, argument, shape, infinite):
    """Values of an operand; `infinite`: biases may mask keys."""
    kind = argument.element
    if kind == "i1":
        return random.integers(0, 2, shape)
    if argument.name.startswith("x") and kind in ("i8", "i32", "i64"):
        wide, bits = random.random() < 0.2, 7 if kind == "i8" else 31
        return random.integers(-(1 << bits), 1 << bits, shape) if wide else random.integers(-2, 7, shape)
    x = random.standard_normal(shape)
    if argument.name.startswith("x") and random.random() < 0.1 and infinite:
        x = np.where(random.random(shape) < 0.2, -np.inf, x)
    return x.astype(np.float32)


def in_blocks(case, data, argument, array):
    """Integers of an extra operand, often the same ones in blocks of queries and keys, so that a mask drops or keeps whole blocks; by a
    stream of their own."""
    extras = {f"x{n}": extra for n, extra in enumerate(case["extras"])}
    extra = extras.get(argument.name)
    if not extra or not set(extra["map"]) & {"q", "kv"} or argument.element not in ("i1", "i8", "i32", "i64"):
        return array
    random = np.random.default_rng([data["seed"], 2, int(argument.name[1:])])
    for axis, dim in enumerate(extra["map"]):
        if dim in ("q", "kv") and random.random() < 0.7:
            size = random.choice((14, 32, 64, 90))
            array = np.take(array, np.arange(array.shape[axis]) // size * size, axis)
    return array


def sinks_of(data, argument, shape):
    """Sinks as a kernel gets them: as large as scores, far from all of them, and none; by a stream of their own."""
    random = np.random.default_rng([data["seed"], 1])
    x = random.standard_normal(shape) * random.choice((1, 5))
    special = random.choice((-np.inf, 60, -60, 1e30, -1e30, np.nan, np.inf), shape, p=(0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05))
    with np.errstate(over="ignore"):
        return rounded(np.where(random.random(shape) < 0.3, special, x).astype(np.float32), argument.element)


def plain_arrays(case, data):
    """{name: array} as the reference gets them; integers of offsets and lengths among them."""
    random, extents, found = np.random.default_rng(data["seed"]), extents_of(case, data), {}
    for argument in arguments_of(case):
        name, shape = argument.name, argument.shape(extents)
        if name in ("qb", "kb"):
            side = data["q"] if name == "qb" else data["kv"]
            found[name] = np.cumsum([0, *side]).astype(np.int32)
        elif name in ("at", "len"):
            found[name] = np.array(data["offset" if name == "at" else "length"], np.int32).reshape(shape)
        elif name == "sink":
            found[name] = sinks_of(data, argument, shape)
        else:
            found[name] = in_blocks(case, data, argument, rounded(values_of(random, argument, shape, not data["poison"]), argument.element))
    found["q"] *= np.float32(data["amplify"])
    own = np.random.default_rng([data["seed"], 2])
    if data["poison"]:
        poisoned_extras(own, arguments_of(case), found)
    maps = {**case["maps"], **(case["second"]["maps"] if case.get("second") else {})}
    for name in [name for name in ("k", "v", "k2") if name in maps]:
        if data["poison"] and (random if name != "k2" else own).random() < 0.7:
            poisoned(random if name != "k2" else own, maps[name], found[name], lambda elements: poison(own, elements, name == "v" or case["score"]))
        unused_keys(case, data, maps[name], found[name])
    for name in [name for name in ("q", "q2") if name in maps and "q" in case["begins"]]:
        along(found[name], maps[name], "q")[sum(data["q"]):] = np.nan
    return found


def step_arrays(case, data):
    """[{name: array}] of the two steps of a kernel with a cache; the table; the number of blocks."""
    random, cache = np.random.default_rng(data["seed"]), case["cache"]
    rows, block, slots = len(data["q"]), cache["block"], slots_of(case, data)
    blocks = rows * slots + int(random.integers(0, 3))
    table = np.full((rows, slots), -1, np.int32)
    free, past, first = list(random.permutation(blocks)), list(data["past"]), [0] * rows
    for b in range(rows):
        shared = min(past[0], past[b]) // block if data.get("share") and b else 0
        first[b] = shared * block
        for slot in range(-(-(past[b] + data["q"][b]) // block)):
            table[b, slot] = table[0, slot] if slot < shared else free.pop()
    steps = []
    for offsets, lengths in ((first, [p - f for p, f in zip(past, first)]), (past, data["q"])):
        call = {**data, "q": lengths}
        extents, found = {**step_extents(case, data, blocks), **{k: v for k, v in extents_of(case, {**call, "past": offsets}).items() if k in ("q", "longest_q")}}, {}
        for argument in step_arguments(case):
            shape = argument.shape(extents)
            if argument.name == "qb":
                found["qb"] = np.cumsum([0, *lengths]).astype(np.int32)
            elif argument.name == "at":
                found["at"] = np.array(offsets, np.int32).reshape(shape)
            elif argument.name == "sink":
                found["sink"] = sinks_of(data, argument, shape)
            else:
                x = rounded(values_of(random, argument, shape, not data["poison"]), argument.element)
                found[argument.name] = in_blocks(case, data, argument, x) if argument.name.startswith("x") else x
        found["q"] *= np.float32(data["amplify"])
        own = np.random.default_rng([data["seed"], 2, len(steps)])
        if data["poison"]:
            poisoned_extras(own, step_arguments(case), found)
        for name in ("nk", "nv"):
            if data["poison"] and sum(lengths) and own.random() < 0.5:
                poison(own, found[name][own.integers(0, sum(lengths))], name == "nv" or case["score"])
        for name in ("q", "nk", "nv"):
            along(found[name], case["maps"]["q"] if name == "q" else ["q"], "q")[sum(lengths):] = np.nan
        steps.append(found)
    return steps, table, blocks
