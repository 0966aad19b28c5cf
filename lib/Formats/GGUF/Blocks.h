//===- Blocks.h - Blocks of quantized tensors in a GGUF file ----------------===//
#pragma once
#include "lib/Artifact/CodeBlock.h"

namespace rapt::gguf {

/// How tensors of the type of that name have blocks; null where Rapt does not read them.
const artifact::BlockSource *findBlockSource(std::string_view type);

} // namespace rapt::gguf
