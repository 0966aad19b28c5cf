"""The layers of the code and which may include which: check-layering checks it, changed.py and stamps.py take from it what a file can reach."""

import re

# The folders that each folder may include, besides itself.
IR = ["dialect/Attn", "lib/Analysis", "lib/Transforms", "lib/Host", "lib/Conversion", "lib/Target", "lib/Pipelines"]
IMPORT = ["dialect/Attn", "lib/Formats", "lib/Artifact", "lib/Import/Module", "lib/Import/Parts", "lib/Import/Specs"]
ALLOWED = {
    "dialect/Attn": ["lib/Support"],  # the facts of attn.model
    "dialect/AttnCPU": ["dialect/Attn", "lib/Artifact"],  # the weight file's panels
    "dialect/AttnGPU": ["dialect/Attn", "lib/Artifact"],  # the weight file's panels
    "dialect/AttnHost": [],
    "lib/Support": [],
    "lib/TargetInfo": ["dialect/Attn"],
    "lib/Runtime": ["lib/Support"],  # RaptSupportCore alone is linked: JSON and the facts
    "lib/Tokenizer": [],
    "lib/Audio": [],
    "lib/Image": [],
    "lib/Drawing": [],
    "lib/Generation": ["lib/Runtime", "lib/Tokenizer", "lib/Audio", "lib/Image", "lib/Drawing", "lib/Bench"],
    "lib/Bench": ["lib/Runtime"],
    "lib/Artifact": [],
    "lib/Formats": ["lib/Artifact"],
    "lib/Import": IMPORT + ["lib/Import/Families"],  # the library; each of its folders includes those before it
    "lib/Import/Module": IMPORT[:3],
    "lib/Import/Parts": IMPORT[:4],
    "lib/Import/Specs": IMPORT[:5],
    "lib/Import/Families": IMPORT,
    "lib/Reference": ["dialect/Attn", "lib/Artifact", "lib/Formats"],  # and rapt/artifact.h, as all may: the evaluator is a backend of the runtime, which it does not link
    "lib/Analysis": IR[:1],
    "lib/Transforms": IR[:2] + ["lib/Artifact"],
    "lib/Host": IR[:3] + ["dialect/AttnHost"],
    "lib/Conversion": IR[:3],
    "lib/Target": IR[:4] + ["lib/Artifact"],  # the interface, and layouts as the packer writes them; a folder of its own for each target
    "lib/Target/CPU": IR[:6] + ["dialect/AttnCPU", "lib/Artifact"],
    "lib/Target/Generic": IR[:6] + ["lib/Artifact"],
    "lib/Target/GPU": IR[:6] + ["dialect/AttnGPU", "dialect/AttnHost", "lib/Target/Generic", "lib/Artifact"],  # what any GPU needs; ops without a schedule begin from Generic's
    "lib/Target/GPU/NVIDIA": IR[:6] + ["dialect/AttnGPU", "dialect/AttnHost", "lib/Target/GPU", "lib/Target/Generic", "lib/Artifact"],
    "lib/Target/Targets": ["lib/Target", "lib/Host", "lib/Target/CPU", "lib/Target/GPU/NVIDIA", "lib/Target/Generic"],
    "lib/Pipelines": IR[:6],
    "lib/InitAll": IR + ["dialect/AttnHost", "lib/Import", "lib/Target/Targets"],
    "lib/Driver": IR + ["lib/InitAll", "lib/Target/Targets", "lib/Import", "lib/Import/Families", "lib/Formats", "lib/Artifact", "lib/Tokenizer", "lib/Generation"],
    "tools": ["lib/Driver", "lib/InitAll", "lib/Generation", "lib/Runtime", "lib/Tokenizer", "lib/Bench", "lib/Reference",
              "lib/Support", "dialect/Attn", "dialect/AttnCPU"],
}
# The others in lib and tools may also use Support, and TargetInfo where they have LLVM.
ALONE = ["dialect/Attn", "dialect/AttnCPU", "dialect/AttnGPU", "dialect/AttnHost", "lib/Runtime"]
WITHOUT_LLVM = ["lib/Support", "lib/Runtime", "lib/Tokenizer", "lib/Audio", "lib/Image", "lib/Drawing", "lib/Generation", "lib/Bench",
                "lib/Artifact", "lib/Formats"]


def layer(path):
    """The layer that a repository path belongs to: the longest key of ALLOWED that leads it."""
    keys = [key for key in ALLOWED
            if path == key or path.startswith(key + "/") or re.match(re.escape(key) + r"\.\w+$", path)]
    return max(keys, key=len, default=None)


def permitted(source, target):
    if target == source or target in ALLOWED[source]:
        return True
    if source in ALONE or source == "lib/Support":
        return False
    return target == "lib/Support" or (target == "lib/TargetInfo" and source not in WITHOUT_LLVM)
