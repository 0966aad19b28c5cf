//===- Pooling.h - How a file's vectors of texts are made -----------*- C++ -*-===//
#pragma once
#include "lib/Formats/HuggingFace/TokenizerFiles.h"
#include "lib/Import/Families/GGUF/Translation.h"

namespace rapt::importing {

/// The files of sentence-transformers that pooling_type stands for: the pooling, linear layers that the file has behind
/// it, and length 1, which a file does not say and llama.cpp's programs give. Empty: the file has no pooling.
huggingface::SideFiles readPooling(Translation &t);

} // namespace rapt::importing
