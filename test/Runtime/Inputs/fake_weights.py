"""Weight files for the model in C with other sections: its tokenizer has a token a byte; here some bytes are special tokens."""

import json
import struct
from pathlib import Path

HEADER, SECTION, ALIGNMENT = struct.Struct("<QII16s16sQ"), struct.Struct("<64sQQ"), 4096
SPECIAL = {"<|user|>": 1, "<|system|>": 2, "<|assistant|>": 3, "</s>": 4}


def write_weights(model, path, sections):
    """Writes to `path` a weight file as that of the library `model`, with these sections (name: text) beside the tokenizer."""
    own = Path(model).with_name("fake-0000cafe.weights").read_bytes()
    magic, version, count, interface, _, _ = HEADER.unpack_from(own)
    parts = []
    for i in range(count):
        section, offset, size = SECTION.unpack_from(own, HEADER.size + i * SECTION.size)
        parts.append((section.rstrip(b"\0").decode(), own[offset:offset + size]))
    tokenizer = json.loads(dict(parts)["tokenizer.json"])
    tokenizer["added_tokens"] += [{"id": number, "content": text, "special": True} for text, number in SPECIAL.items()]
    vocabulary = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = {text: number for text, number in vocabulary.items() if number not in SPECIAL.values()}
    parts = [parts[0], ("tokenizer.json", json.dumps(tokenizer).encode())]
    parts += [(section, text.encode()) for section, text in sections.items()]
    header, body = b"", b""
    for section, data in parts:
        header += SECTION.pack(section.encode(), ALIGNMENT + len(body), len(data))
        body += data + bytes(-len(data) % ALIGNMENT)
    header = HEADER.pack(magic, version, len(parts), interface, bytes(16), ALIGNMENT + len(body)) + header
    path = Path(path)
    path.write_bytes(header + bytes(ALIGNMENT - len(header)) + body)
    return path
