//===- QuantizedCode.h - What the elements of quantized matrices are -------*- C++ -*-===//
#pragma once
#include "lib/Support/BlockFormat.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace rapt::attn {

enum class QuantizedCode : uint32_t {
  s8, ///< -127..127, of activations
  u8, ///< 0..255, of weights
  u4, ///< 0..15, of weights
#define RAPT_BLOCK_FORMAT(NAME, ...) NAME,
#include "lib/Support/BlockFormats.def"
};

/// The format of weights that are stored in blocks; null of other codes.
const BlockFormat *blocksOf(QuantizedCode code);
/// The code of a format.
QuantizedCode codeOf(const BlockFormat &format);

llvm::StringRef nameOf(QuantizedCode code);
std::optional<QuantizedCode> codeNamed(llvm::StringRef name);
inline llvm::raw_ostream &operator<<(llvm::raw_ostream &os, QuantizedCode code) { return os << nameOf(code); }

} // namespace rapt::attn

namespace mlir {
template <typename T, typename> struct FieldParser;
template <> struct FieldParser<rapt::attn::QuantizedCode, rapt::attn::QuantizedCode> {
  static FailureOr<rapt::attn::QuantizedCode> parse(AsmParser &parser);
};
} // namespace mlir
