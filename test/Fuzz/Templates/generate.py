"""Draws chat templates and conversations, and compares what Rapt renders with what Python's Jinja does: the same text, or both refuse.

    generate.py --render build/test/render-templates --count N --seed N
    generate.py ... --only INDEX        one of them, which is printed
"""

import argparse
import json
import random
import re
import subprocess
import sys

import jinja_environment

WORDS = ["user", "a", "", "Hello  World", "x,y,,z", "Straße ÉLAN", "it's <b>&</b>", "tab\tline\nnext\r\nlast", "12", "-3.5e2", " padded ", "ǆ ŉ ﬁ Σας", "字 😀", "%s", "{}",
         "well-known words and-so-on", "0x1F", "½ ² ٣", "A_b9", "</s>", "\"quoted\" \\ back"]
ADDRESS = re.compile(r"0x[0-9a-f]{8}", re.IGNORECASE)
NAMES = ["a", "b", "item", "text", "ns", "loop"]


class Draw:
    """Expressions of a rough type, and statements around them, from one generator of random numbers."""

    def __init__(self, rng):
        self.rng = rng
        self.names = ["messages", "tools", "bos_token", "number", "words", "table", "nothing", "pairs"]
        self.depth = 0

    def pick(self, *choices):
        choice = self.rng.choice(choices)
        return choice() if callable(choice) else choice

    def quoted(self, text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"

    def constant(self):
        return self.pick(self.text_constant, self.number_constant, "true", "false", "none")

    def text_constant(self):
        return self.quoted(self.rng.choice(WORDS))

    def number_constant(self):
        return str(self.rng.choice([0, 1, 2, 3, 5, 10, 255, 1000000, 9223372036854775807, 2.5, 0.1, 1e3, 1e22, 2.675, 100.0]))

    def whole(self):
        return str(self.rng.choice([0, 1, 2, 3, 5, 8, -1, -2, 12]))

    def deeper(self, simple, *choices):
        if self.depth > 3 or self.rng.random() < 0.25:
            return simple()
        self.depth += 1
        result = self.pick(*choices)
        self.depth -= 1
        return result

    # Expressions

    def text(self):
        return self.deeper(
            self.text_constant,
            self.text_constant,
            "bos_token",
            "messages[0].content",
            "messages[-1]['role']",
            lambda: f"words[{self.whole()}]",
            lambda: f"({self.text()} + {self.text()})",
            lambda: f"({self.any()} ~ {self.any()})",
            lambda: f"{self.text()}.{self.text_method()}",
            lambda: f"{self.text()}.{self.text_method()}",
            lambda: f"({self.text()} | {self.text_filter()})",
            lambda: f"({self.any()} | {self.any_filter()})",
            lambda: f"{self.text_constant()}.{self.text_method()}[{self.slice()}]",
            lambda: f"({self.text()} if {self.boolean()} else {self.text()})",
            lambda: f"({self.format()} % {self.values()})",
            lambda: f"{self.braces()}.format({self.any()}, {self.number()}, 12, name={self.any()})",
            lambda: f"({self.items()} | join({self.text_constant()}))",
            lambda: f"({self.lazy()} | {self.rng.choice(['join', 'first', 'sum', 'min', 'max', 'sort', 'list | last'])})",
        )

    def slice(self):
        return self.pick("1:", ":-1", "::-1", "2:5", "::2", "-3:", ":0", "5:1:-2", f"{self.whole()}:{self.whole()}")

    def text_method(self):
        text, whole = self.text_constant, self.whole
        return self.pick(
            "upper()", "lower()", "title()", "capitalize()", "swapcase()", "casefold()", "strip()", "lstrip()", "rstrip()", "expandtabs(4)",
            lambda: f"strip({text()})", lambda: f"replace({text()}, {text()})", lambda: f"replace({text()}, '-', {whole()})",
            lambda: f"center({whole()}, '*')", lambda: f"ljust({whole()})", lambda: f"rjust({whole()}, '.')", lambda: f"zfill({whole()})",
            lambda: f"removeprefix({text()})", lambda: f"removesuffix({text()})", lambda: f"join({self.items()})",
            lambda: f"split({text()})[0]", lambda: f"partition({text()})[2]", lambda: f"rpartition({text()})[0]",
            "translate({97: 'x', 108: none})")

    def text_filter(self):
        text, whole = self.text_constant, self.whole
        return self.pick(
            "upper", "lower", "title", "capitalize", "trim", "reverse", "e", "safe", "forceescape", "string", "urlencode", "wordcount", "length", "int", "float", "first", "last",
            lambda: f"trim({text()})", lambda: f"replace({text()}, {text()})", lambda: f"indent({whole()}, {self.boolean_constant()}, {self.boolean_constant()})",
            lambda: f"center({whole()})", lambda: f"truncate({self.rng.choice([5, 8, 20])}, {self.boolean_constant()}, '..', 0)",
            lambda: f"wordwrap({self.rng.choice([3, 6, 10])}, {self.boolean_constant()}, '|')", lambda: f"default({text()}, true)", lambda: f"format({self.any()})",
            lambda: f"int({whole()}, {self.rng.choice([0, 2, 10, 16])})")

    def any_filter(self):
        return self.pick("string", "tojson", lambda: f"tojson(indent={self.rng.choice([0, 1, 4])})", "tojson(sort_keys=true)", "tojson(ensure_ascii=true)", "tojson(separators=(',', ':'))", "e",
                         "list", "length", "default('d')", "default('d', true)", "int", "float", "abs", "round", "round(1)", "round(1, 'floor')", "filesizeformat", "urlencode",
                         "upper", "title", "xmlattr", "items | list", "dictsort", "first", "last", "attr('real')", "count", "wordcount", "trim")

    def format(self):
        return self.quoted(self.rng.choice(["%s", "%5s|", "%-6s|", "%r", "%d", "%05d", "%+d", "%x", "%#o", "%e", "%.2f", "%g", "%8.3f|", "%c", "%s %s", "%%", "%(a)s", "%.3s", "%i items"]))

    def braces(self):
        return self.quoted(self.rng.choice(["{}", "{0} {1}", "{1:>8}|", "{0!r}", "{name}", "{1:08.2f}", "{1:,}", "{1:e}", "{0:^9}|", "{1:+}", "{1:x}", "{{}}{}", "{0:.2}", "{1:{2}}", "{name[0]}",
                                            "{1.real}", "{1:%}", "{1:_}", "{1:g}", "{", "{2}", "{0:*<7}", "{1:#x}", "{1:.3}"]))

    def values(self):
        return self.pick(self.any, lambda: f"({self.any()}, {self.number()})", lambda: f"({self.number()},)", lambda: f"{{'a': {self.any()}}}")

    def number(self):
        return self.deeper(
            self.number_constant,
            self.number_constant,
            self.whole,
            "number",
            lambda: f"({self.number()} {self.rng.choice(['+', '-', '*', '/', '//', '%'])} {self.number()})",
            lambda: f"({self.number()} ** {self.rng.choice(['2', '0', '-1', '3'])})",
            lambda: f"(({self.number()} | abs) ** 0.5)",
            lambda: f"-{self.number()}",
            lambda: f"({self.items()} | length)",
            lambda: f"({self.items()} | {self.pick('sum', 'min', 'max', 'first', 'last')})",
            lambda: f"{self.text()}.{self.pick('find', 'count', 'rfind')}({self.text_constant()})",
            lambda: f"({self.number()} | {self.pick('abs', 'int', 'float', 'round', 'round(1)', 'round(-1)')})",
        )

    def boolean_constant(self):
        return self.rng.choice(["true", "false"])

    def boolean(self):
        return self.deeper(
            self.boolean_constant,
            lambda: f"({self.any()} is {self.pick('not ', '')}{self.test()})",
            lambda: f"({self.any()} is {self.pick('not ', '')}{self.test()})",
            lambda: f"({self.any()} {self.rng.choice(['==', '!=', 'in', 'not in'])} {self.any()})",
            lambda: f"({self.number()} {self.rng.choice(['<', '<=', '>', '>='])} {self.number()})",
            lambda: f"({self.text()} {self.rng.choice(['<', '>='])} {self.text()})",
            lambda: f"({self.text()} in {self.text()})",
            lambda: f"(not {self.any()})",
            lambda: f"({self.any()} and {self.any()})",
            lambda: f"({self.any()} or {self.any()})",
            lambda: f"{self.text()}.{self.pick('isupper', 'islower', 'isdigit', 'isalpha', 'isalnum', 'isspace', 'istitle', 'isnumeric', 'isdecimal', 'isidentifier', 'isascii', 'isprintable')}()",
            lambda: f"{self.text()}.{self.pick('startswith', 'endswith')}({self.text_constant()})",
        )

    def test(self):
        return self.pick("defined", "none", "string", "mapping", "iterable", "sequence", "number", "integer", "float", "boolean", "true", "false", "callable", "odd", "even", "undefined", "lower",
                         "upper", "escaped", "divisibleby(3)", "in([1, 'a'])", "eq('user')", "sameas(none)", "ge(1)", "filter", "test", "lt('m')")

    def items(self):
        return self.deeper(
            lambda: self.rng.choice(["words", "[]", "[1, 2, 3]", "range(4)", "(1, 'a')"]),
            "words", "messages", "pairs", "tools", "range(2, 9, 3)", "(3, 1.5, 2)", "['b', 'A', 'a', 'B']",
            lambda: f"[{self.any()}, {self.any()}, {self.any()}]",
            lambda: f"({self.any()}, {self.any()})",
            lambda: f"({self.items()} + {self.items()})",
            lambda: f"({self.items()} | {self.list_filter()})",
            lambda: f"({self.lazy()} | list)",
            lambda: f"({self.lazy()} | list)",
            lambda: f"({self.lazy()} | list)",
            lambda: f"{self.text()}.{self.pick('split()', 'splitlines()', 'rsplit(none, 1)', 'split(sep=' + self.quoted(',') + ')', 'splitlines(true)')}",
            lambda: f"{self.sequence()}[{self.slice()}]",
            lambda: f"table.{self.pick('items', 'keys', 'values')}()",
            lambda: f"({self.items()} * {self.rng.choice([0, 1, 2])})",
        )

    def sequence(self):
        """A value that slices are taken of. Jinja computes constants when it compiles, and gives undefined in some places where it refuses a slice of a variable."""
        return self.pick("words", "messages", "pairs", "range(2, 9, 3)", "(3, 1.5, 2)", f"[{self.any()}, 1, {self.any()}]", f"({self.lazy()} | list)")

    def list_filter(self):
        return self.pick("list", "sort", "sort(reverse=true)", "sort(case_sensitive=true)", "groupby('role')", "groupby('role', default='x')", "sort(attribute='role')",
                         "sort(attribute='role,content')")

    def lazy(self):
        """An iterator, which Python shows with its address: it stands where it is not shown."""
        return f"({self.items()} | {self.lazy_filter()})"

    def lazy_filter(self):
        return self.pick(
            "unique", "reverse", "map('upper')", "map('string')", "map('length')", "map(attribute='role')", "map(attribute='content', default='-')", "map(attribute='0')", "select", "reject",
            "select('string')", "reject('none')", "select('odd')", "selectattr('role')", "selectattr('role', 'equalto', 'user')", "rejectattr('content', 'none')", "batch(2)", "batch(2, '-')",
            "slice(2)", "slice(3, 0)", "map('default', 'z')", "map('first')", "map('replace', 'a', 'b')", "select('in', [1, 2, 'a'])", "map('tojson')", "map('int')", "unique(attribute='role')")

    def dict(self):
        return self.deeper(
            lambda: "table", "table", "messages[0]", "{}", "{1: 'one', 'two': 2, none: 0, (1, 2): []}",
            lambda: f"{{'k': {self.any()}, {self.constant()}: {self.any()}}}",
            lambda: f"dict(a={self.any()}, b=2)",
            lambda: f"dict({self.dict()}, c={self.any()})",
        )

    def any(self):
        return self.deeper(
            self.constant,
            self.text, self.text, self.number, self.boolean, self.items, self.dict,
            lambda: self.rng.choice(self.names),
            lambda: f"{self.dict()}.get({self.constant()})",
            lambda: f"{self.dict()}[{self.constant()}]",
            lambda: f"{self.dict()}.{self.rng.choice(['a', 'b', 'k', 'missing', 'role'])}",
            lambda: f"{self.items()}[{self.whole()}]",
            lambda: f"({self.any()} if {self.boolean()})",
        )

    # Statements

    def body(self, count):
        outside = list(self.names)
        text = "".join(self.statement() for _ in range(self.rng.randint(1, count)))
        self.names = outside
        return text

    def open(self):
        return self.rng.choice(["{%", "{%", "{%-", "{%+"])

    def close(self):
        return self.rng.choice(["%}", "%}", "-%}", "+%}"])

    def tag(self, inside):
        return f"{self.open()} {inside} {self.close()}"

    def data(self):
        return self.rng.choice([" ", "\n", "text", "\n  ", "  indented\n", "}\n", "<s>", "\r\n", "\t", "\n\n"])

    def output(self):
        return self.rng.choice(["{{", "{{-"]) + f" {self.any()} " + self.rng.choice(["}}", "-}}"])

    def statement(self):
        self.level = getattr(self, "level", 0) + 1
        choices = [self.data, self.output, self.output, self.output, self.set]
        if self.level < 4:
            choices += [self.branch, self.loop, self.loop, self.macro, self.with_, self.block_set, self.filter_block, self.recursive, self.call_block, self.namespace, self.raw, self.autoescape,
                        self.cycler, self.generation, self.iterator]
        result = self.rng.choice(choices)()
        self.level -= 1
        return result

    def set(self):
        name = self.rng.choice(NAMES[:4])
        value = self.any()
        self.names.append(name)
        if self.rng.random() < 0.15:
            return self.tag(f"set a, (b, item) = {self.any()}, ({value}, 1)")
        return self.tag(f"set {name} = {value}")

    def block_set(self):
        body = self.body(2)
        self.names.append("text")
        return self.tag("set text" + self.rng.choice(["", " | trim", " | upper | trim", " | replace('a', 'b')"])) + body + self.tag("endset")

    def branch(self):
        text = self.tag(f"if {self.any()}") + self.body(2)
        if self.rng.random() < 0.4:
            text += self.tag(f"elif {self.boolean()}") + self.body(2)
        if self.rng.random() < 0.5:
            text += self.tag("else") + self.body(2)
        return text + self.tag("endif")

    def loop(self):
        target = self.rng.choice(["item", "item", "a", "item", "a, b"])
        items = "table.items()" if target == "a, b" and self.rng.random() < 0.7 else self.pick(self.items, self.items, self.lazy)
        condition = f" if {self.boolean()}" if self.rng.random() < 0.2 else ""
        outside = list(self.names)
        self.names += target.split(", ")
        inside = self.body(2) + self.rng.choice(["", "", "{{ item }}", "{{ loop.index }}{{ loop.revindex }}", "{{ loop.first }}{{ loop.last }}", "{{ loop.cycle('x', 'y', 'z') }}",
                                                 "{{ loop.previtem }}{{ loop.nextitem }}", "{{ loop.changed(item) }}", "{{ loop.length }}{{ loop.depth0 }}",
                                                 "{% if loop.index == 2 %}{% break %}{% endif %}", "{% if loop.first %}{% continue %}{% endif %}after"])
        self.names = outside
        other = self.tag("else") + self.body(2) if self.rng.random() < 0.25 else ""
        return self.tag(f"for {target} in {items}{condition}") + inside + other + self.tag("endfor")

    def recursive(self):
        return self.rng.choice([
            "{% for item in [[1, [2]], [3]] recursive %}{{ loop.depth }}{% if item is iterable %}({{ loop(item) }}){% else %}{{ item }}{% endif %}{% endfor %}",
            "{% for item in ['x', ['y', ['z']]] recursive -%} {{ loop.index }}:{{ item if item is string else loop(item) }} {%- endfor %}",
        ])

    def macro(self):
        inside = self.body(2) + self.rng.choice(["{{ a }}", "{{ varargs }}", "{{ kwargs }}", "{{ caller is defined }}", "{{ b }}{{ text }}"])
        call = self.rng.choice([f"m({self.any()})", f"m({self.any()}, b={self.any()})", "m()", "m(1, 2)", f"m(*[{self.any()}])", f"m(**{{'a': {self.any()}, 'b': 1}})"])
        if "varargs" in inside or "kwargs" in inside or self.rng.random() < 0.05:
            call = self.rng.choice([f"m({self.any()}, 2, 3)", f"m(*{self.items()})", "m(1, c=2)", call])
        return self.tag(f"macro m(a, b={self.constant()})") + inside + self.tag("endmacro") + "{{ " + call + " }}"

    def call_block(self):
        return ("{% macro outer(a) %}[{{ a }}|{{ caller(a, 2) if caller is defined }}]{% endmacro %}" + self.tag(f"call(b, item=1) outer({self.any()})") + self.body(2) + "{{ b }}{{ item }}" +
                self.tag("endcall"))

    def with_(self):
        outside = list(self.names)
        text = self.tag(f"with a = {self.any()}, b = {self.any()}")
        self.names += ["a", "b"]
        text += self.body(2) + self.tag("endwith")
        self.names = outside
        return text

    def filter_block(self):
        return self.tag("filter " + self.rng.choice(["upper", "trim | title", "replace('a', 'X')", "indent(2, true)", "length", "e"])) + self.body(2) + self.tag("endfilter")

    def namespace(self):
        return (f"{{% set ns = namespace(a={self.any()}, count=0) %}}" + self.tag(f"for item in {self.items()}") + "{% set ns.count = ns.count + 1 %}{% set ns.a = " + self.any() + " %}" +
                self.tag("endfor") + "{{ ns.count }}{{ ns.a }}")

    def raw(self):
        return self.rng.choice(["{% raw %}", "{%- raw -%}", "{%+ raw %}"]) + self.rng.choice([" {{ x }} ", "\n  {% y %}\n", "#}{#"]) + self.tag("endraw")

    def autoescape(self):
        return self.tag(f"autoescape {self.boolean_constant()}") + self.body(2) + self.tag("endautoescape")

    def generation(self):
        return self.tag("generation") + self.body(2) + self.tag("endgeneration")

    def iterator(self):
        return (f"{{% set once = {self.lazy()} %}}" + self.rng.choice(["{% if once %}yes{% endif %}", "{{ once is sequence }}{{ once is iterable }}", "{{ once | first }}", "{{ 'a' in once }}"]) +
                "{{ once | list }}{{ once | join }}")

    def cycler(self):
        return "{% set row = cycler('odd', 'even') %}{% set comma = joiner() %}" + self.tag(f"for item in {self.items()}") + "{{ comma() }}{{ row.next() }}{{ row.current }}" + self.tag("endfor")

    def template(self):
        return "".join(self.statement() for _ in range(self.rng.randint(1, 4)))


def conversation(rng):
    def value(depth=0):
        kinds = [lambda: rng.choice(WORDS), lambda: rng.choice([0, 1, -7, 3.5, 1e30, True, None]), lambda: rng.choice(WORDS)]
        if depth < 2:
            kinds += [lambda: [value(depth + 1) for _ in range(rng.randint(0, 3))], lambda: {rng.choice(["a", "k", "items", "name"]): value(depth + 1) for _ in range(rng.randint(0, 3))}]
        return rng.choice(kinds)()

    messages = [{"role": rng.choice(["user", "assistant", "system", "tool"]), "content": value()} for _ in range(rng.randint(1, 4))]
    tools = [{"name": rng.choice(WORDS), "parameters": value()} for _ in range(rng.randint(0, 2))]
    return {"messages": messages, "tools": rng.choice([tools, None]), "add_generation_prompt": rng.random() < 0.5, "bos_token": "<s>", "number": rng.choice([0, 3, -4, 2.5, 17]),
            "words": [rng.choice(WORDS) for _ in range(rng.randint(0, 4))], "table": {"a": value(), "k": value(), "b": 1}, "pairs": [["x", 1], ["y", 2]]}


def case(seed, index):
    rng = random.Random(f"{seed}:{index}")
    return {"template": Draw(rng).template(), "context": conversation(rng)}


def expected(jinja, one):
    """The text, or the error."""
    try:
        return {"text": jinja.from_string(one["template"]).render(**one["context"])}
    except RecursionError as error:
        return {"unknown": str(error)}
    except Exception as error:  # what Python raises is what Rapt refuses
        return {"error": f"{type(error).__name__}: {error}"}


# Names that Jinja has and Rapt has not, which docs/Generation.md names too. The last two change a list, which Jinja 3.1.2 does not refuse.
NOT_SUPPORTED = ["random", "striptags", "urlize", "lipsum", "encode", "from_bytes", "to_bytes", "fromhex", "hex", "clear", "pop"]
OBJECTS = {"'a'": str, "[1]": list, "{'a': 1}": dict, "(1,)": tuple, "(3)": int, "(1.5)": float, "range(3)": range}


def name_cases(jinja):
    """Templates that ask for each filter, test, function and method that Jinja and Python have."""
    questions = {name: f"{{{{ '{name}' is filter }}}}" for name in jinja.filters} | {f"is {name}": f"{{{{ '{name}' is test }}}}" for name in jinja.tests}
    questions |= {name: f"{{{{ {name} is defined }}}}" for name in jinja.globals}
    for value, kind in OBJECTS.items():
        questions |= {f"{value}.{name}": f"{{{{ {value}.{name} is defined }}}}" for name in dir(kind) if not name.startswith("_")}
    return {name: question for name, question in questions.items() if name.split(".")[-1] not in NOT_SUPPORTED}


def differs(wanted, given):
    """Whether Rapt does otherwise than Jinja. Addresses that Python prints are another each time, and so are unknown."""
    if "unknown" in wanted or ADDRESS.search(wanted.get("text", "")):
        return False
    return wanted.get("text") != given.get("text")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--render", required=True)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    jinja = jinja_environment.environment()
    indices = range(options.count) if options.only is None else [options.only]
    cases = [case(options.seed, index) for index in indices]
    names = name_cases(jinja) if options.only is None else {}
    asked = [{"template": question, "context": {}} for question in names.values()]
    run = subprocess.run([options.render], input="".join(json.dumps(one, ensure_ascii=False) + "\n" for one in cases + asked), capture_output=True, text=True, encoding="utf-8", check=True)
    answers = [json.loads(line) for line in run.stdout.split("\n") if line]
    counts = {"equal": 0, "refused": 0, "wrong": 0}
    missing = [name for name, one, given in zip(names, asked, answers[len(cases):], strict=True) if differs(expected(jinja, one), given)]
    if missing:
        print(f"Jinja has these, and Rapt has not, or the reverse: {', '.join(missing)}")
    for index, one, given in zip(indices, cases, answers):
        wanted = expected(jinja, one)
        wrong = differs(wanted, given)
        counts["wrong" if wrong else "equal" if "text" in given else "refused"] += 1
        if wrong or options.only is not None:
            print(f"--- {index}\n{one['template']}\n--- context\n{json.dumps(one['context'], ensure_ascii=False)}\n--- Jinja\n{wanted}\n--- Rapt\n{given}")
            print(f"again: {sys.executable} {__file__} --render {options.render} --seed {options.seed} --only {index}")
    print(f"generated: chat templates: {len(cases)}, seed {options.seed}: {counts['equal']} equal, {counts['refused']} refused by both, {counts['wrong']} wrong")
    sys.exit(counts["wrong"] > 0 or bool(missing))


if __name__ == "__main__":
    main()
