//===- AdapterTensors.cpp - Narrow matrices of adapters as tensors -----------===//
#include "lib/Formats/HuggingFace/AdapterTensors.h"
#include "lib/Artifact/Conversion.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <array>
#include <cctype>

using namespace rapt;
using namespace rapt::huggingface;
using artifact::DType;

bool huggingface::isAdapterName(std::string_view name) {
  auto isPlain = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= mostAdapterNameBytes && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), isPlain);
}

namespace {

/// Element [row, column] of the matrix, 0 behind the change's own rank.
float elementOf(const AdapterTensor &tensor, int64_t row, int64_t column) {
  const LowRankChange *change = tensor.change;
  const int64_t k = tensor.isFirst ? row : column, other = tensor.isFirst ? column : row;
  if (!change || k >= change->rank)
    return 0;
  return tensor.isFirst ? change->right[k * change->columns + other] : change->left[other * change->rank + k];
}

class AdaptersReader : public artifact::TensorReader {
public:
  AdaptersReader(std::unique_ptr<TensorReader> base, std::shared_ptr<const AdapterTensors> tensors)
      : base(std::move(base)), tensors(std::move(tensors)) {}

  const artifact::TensorInfo *find(std::string_view name) const override {
    auto own = tensors->find(name);
    return own == tensors->end() ? base->find(name) : &own->second.info;
  }

  Status read(std::string_view name, uint64_t byteOffset, std::span<std::byte> out) const override {
    auto own = tensors->find(name);
    if (own == tensors->end())
      return base->read(name, byteOffset, out);
    const AdapterTensor &tensor = own->second;
    const uint64_t size = artifact::sizeOf(tensor.info.dtype);
    const int64_t columns = tensor.info.shape[1];
    auto element = int64_t(byteOffset / size);
    std::array<float, 1024> numbers;
    while (!out.empty()) {
      const int64_t count = std::min(int64_t(out.size() / size), int64_t(numbers.size()));
      for (int64_t i = 0; i < count; ++i)
        numbers[size_t(i)] = elementOf(tensor, (element + i) / columns, (element + i) % columns);
      if (!artifact::convert(reinterpret_cast<const std::byte *>(numbers.data()), DType::F32, out.data(),
                             tensor.info.dtype, count))
        return Error{"tensor \"" + json::printable(name) + "\": the adapter has numbers that " +
                     artifact::nameOf(tensor.info.dtype) + " cannot hold"};
      out = out.subspan(size_t(count) * size);
      element += count;
    }
    return {};
  }

private:
  std::unique_ptr<TensorReader> base;
  std::shared_ptr<const AdapterTensors> tensors;
};

} // namespace

std::unique_ptr<artifact::TensorReader> huggingface::withAdapters(std::unique_ptr<artifact::TensorReader> base,
                                                                  std::shared_ptr<const AdapterTensors> tensors) {
  return std::make_unique<AdaptersReader>(std::move(base), std::move(tensors));
}
