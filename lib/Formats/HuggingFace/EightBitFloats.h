//===- EightBitFloats.h - Values of 8 bits, with a scale a block or alone ---===//
//
// OCP 8-bit Floating Point Specification v1.0: E4M3 without infinities, E5M2 as the upper
// half of a binary16. A matrix of deepseek_v3 has a scale for each block of 128 x 128.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/Parameter.h"
#include "lib/Formats/HuggingFace/ConfigReader.h"
#include <array>
#include <optional>
#include <span>

namespace rapt::huggingface {

enum class EightBitFormat : uint8_t { E4M3, E5M2 };

/// The format of a safetensors type: "F8_E4M3" or "F8_E5M2".
std::optional<EightBitFormat> eightBitFormat(std::string_view dtype);

/// The numbers of the codes; as many as there are codes.
void decodeEightBit(EightBitFormat format, std::span<const std::byte> codes, std::span<float> values);

/// quantization_config of quant_method "fp8": how the matrices of the checkpoint are scaled.
struct BlockScaling {
  /// Rows and columns that share a scale; without it a matrix has one.
  std::optional<std::array<int64_t, 2>> block = {{128, 128}};
};

/// torch_dtype (dtype) of the configuration; f32 when absent.
artifact::DType readDeclaredType(ConfigReader &config);

/// Nothing where the configuration says no quant_method "fp8". Findings are the reader's.
std::optional<BlockScaling> readBlockScaling(ConfigReader &config);

} // namespace rapt::huggingface
