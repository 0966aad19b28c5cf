//===- QuantizeRows.cpp - Quantized operands of matmuls -----------------------------------===//
#include "lib/Artifact/Quantization.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Target/GPU/Linear/Quantized.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;
using namespace rapt::neutral;

attn_gpu::QuantizedPanelsAttr any_gpu::panelsOf(attn::LinearOp op) {
  std::optional<attn::WeightLayoutInterface> layout = op.getLayout();
  return layout ? dyn_cast<attn_gpu::QuantizedPanelsAttr>(*layout) : attn_gpu::QuantizedPanelsAttr();
}

QuantizedRows any_gpu::quantizeRows(attn::QuantizeRowsOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto type = cast<attn::QuantizedType>(op.getResult().getType().getElementType());
  const int64_t depth = op.getInput().getType().getDimSize(1), period = type.getPeriod();
  const int64_t padded = period ? depth / period * artifact::padPeriod(period) : depth;
  const artifact::Quantization file{8, type.getGroup(), false};
  // Rows of scales begin at multiples of 16 bytes, for asynchronous copies.
  const int64_t codes = file.paddedRows(padded), scales = llvm::alignTo(file.groups(padded), 4);
  OpFoldResult rows = extent(b, op.getInput(), 0), one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  Value inits[] = {emptyOf(b, {rows, b.getIndexAttr(codes)}, b.getI8Type()),
                   emptyOf(b, {rows, b.getIndexAttr(scales)}, b.getF32Type())};
  SmallVector<Value> made = grid(b, {rows}, inits, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
    auto row = [&](Value tensor, int64_t columns) {
      return slice(b, tensor, {ids[0], zero}, {one, b.getIndexAttr(columns)});
    };
    Value ofCodes = row(dests[0], codes), ofScales = row(dests[1], scales);
    auto tile = attn_gpu::QuantizeTileOp::create(b, TypeRange{ofCodes.getType(), ofScales.getType()},
                                                 row(op.getInput(), depth), ofCodes, ofScales, type.getGroup(), period);
    auto whole = [&](Value result, int64_t columns) {
      return Insertion{result, {ids[0], zero}, {one, b.getIndexAttr(columns)}};
    };
    return SmallVector<Insertion>{whole(tile.getResults()[0], codes), whole(tile.getResults()[1], scales)};
  });
  Attribute number = op->getAttr(attn::AttnDialect::opAttr);
  if (auto forall = made[0].getDefiningOp<scf::ForallOp>(); forall && number)
    forall->setAttr(attn::AttnDialect::opAttr, number);
  return {made[0], made[1]};
}

Value any_gpu::bytesOf(ImplicitLocOpBuilder &b, attn::LinearOp op) {
  auto slice = op.getWeight().getDefiningOp<attn::ParameterSliceOp>();
  Type element = op.getWeight().getType().getElementType();
  return attn::ParameterSliceOp::create(b, panelsOf(op).getBytes(element), slice.getParameterAttr(), slice.getLayer());
}
