//===- RandomTensors.cpp - docs/RandomWeights.md, executed -------------------===//
#include "lib/Formats/HuggingFace/RandomTensors.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/Float16.h"
#include "lib/Support/Json.h"
#include "lib/Support/WideVectors.h"
#include <cmath>
#include <cstring>

using namespace rapt;
using namespace rapt::huggingface;
using artifact::DType;

#pragma clang fp contract(off)

static constexpr uint64_t goldenGamma = 0x9E3779B97F4A7C15;

/// The output function of splitmix64.
[[gnu::always_inline]] static inline uint64_t mix64(uint64_t z) {
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

static uint64_t fnv1a64(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (unsigned char byte : text)
    hash = (hash ^ byte) * 0x100000001B3;
  return hash;
}

namespace {

/// Where the sequence of a tensor begins, and what makes values of its integers.
struct Sequence {
  uint64_t base;
  float scale, shift;
};

/// Elements first, first + 1, .. of a tensor. The bytes of `out` need not be aligned, so values go through a small
/// block.
template <DType type> struct Fill {
  template <int bytes>
  [[gnu::always_inline]] static int run(const Sequence &sequence, uint64_t first, uint64_t count, std::byte *out) {
    using T = std::conditional_t<type == DType::F32, float, uint16_t>;
    constexpr uint64_t blockSize = 512;
    int32_t integers[blockSize];
    T block[blockSize];
    uint64_t counter = sequence.base + first * goldenGamma;
    const float scale = sequence.scale, shift = sequence.shift;
    for (uint64_t done = 0; done < count; done += blockSize) {
      const uint64_t n = std::min(blockSize, count - done);
      for (uint64_t i = 0; i < n; ++i) // apart from the rest, which the compiler can then vectorize
        integers[i] = int32_t(mix64(counter + i * goldenGamma) >> 40) * 2 + 1 - (1 << 24);
      for (uint64_t i = 0; i < n; ++i) {
        const float product = float(integers[i]) * scale, value = shift + product;
        block[i] = type == DType::F32 ? value : type == DType::BF16 ? f32ToBf16(value) : f32ToF16(value);
      }
      counter += n * goldenGamma;
      std::memcpy(out + done * sizeof(T), block, n * sizeof(T));
    }
    return 0;
  }
};

class RandomReader : public artifact::TensorReader {
public:
  RandomReader(uint64_t seed, DType dtype, std::span<const TensorRequest> requests) : dtype(dtype) {
    for (const TensorRequest &request : requests)
      tensors.emplace(request.name,
                      Entry{{dtype, request.shape},
                            {mix64(fnv1a64(request.name) + mix64(seed + goldenGamma)) + goldenGamma,
                             scaleOf(request.init), request.init.kind == Init::NormWeight ? 1.0f : 0.0f}});
  }

  const artifact::TensorInfo *find(std::string_view name) const override {
    auto at = tensors.find(name);
    return at == tensors.end() ? nullptr : &at->second.info;
  }

  Status read(std::string_view name, uint64_t byteOffset, std::span<std::byte> out) const override {
    auto at = tensors.find(name);
    if (at == tensors.end())
      return Error{"random tensor \"" + json::printable(name) + "\" is not one of the model's"};
    const Entry &entry = at->second;
    uint64_t size = artifact::sizeOf(dtype), count = out.size() / size, first = byteOffset / size;
    std::optional<int64_t> elements = checkedProduct<int64_t>(entry.info.shape);
    if (byteOffset % size || out.size() % size || !elements || first > uint64_t(*elements) ||
        count > uint64_t(*elements) - first)
      return Error{"random tensor \"" + json::printable(name) + "\": bytes " + std::to_string(byteOffset) + " to " +
                   std::to_string(byteOffset + out.size()) + " are not inside it"};
    if (dtype == DType::F32)
      runWide<Fill<DType::F32>>(entry.sequence, first, count, out.data());
    else if (dtype == DType::BF16)
      runWide<Fill<DType::BF16>>(entry.sequence, first, count, out.data());
    else
      runWide<Fill<DType::F16>>(entry.sequence, first, count, out.data());
    return {};
  }

private:
  struct Entry {
    artifact::TensorInfo info;
    Sequence sequence;
  };

  static float scaleOf(Init init) {
    switch (init.kind) {
    case Init::Weight:
      return float(std::sqrt(3.0 / double(init.fanIn))) * 0x1p-24f;
    case Init::Embedding:
      return 0x1p-28f;
    case Init::NormWeight:
      return 0x1p-27f;
    case Init::Bias:
      return 0x1p-28f;
    }
    return 0;
  }

  DType dtype;
  std::map<std::string, Entry, std::less<>> tensors;
};

} // namespace

std::unique_ptr<artifact::TensorReader> huggingface::makeRandomTensors(uint64_t seed, DType dtype,
                                                                       std::span<const TensorRequest> requests) {
  return std::make_unique<RandomReader>(seed, dtype, requests);
}
