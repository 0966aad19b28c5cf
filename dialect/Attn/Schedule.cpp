//===- Schedule.cpp - Numbers of schedules ---------------------------------------===//
#include "dialect/Attn/AttnDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn;

FailureOr<int64_t> attn::parseNumber(AsmParser &parser) {
  int64_t number;
  const SMLoc at = parser.getCurrentLocation();
  if (parser.parseInteger(number))
    return failure();
  if (number < 1 || number > kMostNumber)
    return parser.emitError(at, "expected a number of a schedule from 1 to ") << kMostNumber << ", found " << number;
  return number;
}

FailureOr<SmallVector<int64_t>> attn::parseNumbers(AsmParser &parser) {
  SmallVector<int64_t> numbers;
  auto parseOne = [&]() -> ParseResult {
    FailureOr<int64_t> number = parseNumber(parser);
    if (failed(number))
      return failure();
    numbers.push_back(*number);
    return success();
  };
  if (parser.parseLSquare() || parser.parseCommaSeparatedList(parseOne) || parser.parseRSquare())
    return failure();
  return numbers;
}

void attn::printNumbers(AsmPrinter &printer, ArrayRef<int64_t> numbers) {
  printer << "[";
  llvm::interleaveComma(numbers, printer);
  printer << "]";
}

Attribute LinalgTilesAttr::getLinalgTiles() const { return *this; }
