//===- Describe.h - What a GGUF file holds, for people --------------------------===//
#pragma once
#include "lib/Formats/GGUF/File.h"

namespace rapt::gguf {

/// Lines of text: the metadata, long lists cut, the tensors with types and shapes, and the bytes of each type. What is
/// not printable is escaped.
std::string describe(const File &file);

} // namespace rapt::gguf
