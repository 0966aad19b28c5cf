//===- ValueReader.h - Values of a GGUF file's metadata ---------------------------===//
#pragma once
#include "lib/Formats/GGUF/ByteCursor.h"
#include "lib/Formats/GGUF/Metadata.h"

namespace rapt::gguf {

/// A text behind its length, which may be `most` bytes. Errors name neither file nor key.
Expected<std::string> readText(ByteCursor &cursor, uint64_t most);

/// A value behind its type.
Expected<Value> readValue(ByteCursor &cursor);

} // namespace rapt::gguf
