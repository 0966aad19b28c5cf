//===- TensorTable.h - Every tensor of a checkpoint, over its shards --------===//
#pragma once
#include "lib/Formats/HuggingFace/SafeTensors.h"
#include <functional>
#include <map>

namespace rapt::huggingface {

/// The tensors of a directory by name: of model.safetensors, or of the shards that model.safetensors.index.json names.
/// Codes "NAME_blocks", [.., blocks, 16] of U8, and "NAME_scales", [.., blocks], are one tensor NAME, [.., 32 *
/// blocks]. Where config.json has the quantization "fp8", NAME of F8_E4M3 and "NAME_scale_inv" are one tensor NAME.
class TensorTable {
public:
  /// Reads the headers of all files; tensors of sentence-transformers' linear layers are FOLDER.NAME. `warnings` gets
  /// tensors that a shard holds and the index does not name. Names in the index must be single path components; every
  /// file must be regular after following links.
  static Expected<TensorTable> load(const std::string &directory, std::vector<std::string> &warnings);

  /// The tensors of one file.
  static Expected<TensorTable> loadFile(const std::string &path);

  /// The name of a tensor in a file of another format; empty: that has none.
  using NameInFile = std::function<std::string(std::string_view)>;
  /// Tensors of such a file, of names that differ; `path` is the file, for messages.
  static TensorTable of(const std::string &path, std::vector<StoredTensor> tensors, NameInFile nameInFile = {});

  /// Takes a tensor in place of the one of its name.
  void replace(StoredTensor tensor) {
    std::string name = tensor.name;
    table.insert_or_assign(std::move(name), std::move(tensor));
  }

  /// Puts a prefix before all names.
  void addPrefix(const std::string &prefix);
  /// Takes the tensors of another file, whose names are others.
  void merge(TensorTable other);

  /// The tensor of that name, or null. The pointer lives as long as the table.
  const StoredTensor *find(std::string_view name) const;
  const std::map<std::string, StoredTensor, std::less<>> &tensors() const { return table; }
  /// A tensor's name in quotes, for messages: behind its name in the file, where that is another.
  std::string shown(std::string_view name) const;
  /// model.safetensors or the index, for messages about missing tensors.
  const std::string &path() const { return source; }

private:
  static Expected<TensorTable> loadFiles(const std::string &directory, std::vector<std::string> &warnings);
  Status loadShards(const std::string &directory, std::vector<std::string> &warnings);
  Status joinMicroscaling();
  Status joinEightBit(const std::string &directory);
  Status addFolder(const std::string &directory, const std::string &folder);
  std::string source;
  NameInFile nameInFile;
  std::map<std::string, StoredTensor, std::less<>> table;
};

} // namespace rapt::huggingface
