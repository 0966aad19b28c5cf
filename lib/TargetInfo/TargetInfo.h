//===- TargetInfo.h - Capabilities of a target -------------------------------*- C++ -*-===//
//
// Capabilities, never the name of a CPU. attn-set-target writes them into the module as the
// attribute attn.target, so that every pass runs from text.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace rapt {

struct TargetInfo {
  std::string target; ///< its name, as in --target; empty: a module of none
#define RAPT_NUMBER(field, name, value) int64_t field = value;
#define RAPT_FLAG(field, name) bool field = false;
#include "lib/TargetInfo/Capabilities.def"

  int64_t lanesF32() const { return vectorBytes / 4; }
  /// Whether matmuls of bf16 have instructions that take both operands in bf16.
  bool hasBf16Matmul() const { return bf16Dot || amxBf16; }
  bool operator==(const TargetInfo &) const = default;

  /// The capabilities in which this target differs from `other`, by their names in attn.target: "vector_bytes = 64, no
  /// int8_dot".
  std::string differenceFrom(const TargetInfo &other) const;

  /// The target of the module that holds `op`; defaults where the module has none.
  static TargetInfo of(mlir::Operation *op);
  /// Capabilities as text of attn-set-target: "vector_bytes=64", "bf16_dot".
  std::vector<std::string> list() const;
  /// Sets a capability from an element of list(); false where there is none of this name.
  bool set(llvm::StringRef capability);
  /// As the value of attn.target.
  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;
};

} // namespace rapt
