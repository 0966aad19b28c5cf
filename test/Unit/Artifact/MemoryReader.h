//===- MemoryReader.h - Tensors in memory, for tests of the packer --------------===//
#pragma once
#include "lib/Artifact/TensorReader.h"
#include <cstring>
#include <map>

namespace rapt::artifact {

class MemoryReader : public TensorReader {
public:
  void add(const std::string &name, TensorInfo info, std::vector<std::byte> bytes) {
    tensors[name] = {std::move(info), std::move(bytes)};
  }
  const TensorInfo *find(std::string_view name) const override {
    auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : &found->second.info;
  }
  Status read(std::string_view name, uint64_t byteOffset, std::span<std::byte> out) const override {
    const Tensor &tensor = tensors.find(name)->second;
    if (byteOffset > tensor.bytes.size() || out.size() > tensor.bytes.size() - byteOffset)
      return Error{"tensor '" + std::string(name) + "': " + std::to_string(tensor.bytes.size()) +
                   " bytes end before byte " + std::to_string(byteOffset + out.size())};
    std::memcpy(out.data(), tensor.bytes.data() + byteOffset, out.size());
    return {};
  }
  /// Of a tensor in blocks, whose bytes are those of the blocks.
  Status readBlocks(std::string_view name, uint64_t byteOffset, std::span<std::byte> out) const override {
    return read(name, byteOffset, out);
  }
  std::vector<std::byte> &bytesOf(const std::string &name) { return tensors[name].bytes; }

private:
  struct Tensor {
    TensorInfo info;
    std::vector<std::byte> bytes;
  };
  std::map<std::string, Tensor, std::less<>> tensors;
};

} // namespace rapt::artifact
