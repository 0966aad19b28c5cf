"""Draws attention kernels: what a kernel is, and the lengths of its sequences, as plain values that can be printed and reduced.

A case has
- maps: {"q" | "k" | "v" | "o": [dims]}; heads: {"hkv", "g"}; channels: {"dqk", "dv"}; static: those of b, q, kv, hkv, g whose extents are in the types
- types: {"q" | "k" | "v" | "o": element}, of a cache the query's is that of new keys and values, too; begins: those of "q", "kv" that are packed; offset, length: whether there is q_offset, kv_length
- sink: the element type of the sinks, or None; second: {"maps", "types": {"q2" | "k2": ...}, "channels"} of a second pair, or None
- extras: [{"map", "type", "table": extents or None, "stored": the element in memory, "dynamic": the table's extents}]; score, mask: trees or None (trees.py); additive, named, scale
- cache: None, or {"block", "layers", "layer"}: keys and values then come from a cache of their types, in two steps
- data: [{"seed", "q": queries of each sequence, "q_slack", "kv": the extent of keys or those of each sequence, "kv_slack", "offset", "length", "past",
  "amplify", "poison", "stale"}], one for each call; "stale": what no sequence has is NaN
"""

import copy
import random as randoms

import trees

DIMS = ("b", "hkv", "g", "q", "kv", "dqk", "dv")
LENGTHS = (0, 1, 1, 2, 3, 5, 7, 13, 14, 15, 17, 28, 31, 32, 33, 47, 63, 64, 65, 97, 127, 128, 129, 131, 191, 193, 251, 256, 257, 300)
HEADS = (5, 32, 40, 64, 72, 80, 96, 128, 192)  # channels of a cache's heads
CHANNELS = (1, 2, 7, 16, 31, 32, 32, 33, 40, 64, 64, 80, 128)
MOST = 60000  # similarities (a query with a key) in a call


def batch_of(data):
    return len(data["q"])


def packed_extents(case, data):
    """Extents of the dims b, q and kv."""
    queries = sum(data["q"]) + data["q_slack"] if "q" in case["begins"] else data["q"][0] if data["q"] else data["q_slack"]
    keys = sum(data["kv"]) + data["kv_slack"] if "kv" in case["begins"] else data["kv"]
    return {"b": batch_of(data), "q": queries, "kv": keys}


def has_one_sequence(case):
    """Whether the dim b is in no map, so that its extent is 1."""
    return "q" not in case["begins"] and not any("b" in map_ for map_ in case["maps"].values())


def keys_of(case, data):
    """[(first key, number of keys)] of each sequence."""
    found, first = [], 0
    for b, queries in enumerate(data["q"]):
        span = data["kv"][b] if "kv" in case["begins"] else data["kv"]
        if case["length"]:
            count = data["length"][b]
        elif "kv" in case["begins"] or not case["offset"]:
            count = span
        else:
            count = data["offset"][b] + queries
        found.append((first, count))
        first += span if "kv" in case["begins"] else 0
    return found


# ---- lengths ---------------------------------------------------------------------------------------------------------

def draw_data(r, case, rows=None):
    """The lengths of one call; `rows` where they are static."""
    heads = case["heads"]["hkv"] * case["heads"]["g"]
    if rows is None:
        rows = r.choice((0, 1, 1, 2, 2, 3, 3, 5)) if not has_one_sequence(case) else 2 if r.random() < 0.02 else 1  # 2 have one result, which is refused
    most = MOST / max(1, rows * heads)
    length = lambda limit: r.choice([n for n in LENGTHS if n <= limit])
    longest = 2 * most ** 0.5 if case["cache"] or case["offset"] else 300  # keys end with the queries, or may
    queries = [length(min(300, most / 4, longest)) for _ in range(rows)]
    if "q" not in case["begins"]:
        queries = [queries[0] if queries else 5] * rows
    limit = min(300, most / max(1, max(queries, default=1)))
    data = {"seed": r.getrandbits(32), "q": queries, "q_slack": r.choice((0, 0, 0, 1, 17)), "kv_slack": r.choice((0, 0, 0, 1, 40)),
            "amplify": r.choice((1, 1, 1, 0.01, 1 if case["cache"] else 6)), "poison": r.random() < 0.4, "stale": r.random() < 0.7}
    if max(queries, default=1) <= 14 and not case["cache"] and r.random() < 0.3:  # keys of several splits
        length = lambda limit: r.choice([n for n in (*LENGTHS, *3 * (512, 513, 545, 1100, 1900)) if n <= limit])
        limit = max(limit, most / max(1, max(queries, default=1)))
    data["kv"] = [length(limit) for _ in range(rows)] if "kv" in case["begins"] else length(limit)
    return complete(r, case, data)


