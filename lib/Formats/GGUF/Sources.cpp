//===- Sources.cpp - A GGUF file's tensors as those of a directory ------------===//
#include "lib/Formats/GGUF/Sources.h"
#include "lib/Formats/GGUF/Blocks.h"
#include "lib/Support/Json.h"
#include <set>

using namespace rapt;
using namespace rapt::gguf;
using huggingface::StoredTensor;

Status gguf::requireReadTypes(const File &file) {
  const Tensor *first = nullptr;
  std::set<std::string> names;
  double unread = 0, all = 0;
  for (const auto &[name, tensor] : file.tensors()) {
    all += double(tensor.bytes);
    if (tensor.type->use == TypeUse::Read && tensor.type->elements > 1 && tensor.dims.size() < 2)
      return Error{shownPath(tensor.file->path()) + ": tensor \"" + json::printable(name) + "\" is a vector of type " +
                   std::string(tensor.type->name) + "; vectors of F32, F16 and BF16 are read"};
    if (tensor.type->use == TypeUse::Read)
      continue;
    unread += double(tensor.bytes);
    names.emplace(tensor.type->name);
    if (!first)
      first = &tensor;
  }
  if (!first)
    return {};
  std::string types;
  for (const std::string &name : names)
    types += (types.empty() ? "" : ", ") + name;
  char share[16];
  std::snprintf(share, sizeof share, "%.1f", 100 * unread / all);
  return Error{shownPath(first->file->path()) + ": tensor \"" + json::printable(first->name) + "\" is of type " +
               std::string(first->type->name) + ", which is not supported; " + share +
               " % of the tensors' bytes are of such types (" + types +
               "): give the Hugging Face directory that the file was made from, or convert that to F16 or BF16"};
}

StoredTensor gguf::wholeTensor(const Tensor &tensor, std::string name) {
  StoredTensor stored;
  stored.name = std::move(name);
  stored.dtype = std::string(tensor.type->name); // a read type of floats has the same name in both formats
  stored.blocks = findBlockSource(tensor.type->name);
  stored.shape = tensor.shape();
  stored.offset = tensor.offset;
  stored.bytes = tensor.bytes;
  stored.file = tensor.file;
  return stored;
}

StoredTensor gguf::someRows(const StoredTensor &tensor, std::string name, int64_t first, int64_t count) {
  StoredTensor some = tensor;
  const uint64_t bytes = tensor.bytes / uint64_t(tensor.shape.front());
  some.name = std::move(name);
  some.shape.front() = count;
  some.offset += uint64_t(first) * bytes;
  some.bytes = uint64_t(count) * bytes;
  return some;
}

StoredTensor gguf::oneOf(const StoredTensor &tensor, std::string name, int64_t index) {
  StoredTensor one = someRows(tensor, std::move(name), index, 1);
  one.shape.erase(one.shape.begin());
  return one;
}

Rows gguf::rowsOfPairs(int64_t heads, int64_t channels) {
  std::vector<int64_t> rows;
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t i = 0; i < channels / 2; ++i)
        rows.push_back(head * channels + 2 * i + half);
  return std::make_shared<const std::vector<int64_t>>(std::move(rows));
}

Rows gguf::rowsOfGroups(int64_t heads, int64_t keyHeads, int64_t channels) {
  std::vector<int64_t> rows;
  auto add = [&](int64_t head) {
    for (int64_t i = 0; i < channels; ++i)
      rows.push_back(head * channels + i);
  };
  const int64_t group = heads / keyHeads;
  for (int64_t key = 0; key < keyHeads; ++key) {
    for (int64_t i = 0; i < group; ++i)
      add(key * group + i);
    add(heads + key);
    add(heads + keyHeads + key);
  }
  return std::make_shared<const std::vector<int64_t>>(std::move(rows));
}
