//===- CheckTensors.cpp - Looking for NaN and infinity in weights -----------===//
#include "lib/Formats/HuggingFace/CheckTensors.h"
#include "lib/Formats/HuggingFace/SafeTensors.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/Json.h"
#include <cstring>

using namespace rapt;
using namespace rapt::huggingface;
using artifact::DType;

namespace {
/// The non-finite values found in one tensor.
struct Finding {
  uint64_t count = 0, first = 0;
  bool isNan = false, isNegative = false;
};
} // namespace

/// Adds the non-finite values among `count` elements whose bits are at `data`; `begin` is the first one's index.
template <typename Bits>
static void scan(const std::byte *data, uint64_t count, uint64_t begin, Bits exponent, Finding &finding) {
  constexpr Bits sign = Bits(1) << (sizeof(Bits) * 8 - 1);
  constexpr uint64_t blockSize = 1024;
  for (uint64_t block = 0; block < count; block += blockSize) {
    uint64_t end = std::min(count, block + blockSize);
    unsigned found = 0;
    for (uint64_t i = block; i < end; ++i) {
      Bits bits;
      std::memcpy(&bits, data + i * sizeof(Bits), sizeof(Bits));
      found += (bits & exponent) == exponent;
    }
    for (uint64_t i = block; found && finding.count == 0 && i < end; ++i) {
      Bits bits;
      std::memcpy(&bits, data + i * sizeof(Bits), sizeof(Bits));
      if ((bits & exponent) != exponent)
        continue;
      finding = {0, begin + i, Bits(bits & ~sign) != exponent, (bits & sign) != 0};
      break;
    }
    finding.count += found;
  }
}

static Expected<Finding> scanTensor(const artifact::TensorReader &reader, const std::string &name,
                                    const artifact::TensorInfo &info, std::span<std::byte> window,
                                    const ProgressCallback &onBytes) {
  Finding finding;
  uint64_t elements = uint64_t(checkedProduct<int64_t>(info.shape).value_or(0)), size = artifact::sizeOf(info.dtype);
  uint64_t perWindow = window.size() / size;
  for (uint64_t done = 0; done < elements; done += perWindow) {
    uint64_t count = std::min(perWindow, elements - done);
    RAPT_RETURN_IF_ERROR(reader.read(name, done * size, window.first(count * size)));
    Finding before = finding;
    finding.count = 0;
    if (info.dtype == DType::F32)
      scan<uint32_t>(window.data(), count, done, 0x7f800000, finding);
    else
      scan<uint16_t>(window.data(), count, done, info.dtype == DType::BF16 ? 0x7f80 : 0x7c00, finding);
    if (before.count) {
      before.count += finding.count;
      finding = before;
    }
    if (onBytes)
      onBytes(count * size);
  }
  return finding;
}

Status huggingface::checkTensors(const artifact::TensorReader &reader, std::span<const std::string> names,
                                 const ProgressCallback &onBytes) {
  std::vector<std::byte> window(size_t(8) << 20);
  std::string message;
  for (const std::string &name : names) {
    const artifact::TensorInfo *info = reader.find(name);
    if (!info)
      continue;
    RAPT_ASSIGN_OR_RETURN(Finding finding, scanTensor(reader, name, *info, window, onBytes));
    if (finding.count == 0)
      continue;
    message += (message.empty() ? "" : "; ") + std::string("tensor \"") + json::printable(name) + "\" " +
               shownShape(info->shape) + " holds " + std::to_string(finding.count) +
               " values that are NaN or infinite, the first is " +
               (finding.isNan        ? "NaN"
                : finding.isNegative ? "-infinity"
                                     : "infinity") +
               " at index " + std::to_string(finding.first);
  }
  return message.empty() ? Status() : Status(Error{message});
}
