//===- Layout.cpp - Parameters and the cache by rows -----------------------------------===//
//
// Shapes stay logical. The weight file pads the rows of a matrix, so a reader takes a slice.
// The columns of a quantized matrix, along which groups lie, are its rows in the file; it is
// dequantized before it is read.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/Cost.h"
#include "lib/Artifact/Rows.h"
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/BlockElements.h"
#include "lib/Host/CacheMemory.h"
#include "lib/Host/WeightOffsets.h"
#include "lib/Target/Generic/Passes.h"
#include "lib/Target/Generic/RowCache.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/CheckedArithmetic.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNGENERICLAYOUT
#include "lib/Target/Generic/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

attn::ParameterOp parameterOf(attn::ParameterSliceOp slice) {
  return SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(slice, slice.getParameterAttr());
}

/// The bytes of a quantized matrix, [rows, groups along the columns, bytes of a group].
RankedTensorType inWeightFile(RankedTensorType stored) {
  const auto file = artifact::Quantization::of(cast<attn::QuantizedType>(stored.getElementType()));
  const int64_t columns = stored.getDimSize(1);
  return RankedTensorType::get({stored.getDimSize(0), file.groups(columns), file.rowGroupBytes(columns)},
                               IntegerType::get(stored.getContext(), 8));
}

/// Sets layout, physical type and offset; returns the end of the parameter in the weight file.
FailureOr<int64_t> assign(attn::ParameterOp parameter, int64_t offset) {
  SmallVector<int64_t> shape(parameter.getSliceType().getShape());
  Type element = parameter.getSliceType().getElementType();
  int64_t columnGroup = 0;
  if (auto quantized = dyn_cast<attn::QuantizedType>(element)) {
    if (quantized.getAxis() == 0) { // rows are what a matmul sums over
      std::swap(shape[0], shape[1]);
      parameter.transposeSources();
    }
    columnGroup = quantized.getPeriod();
    element = quantized.along(1);
  }
  if (failed(attn::RowsAttr::verify([&] { return parameter.emitOpError("has no layout: "); }, shape, columnGroup)))
    return failure();
  auto rows = attn::RowsAttr::get(parameter.getContext(), shape, columnGroup);
  if (!shape.empty()) {
    const int64_t group = columnGroup ? columnGroup : shape.back();
    shape.back() = shape.back() / group * artifact::padRow(group);
  }
  auto stored = RankedTensorType::get(shape, element);
  return appendToWeights(parameter, rows, stored, isa<attn::QuantizedType>(element) ? inWeightFile(stored) : stored,
                         offset);
}

/// Where a parameter that has a layout ends in the weight file.
FailureOr<int64_t> endOf(attn::ParameterOp parameter) {
  const std::optional<int64_t> offset = parameter.getOffset(), stride = parameter.getStride();
  const std::optional<int64_t> bytes =
      offset && stride ? llvm::checkedMul(*stride, int64_t(parameter.getLayers().value_or(1))) : std::nullopt;
  const std::optional<int64_t> end = bytes ? llvm::checkedAdd(*offset, *bytes) : std::nullopt;
  if (!end || *offset < 0 || *stride < 0)
    return parameter.emitOpError("has a layout, but no offset and stride that 64 bits hold");
  return *end;
}

/// An element of a quantized matrix: row `row` of the sums, column `column`. The weight file has the columns as rows
/// (docs/Semantics.md says what the numbers mean, lib/Artifact/Quantization.h where they are).
struct QuantizedMatrix {
  Value bytes; ///< [columns, groups, bytes of a group]
  attn::QuantizedType type;
  int64_t depth, stored; ///< rows, without and with the padding of periods

  Value byteAt(ImplicitLocOpBuilder &b, Value line, Value group, Value place) const {
    Value byte = tensor::ExtractOp::create(b, bytes, ValueRange{line, group, place});
    return arith::ExtUIOp::create(b, b.getI32Type(), byte);
  }

