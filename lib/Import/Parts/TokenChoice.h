//===- TokenChoice.h - The token whose vector is that of a text ----------*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/Blocks.h"

namespace rapt::importing {

/// One token of each text, by the ids. Where no id is as asked for it is the first token.
struct TokenChoice {
  enum Kind : uint8_t {
    LastOther,   ///< the last one of another id than `id`
    First,       ///< the first one of the id
    FirstLargest ///< the first one of the largest id
  } kind;
  int64_t id = 0;
};

/// The index of each text's token among all, [rows]. The runtime refuses texts without tokens, of which the index is
/// that of another text's token.
mlir::Value findTokens(const Scope &scope, mlir::Location loc, mlir::Value ids, mlir::Value rowBegin,
                       TokenChoice choice);

} // namespace rapt::importing
