//===- Layout.cpp - Parameters and the cache by rows -----------------------------------===//
//
// Shapes stay logical. The weight file pads the rows of a matrix, so a reader takes a slice;
// a quantized matrix has one layout in all weight files, panels, and is dequantized.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/Cost.h"
#include "lib/Artifact/Quantization.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Host/CacheParts.h"
#include "lib/Target/Generic/Passes.h"
#include "lib/Target/Generic/RowCache.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNGENERICLAYOUT
#include "lib/Target/Generic/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;
using artifact::padToPanel;
using artifact::panelWidth;

namespace {

/// Depth along which a quantized matrix is multiplied, with what fills its periods.
int64_t storedDepth(attn::QuantizedType type, int64_t depth) {
  const int64_t period = type.getPeriod();
  return period ? depth / period * padToPanel(period) : depth;
}

attn::ParameterOp parameterOf(attn::ParameterSliceOp slice) {
  return SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(slice, slice.getParameterAttr());
}

/// How the weight file quantizes a matrix.
artifact::Quantization inFile(attn::QuantizedType type) {
  return {uint8_t(type.bits()), type.getGroup(), type.getZeroPoints()};
}

/// The bytes of a quantized matrix in panels [panels, rows, columns].
RankedTensorType bytesOf(attn::QuantizedType type, ArrayRef<int64_t> panels) {
  const artifact::Quantization file = inFile(type);
  return RankedTensorType::get({panels[0], file.groups(panels[1]), file.groupBytes(panels[1])},
                               IntegerType::get(type.getContext(), 8));
}

/// Sets layout, physical type and place; returns the end of the parameter in the weight file.
int64_t assign(attn::ParameterOp parameter, int64_t offset) {
  MLIRContext *context = parameter.getContext();
  RankedTensorType slice = parameter.getSliceType();
  SmallVector<int64_t> shape(slice.getShape()), physical(shape);
  int64_t bytes, k = 1, rowGroup = 0;
  Type element = slice.getElementType();
  auto kind = attn::LayoutKind::row_major;
  if (auto quantized = dyn_cast<attn::QuantizedType>(element)) {
    kind = attn::LayoutKind::panels;
    if (quantized.getAxis() == 1) { // panels are of rows in the order of the matmuls' sums
      std::swap(shape[0], shape[1]);
      parameter.transposeSources();
    }
    rowGroup = quantized.getPeriod();
    physical = {padToPanel(shape[1]) / panelWidth, storedDepth(quantized, shape[0]), panelWidth};
    element = quantized.along(0);
    k = 32 / quantized.bits(); // a word of 32 bits in each column
    bytes = bytesOf(quantized, physical).getNumElements();
  } else {
    if (!physical.empty())
      physical.back() = padToPanel(shape.back());
    bytes = llvm::product_of(physical) * element.getIntOrFloatBitWidth() / 8;
  }
  const int64_t stride = llvm::alignTo(bytes, 64), layers = parameter.getLayers().value_or(1);
  if (parameter.getLayers())
    physical.insert(physical.begin(), layers);
  parameter.setType(RankedTensorType::get(physical, element));
  parameter.setLayoutAttr(attn::LayoutAttr::get(context, kind, shape, /*columnGroup=*/0, rowGroup, k));
  parameter.setOffset(offset);
  parameter.setStride(stride);
  return offset + stride * layers;
}

/// An element of a quantized matrix in panels: row `row` of the sums, column `column` (docs/Semantics.md, and
/// `!attn.quantized` for the offsets of codes, scales and zeros).
struct QuantizedMatrix {
  Value bytes; ///< [panels, groups, bytes of a group]
  attn::QuantizedType type;
  int64_t depth; ///< stored rows

  Value byteAt(ImplicitLocOpBuilder &b, Value panel, Value group, Value place) const {
    Value byte = tensor::ExtractOp::create(b, bytes, ValueRange{panel, group, place});
    return arith::ExtUIOp::create(b, b.getI32Type(), byte);
  }

  Value at(ImplicitLocOpBuilder &b, Value row, Value column) const {
    AffineExpr r = b.getAffineDimExpr(0), c = b.getAffineDimExpr(1);
    auto place = [&](AffineExpr expr) {
      return asValue(b, affineOf(b, expr, {OpFoldResult(row), OpFoldResult(column)}));
    };
    AffineExpr stored = r;
    if (const int64_t period = type.getPeriod())
      stored = r.floorDiv(period) * padToPanel(period) + r % period;
    const artifact::Quantization file = inFile(type);
    const int64_t ofGroup = file.groupRows(depth), codes = file.codeBytes(depth), rows = 32 / type.bits();
    AffineExpr nth = stored % ofGroup, lane = c % panelWidth;
    Value panel = place(c.floorDiv(panelWidth)), group = place(stored.floorDiv(ofGroup));
    // A word of four bytes in each column has 4 rows, or 8 of half a byte: the second four are the high halves.
    Value code = byteAt(b, panel, group, place(nth.floorDiv(rows) * 4 * panelWidth + lane * 4 + nth % 4));
    if (type.bits() == 4) {
      Value shift = place((nth % 8).floorDiv(4) * 4);
      code = arith::ShRUIOp::create(b, code, arith::IndexCastOp::create(b, b.getI32Type(), shift));
      code = arith::AndIOp::create(b, code, integer(b, 15));
    }
    Value zero = integer(b, type.zero());
    if (type.getZeroPoints())
      zero = byteAt(b, panel, group, place(lane + codes + 2 * panelWidth));
    Value low = byteAt(b, panel, group, place(lane * 2 + codes)),
          high = byteAt(b, panel, group, place(lane * 2 + codes + 1));
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
  auto bytes = attn::ParameterSliceOp::create(b, bytesOf(type, parameterOf(slice).getSliceType().getShape()),
                                              slice.getParameterAttr(), slice.getLayer());
  QuantizedMatrix matrix{bytes.getValue(), type, storedDepth(type, shape[0])};
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

Type inMemory(Type type) {
  auto cache = dyn_cast<attn::KVCacheType>(type);
  return cache ? Type(generic::RowCache::poolsOf(cache.getSegments()[0], cache.getBlock())[0]) : type;
}

struct GenericLayout : rapt::impl::AttnGenericLayoutBase<GenericLayout> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    ModuleOp module = getOperation();
    if (failed(splitCaches(module, generic::RowCache::poolsOf)))
      return signalPassFailure();
    SmallVector<attn::ParameterSliceOp> slices;
    module.walk([&](attn::ParameterSliceOp slice) { slices.push_back(slice); });
    int64_t offset = 0;
    for (auto parameter : module.getOps<attn::ParameterOp>())
      offset = assign(parameter, offset);
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
      op.getResult().replaceAllUsesWith(roundedRows(b, op));
      op.erase();
    }
    module.walk([](Operation *op) {
      for (Value result : op->getResults())
        result.setType(inMemory(result.getType()));
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            argument.setType(inMemory(argument.getType()));
    });
    for (auto function : module.getOps<func::FuncOp>())
      mergeCosts(function, /*fused=*/{});
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isDeclaration())
        function.setFunctionType(FunctionType::get(&getContext(), function.getBody().front().getArgumentTypes(),
                                                   function.getBody().front().getTerminator()->getOperandTypes()));
  }
};

} // namespace
