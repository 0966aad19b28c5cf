//===- Columns.cpp - Columns in memory and columns that count --------------------------===//
#include "lib/Target/CPU/Layout/Columns.h"
#include "dialect/AttnCPU/Panels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using attn_cpu::kPanel;
using attn_cpu::padToPanel;

/// On a slice whose source has nothing but zeros behind it. Only cutTo sets it: the slices of a program may leave data.
static constexpr llvm::StringLiteral kCutAttr = "attn_cpu.cut";

static RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Value cpu::cutTo(ImplicitLocOpBuilder &b, Value value, RankedTensorType type) {
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)), strides(type.getRank(), b.getIndexAttr(1)),
      sizes = tensor::getMixedSizes(b, b.getLoc(), value);
  for (auto [size, extent] : llvm::zip_equal(sizes, type.getShape()))
    if (!ShapedType::isDynamic(extent))
      size = b.getIndexAttr(extent);
  auto cut = tensor::ExtractSliceOp::create(b, type, value, offsets, sizes, strides);
  cut->setAttr(kCutAttr, b.getUnitAttr());
  return cut;
}

void cpu::forgetCuts(Operation *root) {
  root->walk([](tensor::ExtractSliceOp op) { op->removeAttr(kCutAttr); });
}

Value cpu::padTo(ImplicitLocOpBuilder &b, Value value, int64_t columns) {
  RankedTensorType type = tensorOf(value);
  if (type.getShape().back() == columns)
    return value;
  if (auto cut = value.getDefiningOp<tensor::ExtractSliceOp>();
      cut && cut->hasAttr(kCutAttr) && tensorOf(cut.getSource()).getShape().back() == columns)
    return cut.getSource();
  SmallVector<OpFoldResult> low(type.getRank(), b.getIndexAttr(0)), high = low;
  high.back() = b.getIndexAttr(columns - type.getShape().back());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = columns;
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type.getElementType()));
  return tensor::PadOp::create(b, RankedTensorType::get(shape, type.getElementType()), value, low, high, zero);
}

Value cpu::packWeight(ImplicitLocOpBuilder &b, attn::LinearOp op) {
  RankedTensorType type = op.getWeight().getType();
  bool transposed = op.getTransposed();
  int64_t k = type.getDimSize(transposed ? 1 : 0), n = type.getDimSize(transposed ? 0 : 1);
  if (!transposed && n % kPanel == 0)
    return op.getWeight();
  Value dest = tensor::EmptyOp::create(b, ArrayRef<int64_t>{padToPanel(n) / kPanel, k, kPanel}, type.getElementType());
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type.getElementType()));
  SmallVector<int64_t> inner{transposed ? 0 : 1}, outer{1, 0};
  return linalg::PackOp::create(b, op.getWeight(), dest, inner, ArrayRef<OpFoldResult>{b.getIndexAttr(kPanel)}, zero,
                                transposed ? ArrayRef<int64_t>() : ArrayRef<int64_t>(outer))
      .getResult();
}
