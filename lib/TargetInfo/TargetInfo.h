//===- TargetInfo.h - Capabilities of a target -------------------------------*- C++ -*-===//
//
// Capabilities only, never identity. They live in the IR as the module attribute
// attn.target, set once by attn-set-target, so that every pass runs from text.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace rapt {

/// Bytes of a cache line, on all targets.
inline constexpr int64_t kLineBytes = 64;

struct TargetInfo {
  int64_t vectorBytes = 32;     ///< widest vector register that is fast
  int64_t vectorRegisters = 16; ///< architectural vector registers
  bool byteDot = false;         ///< an instruction of that width sums four products of bytes in 32 bits
  bool bf16Dot = false;         ///< one sums two products of bf16 in f32, faster than two multiply-adds of f32
  bool bf16Round = false;       ///< one rounds two vectors of f32 to one of bf16
  bool powerScale = false;      ///< one takes what is behind a number's point, one multiplies by a power of two
  bool amxBf16 = false;         ///< instructions multiply tiles of pairs of bf16
  bool amxInt8 = false;         ///< instructions multiply tiles of fours of bytes
  bool emulated = false;        ///< bf16Dot, amxBf16 and amxInt8 are replaced by code for vectors

  int64_t lanesF32() const { return vectorBytes / 4; }
  /// Whether a product of bf16 takes both of its operands in pairs.
  bool multipliesPairs() const { return bf16Dot || amxBf16; }
  bool operator==(const TargetInfo &) const = default;

  /// The capabilities in which this target differs from `other`, in the words of attn.target: "vector_bytes = 64, no
  /// byte_dot".
  std::string differenceFrom(const TargetInfo &other) const;

  /// The target of the module that holds `op`; the defaults above where it says nothing.
  static TargetInfo of(mlir::Operation *op);
  /// As the value of attn.target.
  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;
};

} // namespace rapt
