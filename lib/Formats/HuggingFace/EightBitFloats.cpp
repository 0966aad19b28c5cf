//===- EightBitFloats.cpp - Values of 8 bits, with a scale a block or alone -===//
#include "lib/Formats/HuggingFace/EightBitFloats.h"
#include "lib/Support/Float16.h"
#include <cmath>

using namespace rapt;
using namespace rapt::huggingface;
using artifact::DType;

static constexpr int64_t mostBlock = 1 << 20;

static float valueOfE4M3(unsigned code) {
  const int exponent = int(code >> 3 & 15), mantissa = int(code & 7);
  const bool isNan = (code & 0x7f) == 0x7f;
  const float magnitude = isNan       ? std::bit_cast<float>(0x7fc00000u)
                          : !exponent ? std::ldexp(float(mantissa), -9)
                                      : std::ldexp(float(8 + mantissa), exponent - 10);
  return code & 0x80 ? -magnitude : magnitude;
}

static std::array<float, 256> makeTable(EightBitFormat format) {
  std::array<float, 256> table;
  for (unsigned code = 0; code < table.size(); ++code)
    table[code] = format == EightBitFormat::E4M3 ? valueOfE4M3(code) : f16ToF32(uint16_t(code << 8));
  return table;
}

std::optional<EightBitFormat> huggingface::eightBitFormat(std::string_view dtype) {
  if (dtype == "F8_E4M3")
    return EightBitFormat::E4M3;
  if (dtype == "F8_E5M2")
    return EightBitFormat::E5M2;
  return std::nullopt;
}

void huggingface::decodeEightBit(EightBitFormat format, std::span<const std::byte> codes, std::span<float> values) {
  static const std::array<float, 256> e4m3 = makeTable(EightBitFormat::E4M3), e5m2 = makeTable(EightBitFormat::E5M2);
  const std::array<float, 256> &table = format == EightBitFormat::E4M3 ? e4m3 : e5m2;
  for (size_t i = 0; i < codes.size(); ++i)
    values[i] = table[size_t(codes[i])];
}

DType huggingface::readDeclaredType(ConfigReader &config) {
  const std::string name =
      config.getEnum({"torch_dtype", "dtype"},
                     {"float32", "float16", "bfloat16", "torch.float32", "torch.float16", "torch.bfloat16"}, "float32");
  return name.ends_with("bfloat16") ? DType::BF16 : name.ends_with("float16") ? DType::F16 : DType::F32;
}

/// weight_block_size: absent, [rows, columns], or null for one scale a matrix.
static std::optional<std::array<int64_t, 2>> readBlock(ConfigReader &own) {
  const std::string_view key = "weight_block_size";
  const json::Value *value = own.getRaw("weight_block_size");
  if (!value)
    return own.names(key) ? std::nullopt : BlockScaling().block;
  const json::Array *sizes = value->asArray();
  std::array<int64_t, 2> block = {1, 1};
  for (size_t i = 0; i < block.size(); ++i) {
    const std::optional<int64_t> size = sizes && sizes->size() == 2 ? (*sizes)[i].asInteger() : std::nullopt;
    if (!size || *size < 1 || *size > mostBlock) {
      own.fail(own.nameOf(key) + " is " + json::printable(json::write(*value), 60) +
               ", expected null or a list of two integers from 1 to " + std::to_string(mostBlock));
      break;
    }
    block[i] = *size;
  }
  return block;
}

std::optional<BlockScaling> huggingface::readBlockScaling(ConfigReader &config) {
  const json::Value *object = config.getRaw("quantization_config");
  const json::Value *method = object ? object->find("quant_method") : nullptr;
  const std::string *name = method ? method->asString() : nullptr;
  if (!name || *name != "fp8")
    return std::nullopt;
  std::optional<ConfigReader> own = config.open("quantization_config");
  BlockScaling scaling;
  own->getString("quant_method", "");
  own->getEnum("fmt", {"e4m3"}, "e4m3");
  scaling.block = readBlock(*own);
  // Only quantized activations depend on these: weights alone are the same, as with `dequantize`.
  own->getEnum("activation_scheme", {"dynamic", "static"}, "dynamic");
  own->getEnum("scale_fmt", {"float", "ue8m0"}, "float");
  config.close(std::move(*own), {"dequantize", "modules_to_not_convert"});
  return scaling;
}
