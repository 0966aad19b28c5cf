//===- IRText.h - Bounds on MLIR text before it is parsed -----------------------===//
//
// MLIR's parser and printer recurse and allocate as the text says, without a limit.
// The checks below bound their stack, memory and time in terms of the text's size.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <string_view>

namespace rapt {

/// The deepest nesting that is accepted of brackets (round, square, curly, angle), aliases included: the parser
/// recurses.
constexpr unsigned maxNesting = 256;
/// The largest N of a use `%x#N` that is accepted: the parser allocates N results for it.
constexpr unsigned maxResultNumber = 4095;
/// The most operators of an affine expression, whose parser and printer recurse, and the most dims of a shape.
constexpr unsigned maxOperators = 256, maxRank = 256;

/// An error, without the name of the file, for text that MLIR's parser or printer could not handle in memory and time
/// proportional to its size: brackets nested too deep, a result number too large, expressions or shapes too long, or
/// aliases (`#a = [#b, #b]`) that are too long when each use is replaced by its definition. Text that passes may still
/// be invalid.
Status checkIRText(std::string_view text);

} // namespace rapt
