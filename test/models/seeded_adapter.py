#!/usr/bin/env python3
"""seeded_adapter.py FOLDER [SEED]: writes a LoRA adapter of tiny-gpt as the peft library does, of rank 4, for the projections of attention and the
feed-forward network. Its numbers are drawn, and nobody trained them: it shows how an adapter is used."""

import json
import random
import struct
import sys
from pathlib import Path

folder, draw = Path(sys.argv[1]), random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
model = json.loads((Path(__file__).parent / "tiny-gpt/config.json").read_text())
RANK, WIDTH = 4, model["n_embd"]
MODULES = {"attn.c_attn": (WIDTH, 3 * WIDTH), "mlp.c_fc": (WIDTH, model["n_inner"])}  # inputs, outputs

header, data = {}, b""
for layer in range(model["n_layer"]):
    for module, (inputs, outputs) in MODULES.items():
        for part, shape in (("lora_A", (RANK, inputs)), ("lora_B", (outputs, RANK))):
            numbers = [draw.gauss(0, 0.15) for _ in range(shape[0] * shape[1])]
            begin = len(data)
            data += struct.pack(f"<{len(numbers)}f", *numbers)
            header[f"base_model.model.transformer.h.{layer}.{module}.{part}.weight"] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "tiny-gpt", "r": RANK, "lora_alpha": 2 * RANK, "lora_dropout": 0.0,
          "bias": "none", "fan_in_fan_out": True, "target_modules": ["c_attn", "c_fc"], "inference_mode": True}
text = json.dumps(header).encode()
folder.mkdir(parents=True, exist_ok=True)
(folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
(folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
