//===- VerifyLayouts.cpp - Verifies layouts and padding ------------------------------------===//
//
// The text of the stage laid-out tells the columns that count only where a parameter's layout
// has them, so padding is verified at matmuls and norms of parameters.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Layout/VerifyLayouts.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "dialect/AttnCPU/QuantizedLayout.h"
#include "lib/Host/CacheMemory.h"
#include "lib/Host/WeightOffsets.h"
#include "lib/Target/CPU/Layout/ZeroPadding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace rapt;
using attn_cpu::kPanel;

namespace {

attn::ParameterOp parameterOf(Value value) {
  auto slice = value.getDefiningOp<attn::ParameterSliceOp>();
  return slice ? SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(slice, slice.getParameterAttr()) : nullptr;
}

/// Whether the padding behind rows, or behind each of their groups of columns, fills whole panels and no more.
bool fillsPanels(attn::RowsAttr rows, RankedTensorType layer) {
  if (rows.getShape().empty())
    return true;
  const int64_t columns = rows.getShape().back(), group = rows.getColumnGroup() ? rows.getColumnGroup() : columns;
  return layer.getShape().back() / (columns / group) == int64_t(llvm::alignTo(group, kPanel));
}

LogicalResult verifyParameter(attn::ParameterOp op) {
  if (!op.getLayout() || !op.getOffset() || !op.getStride())
    return op.emitOpError("has no layout, offset and stride, which the laid-out stage promises");
  RankedTensorType layer = op.getSliceType();
  auto rows = dyn_cast<attn::RowsAttr>(*op.getLayout());
  if (rows ? isa<attn::QuantizedType>(layer.getElementType()) : !isa<attn_cpu::PackedAttr>(*op.getLayout()))
    return op.emitOpError() << "has the layout " << *op.getLayout() << " of " << layer
                            << ", but the CPU knows floats by rows (#attn.rows) and packed panels (#attn_cpu.packed)";
  if (rows && !fillsPanels(rows, layer))
    return op.emitOpError() << "has rows of " << layer.getShape().back() << " columns in the layout " << rows
                            << ": the laid-out stage promises padding to multiples of " << kPanel;
  const std::optional<int64_t> bytes = bytesOf(cpu::inWeightFile(layer));
  const auto offset = static_cast<int64_t>(*op.getOffset()), stride = static_cast<int64_t>(*op.getStride());
  if (offset < 0 || offset % 64 != 0 || !bytes || stride % 64 != 0 || stride < *bytes)
    return op.emitOpError() << "has offset " << offset << " and stride " << stride
                            << ", expected multiples of 64 and a stride of at least the bytes of a layer"
                            << (bytes ? ", " + std::to_string(*bytes) : "");
  return success();
}

/// No byte of the weight file belongs to two parameters.
LogicalResult verifyOffsets(ModuleOp module) {
  auto offsetOf = [](attn::ParameterOp op) { return static_cast<int64_t>(*op.getOffset()); };
  SmallVector<attn::ParameterOp> parameters(module.getOps<attn::ParameterOp>());
  llvm::stable_sort(parameters, [&](auto a, auto b) { return offsetOf(a) < offsetOf(b); });
  for (auto [first, second] : llvm::zip(parameters, llvm::drop_begin(parameters))) {
    std::optional<int64_t> bytes =
        llvm::checkedMul(static_cast<int64_t>(*first.getStride()), static_cast<int64_t>(first.getLayers().value_or(1)));
    if (!bytes || *bytes > offsetOf(second) - offsetOf(first))
      return second.emitOpError() << "begins at byte " << offsetOf(second) << " of the weight file, where '"
                                  << first.getSymName() << "' is";
  }
  return success();
}

/// Ops read a parameter as it lies.
LogicalResult verifyReaders(attn::ParameterSliceOp slice) {
  auto parameter = parameterOf(slice.getValue());
  auto packed = parameter ? dyn_cast<attn_cpu::PackedAttr>(*parameter.getLayout()) : nullptr;
  if (!packed)
    return success(); // the verifiers of ops refuse rows as a weight with a layout
  const auto expected = attn_cpu::PanelsAttr::of(slice.getValue().getType().getElementType());
  for (OpOperand &use : slice.getValue().getUses()) {
    auto op = dyn_cast<attn::ChannelsOpInterface>(use.getOwner());
    if (!op || !op.getWeightUse(use) || op->getAttr("layout") != expected)
      return use.getOwner()->emitOpError() << "reads '" << parameter.getSymName() << "', which is in packed panels, "
                                           << "without layout = " << expected;
  }
  return success();
}

/// A matmul gives whole panels, whose padding is zero where ops of attn read it; an entry's output has exact strides.
LogicalResult verifyLinear(attn::LinearOp op) {
  if (!op.getLayout())
    return success();
  const int64_t own = op.getType().getShape().back(),
                columns = op.getLayout()->getColumns(op.getWeight().getType()) / op.getMatrices();
  if (own != columns && !llvm::all_of(op->getUsers(), llvm::IsaPred<func::ReturnOp>))
    return op.emitOpError() << "gives " << own << " of " << columns << " columns, but not to func.return alone: the "
                            << "laid-out stage promises whole panels of " << kPanel;
  auto parameter = parameterOf(op.getWeight());
  auto packed = parameter ? dyn_cast<attn_cpu::PackedAttr>(*parameter.getLayout()) : nullptr;
  if (!packed || own == packed.getShape()[1] / op.getMatrices() || cpu::keepsZeros(op))
    return success();
  for (Operation *user : op->getUsers())
    if (isa<attn::AttnDialect, attn_cpu::AttnCPUDialect>(user->getDialect()))
      return op.emitOpError() << "has an epilogue that is not zero where its operands are, in " << own
                              << " columns of which " << packed.getShape()[1] / op.getMatrices() << " count, and '"
                              << user->getName() << "' reads it: the laid-out stage promises that padding is zero";
  return success();
}

/// A norm knows how many columns count.
template <typename Norm> LogicalResult verifyNorm(Norm op) {
  auto parameter = parameterOf(op.getWeight());
  auto rows = parameter ? dyn_cast<attn::RowsAttr>(*parameter.getLayout()) : nullptr;
  const int64_t all = cast<RankedTensorType>(op.getInput().getType()).getShape().back();
  if (!rows || rows.getShape().size() != 1)
    return success();
  const int64_t counted = op.getColumns().value_or(all);
  if (counted != rows.getShape()[0])
    return op.emitOpError() << "takes the mean of " << counted << " columns, but '" << parameter.getSymName()
                            << "' has " << rows.getShape()[0]
                            << ": the laid-out stage promises that padding does not count";
  return success();
}

} // namespace

