"""The texts of diagnostics on IR in the sources, and which of them a test expects."""

import re

SOURCES = ("dialect/", "lib/Analysis/", "lib/Driver/StageCheck", "lib/Host/", "lib/Pipelines/", "lib/Reference/", "lib/Target/",
           "lib/TargetInfo/", "lib/Transforms/")
EMITS = re.compile(r"\b(?:emitOpError|emitError|notifyMatchFailure|refuse\w*|notLegalBecause)\s*\(")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"(?:\s*"((?:[^"\\\n]|\\.)*)")*')
EXPECTS = re.compile(r"expected-(?:error|remark|warning)|^[^:\n]*[A-Z]+(?:-\w+)*: |\berror\(|\bexpect|%\{(?:run|line)\}|REDEFINE|EXPECT_|ASSERT_|\bin str\(|\bwrong\(")
WINDOW = 20  # letters of a message that a test must repeat, or all of a shorter one


def statements(text):
    """(line, source) of every statement that emits a diagnostic, up to its semicolon."""
    for match in EMITS.finditer(text):
        end = match.end()
        quoted = False
        while end < len(text) and (quoted or text[end] != ";"):
            if text[end] == '"' and text[end - 1] != "\\":
                quoted = not quoted
            end += 1
        yield text.count("\n", 0, match.start()) + 1, text[match.start():end]


def literals(source):
    """The string literals of a statement, adjacent ones joined."""
    found = []
    for match in LITERAL.finditer(source):
        parts = re.findall(r'"((?:[^"\\\n]|\\.)*)"', match[0])
        found.append("".join(parts).replace('\\"', '"').replace("\\\\", "\\"))
    return [text for text in found if len(text.strip()) >= 8]


def messages(checkout):
    """(path, line, literals) of every diagnostic on IR."""
    for path in checkout.files(("dialect", "lib"), {".cpp", ".h"}):
        if str(path).startswith(SOURCES):
            for line, source in statements(checkout.text(path)):
                parts = literals(source)
                if parts:
                    yield path, line, parts


def windows(text):
    text = text.strip()
    size = min(len(text), WINDOW)
    return {text[i:i + size] for i in range(len(text) - size + 1)}


def expectations(checkout):
    """The lines of tests that say what a message must be."""
    lines = []
    for path in checkout.files(("test",), {".mlir", ".test", ".py", ".cpp"}):
        lines += [line for line in checkout.text(path).splitlines() if EXPECTS.search(line)]
    return "\n".join(lines)


def unexpected(checkout):
    """The diagnostics that no test expects, and how many there are in all. A text that several diagnostics have proves none of
    them, unless it is all that they have."""
    found = list(messages(checkout))
    expected = expectations(checkout)
    users = {}
    for number, (_, _, parts) in enumerate(found):
        for window in set().union(*map(windows, parts)):
            users.setdefault(window, set()).add(number)
    holes = []
    for number, (path, line, parts) in enumerate(found):
        own = set().union(*map(windows, parts))
        alone = {window for window in own if len(users[window]) == 1}
        if not any(window in expected for window in alone or own):
            holes.append((path, line, max(parts, key=len)))
    return len(found), holes
