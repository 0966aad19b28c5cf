"""Configurations of models of real size, by name."""

import json
from pathlib import Path

TEST = Path(__file__).resolve().parents[1]


def configuration(model):
    """The configuration of a folder of test/models; of FOLDER/NAME, the part NAME/config.json of test/Import/FOLDER/published.test, or of the test that a third
    word names."""
    folder, slash, name = model.partition("/")
    name, _, test = name.partition("/")
    path = TEST / "Import" / folder / f"{test or 'published'}.test" if slash else TEST / "models" / model / "config.json"
    text = path.read_text(encoding="utf-8")
    return json.loads(text.split(f"//--- {name}/config.json\n")[1].split("//---")[0] if slash else text)
