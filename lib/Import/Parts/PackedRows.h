//===- PackedRows.h - Rows of packed sequences ------------------*- C++ -*-===//
//
// A window of a sequence's tokens is a window of rows where each sequence has more rows than
// tokens: those that it kept from before ahead of them, or zeros behind them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Module/ImportOptions.h"
#include "lib/Import/Parts/Blocks.h"

namespace rapt::importing {

/// Rows of packed sequences of which each has `margin` more rows than tokens: sequence r begins with row
/// row_begin[r] + margin r. Lists of rows are tensor<?xi32>.
class SpacedRows {
public:
  SpacedRows(const Scope &scope, mlir::Location loc, mlir::Value rowBegin, int64_t margin);

  /// The first row of each sequence, and one more: what row_begin is of tokens.
  mlir::Value offsets() const { return begins; }
  /// Row `offset` of each sequence; counted from the row behind its last one where that is negative.
  mlir::Value ofSequences(int64_t offset) const;
  /// The row of each of the tokens `ids`, the first of a sequence in its row `offset`.
  mlir::Value ofTokens(mlir::Value ids, int64_t offset) const;
  /// The row of each token's window of `width` rows, where the first of a sequence is in its row 0: the token's own,
  /// and that of the last window without rows behind the sequence's tokens for those behind. A sequence of fewer tokens
  /// has one window.
  mlir::Value ofWindows(mlir::Value ids, int64_t width) const;
  /// Zeros of all rows, for vectors `x` [tokens, columns].
  mlir::Value zeros(mlir::Value x) const;

private:
  const Scope &scope;
  mlir::Location loc;
  mlir::Value rowBegin;
  mlir::Value sequences, begins; ///< how many there are, and the first row of each, and one more
  int64_t margin;
};

/// The number of each of the tokens' rows, of `numbers` [rows]. Null stands for the numbers of the rows' tokens.
mlir::Value spreadOverTokens(const Scope &scope, mlir::Location loc, mlir::Value tokens, mlir::Value rowBegin,
                             mlir::Value numbers);

/// Fails where 32 bits do not count the rows of a step of the largest size.
Status checkSpacedRows(const huggingface::ModelDescription &model, const ImportOptions &options, int64_t margin);

/// The rows x [rows, columns] at `begins`, and those `width` - 1 behind each, side by side: [begins, width * columns].
mlir::Value selectWindows(const Scope &scope, mlir::Location loc, mlir::Value x, mlir::Value begins, int64_t width);

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
