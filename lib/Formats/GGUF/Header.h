//===- Header.h - The header of one GGUF file -------------------------------------===//
#pragma once
#include "lib/Formats/GGUF/File.h"

namespace rapt::gguf {

/// What comes before the data.
struct Header {
  Metadata metadata;
  std::vector<Tensor> tensors; ///< in the file's order
};

/// Reads and checks it, and the places of all tensors.
Expected<Header> readHeader(std::shared_ptr<const InputFile> file);

} // namespace rapt::gguf