RankedTensorType cpu::inWeightFile(RankedTensorType layer) {
  auto quantized = dyn_cast<attn::QuantizedType>(layer.getElementType());
  return quantized ? attn_cpu::QuantizedLayout(quantized, layer.getDimSize(1)).panelBytes(layer.getDimSize(0)) : layer;
}

LogicalResult cpu::verifyLayouts(ModuleOp module) {
  for (auto parameter : module.getOps<attn::ParameterOp>())
    if (failed(verifyParameter(parameter)))
      return failure();
  if (failed(verifyOffsets(module)))
    return failure();
  // Arrays of a kernel's caller have the padding that their types say.
  const bool isKernel = attn::isKernelModule(module);
  return failure(module
                     .walk([&](Operation *op) -> WalkResult {
                       if (auto function = dyn_cast<func::FuncOp>(op))
                         return verifyCacheMemory(function);
                       if (auto slice = dyn_cast<attn::ParameterSliceOp>(op))
                         return verifyReaders(slice);
                       if (auto linear = dyn_cast<attn::LinearOp>(op); linear && !isKernel)
                         return verifyLinear(linear);
                       if (auto norm = dyn_cast<attn::LayerNormOp>(op))
                         return verifyNorm(norm);
                       if (auto norm = dyn_cast<attn::RMSNormOp>(op))
                         return verifyNorm(norm);
                       return WalkResult::advance();
                     })
                     .wasInterrupted());
}
