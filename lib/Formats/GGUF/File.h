//===- File.h - A model in a GGUF file, or in its parts -----------------------===//
//
// A file is its metadata, a list of tensors, and their data at aligned offsets. All of it is checked against the file's
// size; data is never mapped, so that a file that shrinks gives an error. A model of several files,
// NAME-00001-of-00003.gguf and so on, has its metadata in the first. Format: ggml's docs/gguf.md.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Formats/GGUF/Metadata.h"
#include "lib/Formats/GGUF/Types.h"
#include "lib/Support/File.h"
#include <memory>

namespace rapt::gguf {

/// A tensor of a file.
struct Tensor {
  std::string name;
  const TensorType *type = nullptr; ///< never null, never a refused one
  std::vector<int64_t> dims; ///< as the file has them: the first is contiguous; at least 1 each; none of a scalar
  uint64_t offset = 0;       ///< of the data, from the start of the file
  uint64_t bytes = 0;
  std::shared_ptr<const InputFile> file; ///< the part that has it

  /// Row-major, as other formats have it: the last dim is contiguous.
  std::vector<int64_t> shape() const { return {dims.rbegin(), dims.rend()}; }
};

/// Whether a file begins as a GGUF file does.
bool isGGUF(std::string_view head);

/// Names formats before GGUF that a file's first bytes are of, and what to do; empty: none.
std::string describeOlderFormat(std::string_view head);

/// The metadata and tensors of a model.
class File {
public:
  /// Reads the headers of a file, and those of the other parts where it is the first of several. Data is not read.
  /// Errors name file, key or tensor, and the numbers.
  static Expected<File> open(const std::string &path);

  /// As given.
  const std::string &path() const { return metadataOfAll.file(); }
  /// All files, the given one first.
  const std::vector<std::string> &parts() const { return paths; }
  /// Of the first part.
  const Metadata &metadata() const { return metadataOfAll; }
  const std::map<std::string, Tensor, std::less<>> &tensors() const { return table; }
  /// Null when there is none of that name.
  const Tensor *find(std::string_view name) const;

private:
  Status addParts();
  Status addTensors(std::vector<Tensor> tensors);
  std::vector<std::string> paths;
  Metadata metadataOfAll;
  std::map<std::string, Tensor, std::less<>> table;
};

} // namespace rapt::gguf
