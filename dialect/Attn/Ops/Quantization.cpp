//===- Quantization.cpp - Quantization of rows -----------------------------===//
#include "dialect/Attn/AttnOps.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn;

const BlockFormat *rapt::attn::blocksOf(QuantizedCode code) {
  return code > QuantizedCode::u4 ? &blockFormats[uint32_t(code) - uint32_t(QuantizedCode::u4) - 1] : nullptr;
}

QuantizedCode rapt::attn::codeOf(const BlockFormat &format) {
  return QuantizedCode(uint32_t(QuantizedCode::u4) + 1 + uint32_t(&format - blockFormats));
}

StringRef rapt::attn::nameOf(QuantizedCode code) {
  if (const BlockFormat *blocks = blocksOf(code))
    return blocks->name;
  return code == QuantizedCode::s8 ? "s8" : code == QuantizedCode::u8 ? "u8" : "u4";
}

std::optional<QuantizedCode> rapt::attn::codeNamed(StringRef name) {
  for (QuantizedCode code : {QuantizedCode::s8, QuantizedCode::u8, QuantizedCode::u4})
    if (nameOf(code) == name)
      return code;
  for (const BlockFormat &format : blockFormats)
    if (StringRef(format.name) == name)
      return codeOf(format);
  return std::nullopt;
}

FailureOr<QuantizedCode> FieldParser<QuantizedCode, QuantizedCode>::parse(AsmParser &parser) {
  StringRef name;
  const SMLoc at = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  if (std::optional<QuantizedCode> code = codeNamed(name))
    return *code;
  return parser.emitError(at) << "there is no quantized code '" << name << "'";
}

LogicalResult QuantizedType::verify(function_ref<InFlightDiagnostic()> emitError, QuantizedCode code, int64_t group,
                                    int64_t axis, int64_t period, bool hasZeroPoints) {
  if (const BlockFormat *blocks = blocksOf(code)) {
    if (group != blocks->group || period != 0 || hasZeroPoints)
      return emitError() << "blocks of " << nameOf(code) << " have groups of " << blocks->group
                         << ", no period and no zero points of their own";
  } else if (group == 16 && code == QuantizedCode::s8) {
    // rows for blocks
  } else if (group != 0 && group != 32 && group != 64 && group != 128)
    return emitError() << "groups have 32, 64 or 128 elements, or 0 for all of them, found " << group;
  if (axis < 0 || axis > 1)
    return emitError() << "a matrix has the axes 0 and 1, found " << axis;
  if (period < 0)
    return emitError() << "a period is not negative, found " << period;
  return success();
}

int64_t QuantizedType::matrixBytes(int64_t depth, int64_t columns) const {
  if (const BlockFormat *format = blocks())
    return columns * llvm::divideCeil(depth, format->block) * BlockLayout(*format, 1).blockBytes();
  return columns * (llvm::divideCeil(depth * bits(), 8) + groups(depth) * (getZeroPoints() ? 3 : 2));
}

QuantizedType QuantizedType::ofRows() const {
  return get(getContext(), QuantizedCode::s8, getGroup(), 1, getPeriod(), false);
}

QuantizedType QuantizedType::along(int64_t axis) const {
  return get(getContext(), getCode(), getGroup(), axis, getPeriod(), getZeroPoints());
}

LogicalResult QuantizeRowsOp::verify() {
  RankedTensorType input = getInput().getType(), result = getResult().getType();
  auto type = cast<QuantizedType>(result.getElementType());
  if (input.getRank() != 2 || input.getShape() != result.getShape() || input.isDynamicDim(1))
    return emitOpError() << "needs an input [m, k] of static columns and a result of its shape, found " << input
                         << " and " << result;
  if (type.getCode() != QuantizedCode::s8 || type.getAxis() != 1)
    return emitOpError() << "gives s8 along axis 1, found " << type;
  return success();
}

void QuantizeRowsOp::relateDims(DimRelations &dims) { dims.equal(getResult(), getInput()); }

std::optional<unsigned> QuantizeRowsOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }

RowAccess QuantizeRowsOp::getRowAccess() { return RowAccess::same; }
