"""The table of a model directory's keys (lib/Support/DirectoryKeys.def) as a page."""

import re

HEAD = """# Files of a model directory

Several files of a Hugging Face directory can say the same thing. This table has every file and key, beside the sizes that config.json gives a family, that
changes ids, text, vectors or numbers, and which comes before which: what transformers 5, sentence-transformers 6 and peft do, unless a rule names another
version. A key that is not here and says something (is not null, false or empty) is an error in files whose keys all change numbers, and reported by `raptc`
in tokenizer_config.json. `1_Pooling` and `2_Dense` stand for the folders that modules.json names.

`raptc` writes the outcome into the weight file: applications find one tokenizer_config.json, generation_config.json and
preprocessor_config.json there.
"""
ROW = re.compile(r'^RAPT_DIRECTORY_KEY\("([^"]+)", "([^"]+)", (\w+), "((?:[^"\\]|\\.)*)"\)$', re.MULTILINE)


def rows(text):
    """(file, key, use, rule) of each row of the table."""
    return [(file, key, use, rule.replace('\\"', '"')) for file, key, use, rule in ROW.findall(text)]


def page(text):
    table = rows(text)
    lines = [HEAD]
    for file in dict.fromkeys(row[0] for row in table):
        own = [row for row in table if row[0] == file]
        lines += [f"## {file}", "", "| key | rule |", "|---|---|"]
        for _, key, use, rule in own:
            if use != "Harmless":
                lines.append(f"| {key if key.startswith('(') else f'`{key}`'} | {'not obeyed: ' if use == 'Reported' else ''}{rule} |".replace("<extra", "\\<extra"))
        harmless = [f"`{key}`" for _, key, use, _ in own if use == "Harmless"]
        if harmless:
            lines += ["", "Without effect: " + ", ".join(harmless) + "."]
        lines.append("")
    return "\n".join(lines)
