//===- QuantizedLayout.cpp - Quantized weights in panels ----------------------------------===//
//
// A panel of 32 columns is one stream, which asynchronous copies read 16 bytes at a time. It is what the weight file
// has for int8 dot products of CPUs, too: words of 4 consecutive k are what lanes of tensor cores take.
//
//===----------------------------------------------------------------------===//
#include "lib/Artifact/Quantization.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/BlockElements.h"
#include "lib/Host/WeightOffsets.h"
#include "lib/Target/GPU/Linear/Quantized.h"
#include "lib/Target/GPU/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNGPUQUANTIZEDLAYOUT
#include "lib/Target/GPU/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;
using attn_gpu::QuantizedPanelsAttr;

namespace {

/// Where an element of a quantized matrix of 8 bits, or in blocks, is in its panels.
struct QuantizedTable {
  Value bytes; ///< [panels, groups, bytes of a group]
  artifact::Quantization file;
  int64_t depth, padded; ///< rows, without and with padding of periods
  int64_t period;

  Value byteAt(ImplicitLocOpBuilder &b, Value panel, Value group, Value at) const {
    Value byte = tensor::ExtractOp::create(b, bytes, ValueRange{panel, group, at});
    return arith::ExtUIOp::create(b, b.getI32Type(), byte);
  }

  Value at(ImplicitLocOpBuilder &b, Value row, Value column) const {
    AffineExpr r = b.getAffineDimExpr(0), n = b.getAffineDimExpr(1);
    auto number = [&](AffineExpr expr) {
      return asValue(b, affineOf(b, expr, {OpFoldResult(row), OpFoldResult(column)}));
    };
    if (period)
      r = r.floorDiv(period) * artifact::padPeriod(period) + r % period;
    constexpr int64_t kPanel = QuantizedPanelsAttr::kColumns, kOfWord = 4;
    Value panel = number(n.floorDiv(kPanel));
    if (file.blocks)
      return readBlockElement(b, BlockLayout(*file.blocks, kPanel), row, number(n % kPanel),
                              [&](Value block, Value byte) { return byteAt(b, panel, block, byte); });
    const int64_t ofGroup = file.groupRows(padded), codes = file.codeBytes(padded);
    Value group = number(r.floorDiv(ofGroup));
    AffineExpr inGroup = r % ofGroup, inPanel = n % kPanel;
    Value code = byteAt(b, panel, group,
                        number(inGroup.floorDiv(kOfWord) * (kPanel * kOfWord) + inPanel * kOfWord + inGroup % kOfWord));
    Value low = byteAt(b, panel, group, number(inPanel * 2 + codes)),
          high = byteAt(b, panel, group, number(inPanel * 2 + codes + 1));
    Value bits = arith::OrIOp::create(b, arith::ShLIOp::create(b, high, integer(b, 24)),
                                      arith::ShLIOp::create(b, low, integer(b, 16)));
    Value difference =
        arith::SIToFPOp::create(b, b.getF32Type(), arith::SubIOp::create(b, code, integer(b, file.zero())));
    return arith::MulFOp::create(b, arith::BitcastOp::create(b, b.getF32Type(), bits), difference);
  }