  Value at(ImplicitLocOpBuilder &b, Value row, Value column) const {
    AffineExpr r = b.getAffineDimExpr(0);
    auto place = [&](AffineExpr expr) { return asValue(b, affineOf(b, expr, {OpFoldResult(row)})); };
    if (const int64_t period = type.getPeriod())
      r = r.floorDiv(period) * (stored / (depth / period)) + r % period;
    if (const BlockFormat *format = type.blocks())
      return readBlockElement(b, BlockLayout(*format, 1), row, tile::index(b, 0),
                              [&](Value block, Value byte) { return byteAt(b, column, block, byte); });
    const auto file = artifact::Quantization::of(type);
    const int64_t ofGroup = file.groupRows(stored), codes = file.rowCodeBytes(stored), inByte = 8 / type.bits();
    Value group = place(r.floorDiv(ofGroup));
    Value code = byteAt(b, column, group, place((r % ofGroup).floorDiv(inByte)));
    if (inByte == 2) { // the first is the low half
      Value shift = place(r % 2 * 4);
      code = arith::ShRUIOp::create(b, code, arith::IndexCastOp::create(b, b.getI32Type(), shift));
      code = arith::AndIOp::create(b, code, integer(b, 15));
    }
    auto behindCodes = [&](int64_t i) { return byteAt(b, column, group, tile::index(b, codes + i)); };
    Value low = behindCodes(0), high = behindCodes(1);
    Value zero = type.getZeroPoints() ? behindCodes(2) : integer(b, type.zero());
    Value bits = arith::OrIOp::create(b, arith::ShLIOp::create(b, high, integer(b, 24)),
                                      arith::ShLIOp::create(b, low, integer(b, 16)));
    Value scale = arith::BitcastOp::create(b, b.getF32Type(), bits);
    Value difference = arith::SIToFPOp::create(b, b.getF32Type(), arith::SubIOp::create(b, code, zero));
    return arith::MulFOp::create(b, scale, difference);
  }

  static Value integer(ImplicitLocOpBuilder &b, int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
  }
};

/// The matrix as [rows, columns] of f32.
Value dequantized(ImplicitLocOpBuilder &b, const QuantizedMatrix &matrix, int64_t rows, int64_t columns) {
  Value init = emptyOf(b, {b.getIndexAttr(rows), b.getIndexAttr(columns)}, b.getF32Type());
  return forEach(b, {}, init, [&](ImplicitLocOpBuilder &b, ValueRange) {
    return matrix.at(b, neutral::at(b, 0), neutral::at(b, 1));
  });
}

/// Takes the number of `op` for those that replace it.
void number(Operation *made, Operation *op) {
  if (Attribute attribute = op->getAttr(attn::AttnDialect::opAttr))
    made->setAttr(attn::AttnDialect::opAttr, attribute);
}

/// The readers of a quantized slice read the numbers that it stands for.
LogicalResult lowerQuantized(attn::ParameterSliceOp slice) {
  auto type = cast<attn::QuantizedType>(slice.getValue().getType().getElementType());
  SmallVector<int64_t> shape(slice.getValue().getType().getShape());
  if (type.getAxis() == 1)
    std::swap(shape[0], shape[1]);
  ImplicitLocOpBuilder b(slice.getLoc(), slice);
  b.setInsertionPointAfter(slice);
  SmallVector<Operation *> users(slice->getUsers());
  RankedTensorType stored = parameterOf(slice).getSliceType();
  auto bytes = attn::ParameterSliceOp::create(b, inWeightFile(stored), slice.getParameterAttr(), slice.getLayer());
  QuantizedMatrix matrix{bytes.getValue(), type, shape[0], stored.getDimSize(1)};
  for (Operation *user : users) {
    b.setInsertionPoint(user);
    if (auto linear = dyn_cast<attn::LinearOp>(user)) {
      Value weight = dequantized(b, matrix, shape[0], shape[1]);
      number(weight.getDefiningOp(), linear);
      linear.getWeightMutable().assign(weight);
      linear.setTransposed(false);
    } else if (auto embedding = dyn_cast<attn::EmbeddingOp>(user)) {
      Value init = emptyFor(b, embedding.getResult(), {extent(b, embedding.getIds(), 0), b.getIndexAttr(shape[0])});
      SmallVector<AffineMap> maps{mapOf(b, 2, {0}), b.getMultiDimIdentityMap(2)};
      Value rows = neutral::generic(
          b, {embedding.getIds()}, init, maps, {Loop::Parallel, Loop::Parallel},
          [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
            Value id = arith::IndexCastOp::create(b, b.getIndexType(), x[0]), y = matrix.at(b, neutral::at(b, 1), id);
            if (embedding.getScale())
              y = arith::MulFOp::create(b, y, neutral::number(b, embedding.getScale()->convertToFloat()));
            return rounded(b, y, x.back().getType());
          });
      number(rows.getDefiningOp(), embedding);
      embedding.getResult().replaceAllUsesWith(rows);
      embedding.erase();
    } else {
      return user->emitOpError("reads a quantized parameter, but only matmuls and look-ups are known to");
    }
  }
  slice.erase();
  return success();
}

