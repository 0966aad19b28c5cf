//===- MatmulTensors.cpp - Matmuls of two matrices of a checkpoint as tensors ===//
#include "lib/Formats/HuggingFace/MatmulTensors.h"
#include "lib/Artifact/Conversion.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

using namespace rapt;
using namespace rapt::huggingface;
using artifact::DType;

static constexpr std::string_view sign = " * ";

std::string huggingface::matmulName(std::string_view left, std::string_view right) {
  return std::string(left).append(sign).append(right);
}

std::pair<std::string_view, std::string_view> huggingface::factorsOf(std::string_view name) {
  const size_t at = name.find(sign);
  if (at == std::string_view::npos)
    return {};
  return {name.substr(0, at), name.substr(at + sign.size())};
}

namespace {

class MatmulsReader : public artifact::TensorReader {
public:
  explicit MatmulsReader(std::unique_ptr<TensorReader> base) : base(std::move(base)) {}

  const artifact::TensorInfo *find(std::string_view name) const override {
    if (const artifact::TensorInfo *own = base->find(name))
      return own;
    std::lock_guard lock(mutex);
    const Matmul *result = matmulOf(name);
    return result ? &result->info : nullptr;
  }

  Status read(std::string_view name, uint64_t byteOffset, std::span<std::byte> out) const override {
    if (base->find(name))
      return base->read(name, byteOffset, out);
    std::lock_guard lock(mutex);
    Matmul *result = matmulOf(name);
    if (!result)
      return Error{"there is no tensor \"" + json::printable(name) + "\""};
    if (result->values.empty())
      RAPT_RETURN_IF_ERROR(compute(name, *result));
    std::memcpy(out.data(), reinterpret_cast<const std::byte *>(result->values.data()) + byteOffset, out.size());
    return {};
  }

  Status readBlocks(std::string_view name, uint64_t byteOffset, std::span<std::byte> out) const override {
    return base->readBlocks(name, byteOffset, out);
  }

private:
  struct Matmul {
    artifact::TensorInfo info;
    std::vector<float> values = {}; ///< none before the first read
  };

  /// Null where the name is not that of a matmul of matrices that fit.
  Matmul *matmulOf(std::string_view name) const {
    if (auto known = matmuls.find(name); known != matmuls.end())
      return &known->second;
    const auto [left, right] = factorsOf(name);
    const artifact::TensorInfo *a = base->find(left), *b = base->find(right);
    if (!a || !b || a->shape.size() != 2 || b->shape.size() != 2 || a->shape[1] != b->shape[0])
      return nullptr;
    Matmul result{{DType::F32, {a->shape[0], b->shape[1]}}};
    return &matmuls.emplace(name, std::move(result)).first->second;
  }

  Expected<std::vector<float>> readAll(std::string_view name) const {
    const artifact::TensorInfo &info = *base->find(name);
    const size_t count = size_t(info.shape[0]) * size_t(info.shape[1]);
    std::vector<std::byte> bytes(count * artifact::sizeOf(info.dtype));
    RAPT_RETURN_IF_ERROR(base->read(name, 0, bytes));
    std::vector<float> values(count);
    artifact::convert(bytes.data(), info.dtype, reinterpret_cast<std::byte *>(values.data()), DType::F32, count);
    return values;
  }

  Status compute(std::string_view name, Matmul &result) const {
    const auto [left, right] = factorsOf(name);
    RAPT_ASSIGN_OR_RETURN(std::vector<float> a, readAll(left));
    RAPT_ASSIGN_OR_RETURN(std::vector<float> b, readAll(right));
    const auto rows = size_t(result.info.shape[0]), columns = size_t(result.info.shape[1]);
    const size_t inner = rows == 0 ? 0 : a.size() / rows;
    std::vector<float> values(rows * columns);
    std::vector<double> sums(columns);
    for (size_t row = 0; row < rows; ++row) {
      std::fill(sums.begin(), sums.end(), 0);
      for (size_t k = 0; k < inner; ++k)
        for (size_t column = 0; column < columns; ++column)
          sums[column] += double(a[row * inner + k]) * b[k * columns + column];
      for (size_t column = 0; column < columns; ++column) {
        const float rounded = float(sums[column]);
        if (std::isinf(rounded) && !std::isinf(sums[column]))
          return Error{"tensors \"" + json::printable(left) + "\" and \"" + json::printable(right) +
                       "\": their matmul has numbers that f32 cannot hold"};
        values[row * columns + column] = rounded;
      }
    }
    result.values = std::move(values);
    return {};
  }

  std::unique_ptr<TensorReader> base;
  mutable std::mutex mutex; ///< guards the matmuls
  mutable std::map<std::string, Matmul, std::less<>> matmuls;
};

} // namespace

std::unique_ptr<artifact::TensorReader> huggingface::withMatmuls(std::unique_ptr<artifact::TensorReader> base) {
  return std::make_unique<MatmulsReader>(std::move(base));
}