  static Value integer(ImplicitLocOpBuilder &b, int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
  }
};

/// The slices of a parameter, and their readers.
using Slices = SmallVector<attn::ParameterSliceOp>;

attn::LinearOp matmulOf(OpOperand &use) {
  auto linear = dyn_cast<attn::LinearOp>(use.getOwner());
  return linear && &linear.getWeightMutable() == &use ? linear : attn::LinearOp();
}

/// Whether matmuls on tensor cores read a quantized parameter, and look-ups at most besides.
bool takesPanels(attn::QuantizedType type, const Slices &slices) {
  bool isMultiplied = false;
  for (attn::ParameterSliceOp slice : slices)
    for (OpOperand &use : slice.getValue().getUses()) {
      attn::LinearOp linear = matmulOf(use);
      if (linear ? !linear.getInput().getDefiningOp<attn::QuantizeRowsOp>() || linear.getLayout() || linear.getGroups()
                 : !isa<attn::EmbeddingOp>(use.getOwner()) || !(type.bits() == 8 || type.blocks()))
        return false;
      isMultiplied |= bool(linear);
    }
  return isMultiplied && (type.bits() == 8 || type.getGroup() != 0);
}

/// Sets layout, physical type and offset; returns the end of the parameter in the weight file.
FailureOr<int64_t> assign(attn::ParameterOp parameter, attn::QuantizedType type, int64_t offset) {
  SmallVector<int64_t> shape(parameter.getSliceType().getShape());
  const bool isTransposed = type.getAxis() == 1;
  if (isTransposed)
    std::swap(shape[0], shape[1]);
  if (failed(QuantizedPanelsAttr::verify([&] { return parameter.emitOpError("has no layout: "); }, shape,
                                         type.getPeriod(), QuantizedPanelsAttr::interleaveOf(type))))
    return failure();
  if (isTransposed)
    parameter.transposeSources();
  auto layout = QuantizedPanelsAttr::get(parameter.getContext(), shape, type.getPeriod(),
                                         QuantizedPanelsAttr::interleaveOf(type));
  Type element = type.along(0);
  return appendToWeights(parameter, layout, layout.getStored(element), layout.getBytes(element), offset);
}

/// A look-up reads the bytes of its elements.
void lowerLookUp(attn::EmbeddingOp op, attn::ParameterSliceOp slice, const QuantizedTable &known) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  QuantizedTable table = known;
  auto layout = cast<QuantizedPanelsAttr>(
      SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(slice, slice.getParameterAttr()).getLayoutAttr());
  Type element = cast<RankedTensorType>(slice.getValue().getType()).getElementType();
  table.bytes = attn::ParameterSliceOp::create(b, layout.getBytes(element), slice.getParameterAttr(), slice.getLayer());
  Value init = emptyFor(b, op.getResult(), {extent(b, op.getIds(), 0), b.getIndexAttr(table.depth)});
  SmallVector<AffineMap> maps{mapOf(b, 2, {0}), b.getMultiDimIdentityMap(2)};
  Value rows = generic(b, {op.getIds()}, init, maps, {Loop::Parallel, Loop::Parallel},
                       [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                         Value id = arith::IndexCastOp::create(b, b.getIndexType(), x[0]);
                         Value y = table.at(b, neutral::at(b, 1), id);
                         if (op.getScale())
                           y = arith::MulFOp::create(b, y, neutral::number(b, op.getScale()->convertToFloat()));
                         return rounded(b, y, x.back().getType());
                       });
  if (Attribute number = op->getAttr(attn::AttnDialect::opAttr))
    rows.getDefiningOp()->setAttr(attn::AttnDialect::opAttr, number);
  op.getResult().replaceAllUsesWith(rows);
  op.erase();
}

void lower(attn::ParameterSliceOp slice, attn::ParameterOp parameter) {
  auto layout = cast<QuantizedPanelsAttr>(parameter.getLayoutAttr());
  auto type = cast<attn::QuantizedType>(parameter.getSliceType().getElementType());
  slice.getValue().setType(parameter.getSliceType());
  for (OpOperand &use : llvm::make_early_inc_range(slice.getValue().getUses())) {
    if (attn::LinearOp linear = matmulOf(use)) {
      linear.setLayoutAttr(layout);
      linear.setTransposed(false);
      continue;
    }
    const auto file = artifact::Quantization::of(type);
    lowerLookUp(cast<attn::EmbeddingOp>(use.getOwner()), slice,
                {Value(), file, layout.getShape()[0], parameter.getSliceType().getDimSize(1), type.getPeriod()});
  }
  if (slice.getValue().use_empty())
    slice.erase();
}

struct QuantizedLayout : rapt::impl::AttnGPUQuantizedLayoutBase<QuantizedLayout> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    llvm::MapVector<StringAttr, Slices> slices;
    getOperation().walk(
        [&](attn::ParameterSliceOp slice) { slices[slice.getParameterAttr().getAttr()].push_back(slice); });
    FailureOr<int64_t> end = 0;
    for (auto parameter : getOperation().getOps<attn::ParameterOp>()) {
      auto type = dyn_cast<attn::QuantizedType>(parameter.getSliceType().getElementType());
      const Slices &readers = slices[parameter.getSymNameAttr()];
      if (!type || !takesPanels(type, readers))
        continue;
      if (parameter.getLayout()) {
        parameter.emitOpError("has a layout already");
        return signalPassFailure();
      }
      if (failed(end = assign(parameter, type, *end)))
        return signalPassFailure();
      for (attn::ParameterSliceOp slice : readers)
        lower(slice, parameter);
    }
  }
};

} // namespace
