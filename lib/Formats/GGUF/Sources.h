//===- Sources.h - A GGUF file's tensors as those of a directory --------------===//
//
// Tensors of both are the same numbers under other names, some of them with rows in another
// order, or several in one. A part of a tensor is a tensor of the same bytes.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Formats/GGUF/File.h"
#include "lib/Formats/HuggingFace/SafeTensors.h"

namespace rapt::gguf {

/// Fails where a tensor is of a type whose numbers are not read, and says how much of the file is.
Status requireReadTypes(const File &file);

/// The whole tensor, row-major; its type must be a read one.
huggingface::StoredTensor wholeTensor(const Tensor &tensor, std::string name);

/// Of [rows, ..] the rows from `first` on, which must be there.
huggingface::StoredTensor someRows(const huggingface::StoredTensor &tensor, std::string name, int64_t first,
                                   int64_t count);

/// Of [n, ..] the [..] of that index.
huggingface::StoredTensor oneOf(const huggingface::StoredTensor &tensor, std::string name, int64_t index);

using Rows = std::shared_ptr<const std::vector<int64_t>>;

/// Channels i and i + d / 2 of a head of d, which rotate together, are rows 2 i and 2 i + 1 of the file: of each row in
/// the order of halves, the file's. `channels` must be even.
Rows rowsOfPairs(int64_t heads, int64_t channels);

/// Queries, keys and values are behind one another in the file, and of each key head together in a directory: its
/// queries, its key, its value. `heads` must be a multiple of `keyHeads`.
Rows rowsOfGroups(int64_t heads, int64_t keyHeads, int64_t channels);

} // namespace rapt::gguf
