//===- Columns.cpp - Columns in memory and columns that count --------------------------===//
#include "lib/Target/CPU/Layout/Columns.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Transforms/ColumnGroups.h"
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

Value cpu::cutTo(ImplicitLocOpBuilder &b, Value value, RankedTensorType type, bool zerosBehind) {
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)), strides(type.getRank(), b.getIndexAttr(1)),
      sizes = tensor::getMixedSizes(b, b.getLoc(), value);
  for (auto [size, extent] : llvm::zip_equal(sizes, type.getShape()))
    if (!ShapedType::isDynamic(extent))
      size = b.getIndexAttr(extent);
  auto cut = tensor::ExtractSliceOp::create(b, type, value, offsets, sizes, strides);
  if (zerosBehind)
    cut->setAttr(kCutAttr, b.getUnitAttr());
  return cut;
}

/// A tensor like `value` with other columns: `element` makes one from its indices.
static Value withColumns(ImplicitLocOpBuilder &b, Value value, int64_t columns,
                         function_ref<Value(ImplicitLocOpBuilder &b, SmallVector<Value> at)> element) {
  const RankedTensorType type = tensorOf(value);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), value);
  sizes.back() = b.getIndexAttr(columns);
  Value dest = tensor::EmptyOp::create(b, sizes, type.getElementType());
  SmallVector<utils::IteratorType> loops(type.getRank(), utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location loc, ValueRange) {
    ImplicitLocOpBuilder b(loc, nested);
    SmallVector<Value> at;
    for (int64_t i = 0; i < type.getRank(); ++i)
      at.push_back(linalg::IndexOp::create(b, i));
    linalg::YieldOp::create(b, element(b, std::move(at)));
  };
  return linalg::GenericOp::create(b, dest.getType(), ValueRange(), dest, b.getMultiDimIdentityMap(type.getRank()),
                                   loops, body)
      .getResult(0);
}

Value cpu::cutGroups(ImplicitLocOpBuilder &b, Value value, RankedTensorType type, int64_t group) {
  if (group == 0)
    return cutTo(b, value, type);
  return withColumns(b, value, type.getShape().back(), [&](ImplicitLocOpBuilder &b, SmallVector<Value> at) -> Value {
    Value columns = arith::ConstantIndexOp::create(b, group),
          padded = arith::ConstantIndexOp::create(b, padToPanel(group));
    Value begin = arith::MulIOp::create(b, arith::DivUIOp::create(b, at.back(), columns), padded);
    at.back() = arith::AddIOp::create(b, begin, arith::RemUIOp::create(b, at.back(), columns));
    return tensor::ExtractOp::create(b, value, at);
  });
}

Value cpu::padGroups(ImplicitLocOpBuilder &b, Value value, RankedTensorType type, int64_t group) {
  const int64_t columns = type.getShape().back() / group * padToPanel(group);
  return withColumns(b, value, columns, [&](ImplicitLocOpBuilder &b, SmallVector<Value> at) -> Value {
    auto constant = [&](int64_t number) { return arith::ConstantIndexOp::create(b, number); };
    Value padded = constant(padToPanel(group)), place = arith::RemUIOp::create(b, at.back(), padded);
    Value isPadding = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, place, constant(group));
    Value begin = arith::MulIOp::create(b, arith::DivUIOp::create(b, at.back(), padded), constant(group));
    at.back() = arith::AddIOp::create(b, begin, arith::MinUIOp::create(b, place, constant(group - 1)));
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type.getElementType()));
    return arith::SelectOp::create(b, isPadding, zero, tensor::ExtractOp::create(b, value, at));
  });
}

int64_t cpu::paddedGroup(Value value) {
  const int64_t group = columnGroup(value);
  return group % kPanel == 0 ? 0 : group;
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