/// A slice of the padded parameter, cut to its logical shape.
void lowerPlain(attn::ParameterSliceOp slice) {
  RankedTensorType logical = slice.getValue().getType(), stored = parameterOf(slice).getSliceType();
  if (logical == stored)
    return;
  ImplicitLocOpBuilder b(slice.getLoc(), slice);
  b.setInsertionPointAfter(slice);
  slice.getValue().setType(stored);
  SmallVector<OpFoldResult> zeros(logical.getRank(), b.getIndexAttr(0)), sizes;
  for (int64_t extent : logical.getShape())
    sizes.push_back(b.getIndexAttr(extent));
  Value cut = neutral::slice(b, slice.getValue(), zeros, sizes);
  slice.getValue().replaceAllUsesExcept(cut, cut.getDefiningOp());
}

/// Whether a matmul has a weight in a layout of a target, with which it multiplies integers.
bool takesQuantized(OpOperand &use) {
  auto linear = dyn_cast<attn::LinearOp>(use.getOwner());
  return linear && linear.getLayout() && use.getOperandNumber() == 0;
}

struct GenericLayout : rapt::impl::AttnGenericLayoutBase<GenericLayout> {
  using AttnGenericLayoutBase::AttnGenericLayoutBase;

  /// Those that have a layout are before the others in the weight file.
  LogicalResult assignAll(ModuleOp module) {
    int64_t offset = 0;
    SmallVector<attn::ParameterOp> plain;
    for (auto parameter : module.getOps<attn::ParameterOp>()) {
      if (!parameter.getLayout()) {
        plain.push_back(parameter);
        continue;
      }
      if (!laidOut)
        return parameter.emitOpError("has a layout already");
      FailureOr<int64_t> end = endOf(parameter);
      if (failed(end))
        return failure();
      offset = std::max(offset, *end);
    }
    for (attn::ParameterOp parameter : plain) {
      FailureOr<int64_t> end = assign(parameter, offset);
      if (failed(end))
        return failure();
      offset = *end;
    }
    return success();
  }

  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    ModuleOp module = getOperation();
    if (failed(verifyTypes(module, Stage::Canonical)) || failed(materializeCaches(module, rapt::generic::cacheRowsOf)))
      return signalPassFailure();
    SmallVector<attn::ParameterSliceOp> slices;
    module.walk([&](attn::ParameterSliceOp slice) {
      if (auto parameter = parameterOf(slice); !parameter || !parameter.getLayout())
        slices.push_back(slice);
    });
    if (failed(assignAll(module)))
      return signalPassFailure();
    for (attn::ParameterSliceOp slice : slices) {
      if (!isa<attn::QuantizedType>(slice.getValue().getType().getElementType()))
        lowerPlain(slice);
      else if (failed(lowerQuantized(slice)))
        return signalPassFailure();
    }
    // Matmuls read floats now, so rows that were quantized become floats, too.
    SmallVector<attn::QuantizeRowsOp> quantized;
    module.walk([&](attn::QuantizeRowsOp op) { quantized.push_back(op); });
    for (attn::QuantizeRowsOp op : quantized) {
      ImplicitLocOpBuilder b(op.getLoc(), op);
      const bool isRead = llvm::any_of(op->getUses(), [](OpOperand &use) { return !takesQuantized(use); });
      if (isRead)
        op.getResult().replaceUsesWithIf(roundedRows(b, op), [](OpOperand &use) { return !takesQuantized(use); });
      if (op.getResult().use_empty())
        op.erase();
    }
    for (auto function : module.getOps<func::FuncOp>()) {
      mergeCosts(function, /*fused=*/{});
      if (!function.isDeclaration())
        function.setFunctionType(FunctionType::get(&getContext(), function.getBody().front().getArgumentTypes(),
                                                   function.getBody().front().getTerminator()->getOperandTypes()));
    }
  }
};

} // namespace