def complete(r, case, data):
    """Offsets and lengths that fit the extents; where keys end with the queries, extents that fit the offsets."""
    rows = batch_of(data)
    if case["cache"]:
        most = min(200, (MOST / max(1, rows * case["heads"]["hkv"] * case["heads"]["g"])) ** 0.5)
        data["past"] = [r.choice([n for n in LENGTHS if n <= most]) for _ in range(rows)]
        data["share"] = r.random() < 0.3
        return data
    if case["offset"]:
        data["offset"] = [r.choice((0, 0, 1, 3, 10, 63, 64, 100)) for _ in range(rows)]
        if not case["length"] and "kv" not in case["begins"]:
            needed = max((n + at for n, at in zip(data["q"], data["offset"])), default=0)
            data["kv"] = needed + r.choice((0, 0, 1, 33))
        elif r.random() < 0.1:
            data["offset"] = [r.choice((1000, 70000, (1 << 31) - 400)) for _ in range(rows)]
    if case["length"]:
        spans = data["kv"] if "kv" in case["begins"] else [data["kv"]] * rows
        data["length"] = [r.choice((span, span, span // 2, r.randint(0, span), 0)) for span in spans]
    return data


# ---- kernels ---------------------------------------------------------------------------------------------------------

def draw_map(r, needed, optional):
    dims = [dim for dim, chance in optional.items() if r.random() < chance]
    r.shuffle(dims)
    dims.insert(r.randint(0, len(dims)), needed[0])
    if r.random() < 0.02:  # channels anywhere, which is refused
        dims.insert(r.randint(0, len(dims)), needed[1])
        return dims
    return dims + [needed[1]]


def draw_maps(r, case):
    heads, cache = case["heads"], case["cache"]
    several = {dim: 0.95 if heads[dim] > 1 else 0.3 for dim in ("hkv", "g")}
    b_of = lambda side: 0 if side in case["begins"] else 0.7
    maps = {"q": draw_map(r, ("q", "dqk"), {"b": b_of("q"), **several})}
    if cache:
        maps["k"], maps["v"] = ["b", "kv", "hkv", "dqk"], ["b", "kv", "hkv", "dv"]
    else:
        shared = {"b": b_of("kv"), "hkv": several["hkv"], "g": 0.02}
        maps["k"] = draw_map(r, ("kv", "dqk"), shared)
        same = {dim: float(dim in maps["k"]) if r.random() < 0.85 else chance for dim, chance in shared.items()}
        maps["v"] = draw_map(r, ("kv", "dv"), same)
        if r.random() < 0.5:  # as models have them
            maps["v"] = ["dv" if dim == "dqk" else dim for dim in maps["k"]]
    used = {dim for map_ in maps.values() for dim in map_}
    for dim in ("hkv", "g"):
        if dim not in used:
            heads[dim] = 1
    kept = {dim: float(dim in used and not (dim == "b" and "q" in case["begins"])) for dim in ("b", "hkv", "g")}
    maps["o"] = draw_map(r, ("q", "dv"), kept)
    return maps


def draw_extra(r, case):
    if r.random() < 0.35:
        extents = [r.choice((1, 2, 3, 8, 33)) for _ in range(r.randint(1, 3))]
        return {"map": [], "type": r.choice(("f32", "f32", "i32")), "table": extents}
    used = {dim for map_ in case["maps"].values() for dim in map_} | ({"b"} if case["begins"] else set())
    dims = [dim for dim in ("b", "hkv", "g", "q", "kv") if dim in used and r.random() < 0.45]
    r.shuffle(dims)
    return {"map": dims, "type": r.choice(("f32", "f32", "f32", "i32", "i32", "i64")), "table": None}


def add_matrix(r, case):
    """A list of the keys of each query that the mask reads."""
    used = {dim for map_ in case["maps"].values() for dim in map_} | ({"b"} if case["begins"] else set())
    dims = ["q", "kv"] + [dim for dim in ("b", "hkv", "g") if dim in used and r.random() < 0.25]
    r.shuffle(dims)
    listed = trees.compare("ne", ["extra", "i32", len(case["extras"])], trees.const(0, "i32"))
    case["extras"].append({"map": dims, "type": "i32", "table": None, "stored": r.choice(("i1", "i1", "i8", "i32")), "dynamic": False})
    case["mask"] = trees.op(r.choice(("andi", "andi", "ori", "xori")), case["mask"], listed) if case["mask"] else listed


def draw_cache(r):
    return {"types": r.choice(("f32", "bf16", "f16")), "block": r.choice((64, 64, 32, 48, 7)), "layers": r.choice((1, 2)), "layer": 0}


def for_gpu(case, seed, index, share):
    """The case with queries, keys and values of one type of 16 bits in a share of all, as matrix instructions take them; in half of the others they are f32."""
    r = randoms.Random(f"half floats {seed} {index}")
    kind = r.random()
    if kind > (1 + share) / 2:
        case["types"] = {**case["types"], **dict.fromkeys("qkvo", "f32")}
    if kind < share:
        element = r.choice(("bf16", "bf16", "f16"))
        case["types"] = {**case["types"], "q": element, "k": element, "v": element, "o": r.choice((element, element, "f32"))}
    if not case["cache"] and not case["additive"]:
        case["channels"] = {side: r.choice((8, 16, 33, 64, 64, 72, 80, 96, 128, 192, 256, 7)) for side in ("dqk", "dv")}
    if r.random() < 0.7:
        case["second"] = None
    return case


def draw(seed, index):
    """Case `index` of a seed."""
    r = randoms.Random(f"attention {seed} {index}")
    cache = draw_cache(r) if r.random() < 0.2 else None
    if cache:
        cache["layer"] = r.randrange(cache["layers"])
    width = r.choice((32, 64, 64, 96, 80, 5)) if cache else None
    case = {"heads": {"hkv": r.choice((1, 1, 2, 3)), "g": r.choice((1, 1, 2, 3, 5))},
            "channels": {"dqk": width or r.choice(CHANNELS), "dv": width or r.choice(CHANNELS)},
            "types": {"k": "f32", "v": "f32"}, "cache": cache,
            "begins": [side for side in ("q", "kv") if r.random() < 0.45], "offset": r.random() < 0.35, "length": r.random() < 0.3,
            "additive": r.random() < 0.08, "named": r.random() < 0.5, "scale": r.choice((0.125, 0.25, 1.0, 0.3, 0.0, -0.5))}
    if cache:
        case["begins"], case["offset"], case["length"] = ["q"], True, False
        view = cache.pop("types")
        case["types"] = {"k": view, "v": view}
    elif r.random() < 0.2:
        case["types"] = {side: r.choice(("f32", "bf16", "f16")) for side in ("k", "v")}
    case["maps"] = draw_maps(r, case)
    case["extras"] = [draw_extra(r, case) for _ in range(r.choice((0, 0, 1, 1, 2, 3)))]
    drawer = trees.Drawer(r, [(extra["type"], extra["table"]) for extra in case["extras"]])
    case["score"] = drawer.score() if r.random() < 0.5 else None
    case["mask"] = drawer.mask() if r.random() < 0.65 else None
    static = ["hkv", "g"] if r.random() < 0.9 else [dim for dim in ("hkv", "g") if r.random() < 0.5]
    if cache:
        static = ["hkv", "g"]
    else:
        static += [dim for dim in ("b", "q", "kv") if r.random() < 0.2]
    case["static"] = static
    calls = 1 if set(static) & {"b", "q", "kv"} else 2
    case["data"] = [draw_data(r, case) for _ in range(calls)]
    own = randoms.Random(f"types {seed} {index}")  # so that other draws stay what they were
    narrow = own.random() < 0.3
    case["types"].update({side: own.choice(("f32", "bf16", "f16")) if narrow else "f32" for side in "qo"})
    own = randoms.Random(f"elements {seed} {index}")
    for extra in case["extras"]:  # trees see f32 and i32, which regions cast to
        if own.random() < 0.4:
            extra["stored"] = own.choice({"f32": ("bf16", "f16"), "i32": ("i8", "i8", "i1")}.get(extra["type"], (extra["type"],)))
        extra["dynamic"] = bool(extra["table"]) and own.random() < 0.4
    own = randoms.Random(f"cache {seed} {index}")
    if cache and own.random() < 0.6:  # keys and values of sizes and types of their own
        case["channels"] = {"dqk": own.choice(HEADS), "dv": own.choice(HEADS)}
        case["types"]["v"] = own.choice((case["types"]["k"], case["types"]["k"], "f32", "bf16", "f16"))
    own = randoms.Random(f"matrix {seed} {index}")
    if own.random() < 0.2:
        add_matrix(own, case)
    own = randoms.Random(f"sink {seed} {index}")
    case["sink"] = own.choice(("f32", "f32", "bf16", "f16")) if own.random() < 0.25 else None
    own = randoms.Random(f"second {seed} {index}")
    case["second"] = draw_second(own, case) if own.random() < 0.2 and not case["cache"] and not case["additive"] else None
    case["lse"], case["weights"] = r.random() < 0.3 and own.choice(("same", "reversed")), draw_weights(r, case) if r.random() < 0.2 else None
    return case


def lse_map(case):
    """The dims of log-sum-exp: those of the result but dv, perhaps in another order."""
    dims = [dim for dim in case["maps"]["o"] if dim != "dv"]
    return dims[::-1] if case.get("lse") == "reversed" else dims


def draw_second(r, case):
    """A second pair, with dims that other operands have."""
    used = {dim for map_ in case["maps"].values() for dim in map_}
    several = {dim: 0.6 * (dim in used) for dim in ("hkv", "g")}
    b_of = lambda side: 0.5 * ("b" in used and side not in case["begins"])
    maps = {"q2": draw_map(r, ("q", "dqk2"), {"b": b_of("q"), **several}), "k2": draw_map(r, ("kv", "dqk2"), {"b": b_of("kv"), "hkv": several["hkv"]})}
    narrow = r.random() < 0.4
    types = {"q2": r.choice(("f32", "bf16", "f16")) if narrow else case["types"]["q"], "k2": r.choice(("f32", "bf16", "f16")) if narrow else case["types"]["k"]}
    return {"maps": maps, "types": types, "channels": r.choice(CHANNELS)}


def draw_weights(r, case):
    """A request for weights, which packed queries of static heads alone have; their array holds every key."""
    if "b" in case["maps"]["q"] + case["maps"]["o"] or not {"hkv", "g"} <= set(case["static"]):
        return None
    all_heads = case["heads"]["hkv"] * case["heads"]["g"]
    layers, heads = r.choice((1, 1, 3)), r.sample(range(all_heads), r.randint(1, all_heads))
    keys = most_keys(case) + r.choice((0, 0, 1, 40))
    return {"layers": layers, "layer": r.choice((0, layers - 1, layers - 1, layers, -1)), "heads": heads, "keys": max(1, keys)}


def most_keys(case):
    """The most keys of a sequence in any call. A static extent of keys counts in a call without sequences, too: weights that are shorter are refused (A34)."""
    if case["cache"]:
        return max((past + n for data in case["data"] for past, n in zip(data["past"], data["q"])), default=0)
    static = 0 if case["begins"].count("kv") or case["length"] or case["offset"] or "kv" not in case["static"] else case["data"][0]["kv"]
    return max((count for data in case["data"] for _, count in keys_of(case, data)), default=static)


# ---- reducing --------------------------------------------------------------------------------------------------------

def repaired(case):
    """The case with lengths that fit it after a change."""
    case = copy.deepcopy(case)
    used = {dim for map_ in case["maps"].values() for dim in map_}
    for dim in ("hkv", "g"):
        case["heads"][dim] = case["heads"][dim] if dim in used else 1
    if case.get("second"):
        packed = {"q2": "q" in case["begins"], "k2": "kv" in case["begins"]}
        for name, map_ in case["second"]["maps"].items():
            case["second"]["maps"][name] = [dim for dim in map_ if dim in used | {"q", "kv", "dqk2"} and not (dim == "b" and packed[name])]
    for data in case["data"]:
        if "b" not in used and "q" not in case["begins"]:
            for name in ("q", "offset", "length", "past"):
                if name in data:
                    data[name] = data[name][:1] or [1]
            if isinstance(data["kv"], list):
                data["kv"] = data["kv"][:1] or [1]
        if "q" not in case["begins"]:
            data["q"] = data["q"][:1] * len(data["q"])
        rows = batch_of(data)
        if "kv" in case["begins"] and not isinstance(data["kv"], list):
            data["kv"] = [data["kv"]] * rows
        elif "kv" not in case["begins"] and isinstance(data["kv"], list):
            data["kv"] = max(data["kv"], default=0)
        if case["cache"]:
            continue
        for name in ("offset", "length"):
            given = data.pop(name, None)
            if case[name]:
                data[name] = (given or [0] * rows)[:rows]
        if case["offset"] and not case["length"] and "kv" not in case["begins"]:
            data["kv"] = max([data["kv"], *(n + at for n, at in zip(data["q"], data["offset"]))])
        if case["length"]:
            spans = data["kv"] if "kv" in case["begins"] else [data["kv"]] * rows
            data["length"] = [min(n, span) for n, span in zip(data["length"], spans)]
    if case.get("weights"):
        all_heads = range(case["heads"]["hkv"] * case["heads"]["g"])
        case["weights"]["heads"] = [head for head in case["weights"]["heads"] if head in all_heads] or [0]
        case["weights"]["keys"] = max(1, most_keys(case))
        if "b" in case["maps"]["q"] + case["maps"]["o"] or not {"hkv", "g"} <= set(case["static"]):
            case["weights"] = None
    return case


def without_extra(case, n):
    """The case without extra operand n, which no region reads."""
    case = copy.deepcopy(case)
    del case["extras"][n]

    def renumbered(node):
        if node[0] in ("extra", "lookup") and node[2] > n:
            return [*node[:2], node[2] - 1, *node[3:]]
        return node
    for name in ("score", "mask"):
        if case[name]:
            case[name] = trees.mapped(case[name], renumbered)
    return case


def changed(case, **fields):
    return {**copy.deepcopy(case), **copy.deepcopy(fields)}


def smaller_numbers(value, least=0):
    return sorted({least, 1, value // 2, value - 1} & set(range(least, value))) if value > least else []


def smaller_data(case):
    """Cases whose calls have fewer sequences, queries and keys."""
    for data in case["data"]:
        if len(case["data"]) > 1:
            yield changed(case, data=[data])
    if len(case["data"]) > 1:
        return
    data, rows = case["data"][0], batch_of(case["data"][0])
    for b in range(rows if rows > 1 else 0):
        keep = lambda values: values[:b] + values[b + 1:] if isinstance(values, list) else values
        yield changed(case, data=[{name: keep(value) for name, value in data.items()}])
    for name, plain in (("q_slack", 0), ("kv_slack", 0), ("poison", False), ("stale", False), ("amplify", 1), ("share", False)):
        if data.get(name, plain) != plain:
            yield changed(case, data=[{**data, name: plain}])
    for name in ("q", "kv", "offset", "length", "past"):
        value = data.get(name)
        if isinstance(value, list):
            for b, number in enumerate(value):
                for less in smaller_numbers(number):
                    yield changed(case, data=[{**data, name: [*value[:b], less, *value[b + 1:]]}])
        elif value is not None:
            for less in smaller_numbers(value):
                yield changed(case, data=[{**data, name: less}])


def smaller_maps(case):
    for side in ("q", "k", "v", "o"):
        for dim in ("b", "hkv", "g"):
            if dim in case["maps"][side] and not case["cache"]:
                maps = copy.deepcopy(case["maps"])
                for other in [side] if side != "q" else ["q", "o"]:
                    maps[other] = [d for d in maps[other] if d != dim]
                yield changed(case, maps=maps)
        ordered = sorted(case["maps"][side], key=lambda dim: ("b", "q", "kv", "hkv", "g", "dqk", "dv").index(dim))
        if ordered != case["maps"][side]:
            yield changed(case, maps={**case["maps"], side: ordered})
    for dim in ("b", "hkv", "g"):
        maps = {side: [d for d in map_ if d != dim] for side, map_ in case["maps"].items()}
        if maps != case["maps"] and not case["cache"]:
            yield changed(case, maps=maps)


def smaller(case):
    """Simpler cases by one step, those that save most first; not all of them are kernels."""
    for name in ("score", "mask"):
        if case[name]:
            yield changed(case, **{name: None})
    yield from smaller_data(case)
    for name, plain in (("lse", False), ("weights", None), ("sink", None), ("second", None), ("additive", False), ("length", False), ("offset", False), ("scale", 1.0), ("types", dict.fromkeys("kvqo", "f32")), ("named", True)):
        if case.get(name, plain) != plain and not (case["cache"] and name in ("offset", "types")):
            yield changed(case, **{name: plain})
    for side in case["begins"]:
        if not case["cache"]:
            yield changed(case, begins=[other for other in case["begins"] if other != side])
    for n in set(range(len(case["extras"]))) - trees.used_extras(case["score"], case["mask"]):
        yield without_extra(case, n)
    for dim in case["heads"]:
        for less in smaller_numbers(case["heads"][dim], 1):
            yield changed(case, heads={**case["heads"], dim: less})
    if case["cache"]:
        if case["channels"] != {"dqk": 32, "dv": 32}:
            yield changed(case, channels={"dqk": 32, "dv": 32})
        for types in ({"k": "f32", "v": "f32"}, {"v": case["types"]["k"]}):
            if case["types"] != {**case["types"], **types}:
                yield changed(case, types={**case["types"], **types})
        if (case["types"]["q"], case["types"]["o"]) != ("f32", "f32"):
            yield changed(case, types={**case["types"], "q": "f32", "o": "f32"})
        if case["cache"]["layers"] > 1:
            yield changed(case, cache={**case["cache"], "layers": 1, "layer": 0})
    else:
        for dim in case["channels"]:
            for less in smaller_numbers(case["channels"][dim], 1):
                yield changed(case, channels={**case["channels"], dim: less})
    yield from smaller_maps(case)
    for n, extra in enumerate(case["extras"]):
        for name in ("stored", "dynamic"):
            if extra.get(name):
                extras = copy.deepcopy(case["extras"])
                del extras[n][name]
                yield changed(case, extras=extras)
        for dim in extra["map"]:
            extras = copy.deepcopy(case["extras"])
            extras[n]["map"].remove(dim)
            yield changed(case, extras=extras)
    for name in ("score", "mask"):
        if case[name]:
            for tree in trees.smaller(case[name]):
                yield changed(case, **{name: tree})
    for dim in case["static"]:
        if dim in ("b", "q", "kv"):
            yield changed(case, static=[other for other in case["static"] if other != dim])
