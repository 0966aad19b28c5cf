//===- SavedOffsets.cpp - Offsets that wait in shared memory ------------------------------===//
//
// Where a tile's rows are follows from divisions of the number of the thread block. Registers
// that held these offsets while blocks of keys are multiplied would be spilled.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Attention/TileCode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

namespace {

constexpr size_t kMostOfMask = 4;

/// Arrays that the mask reads, whose offsets are saved behind the number of rows.
SmallVector<Value> arraysOfMask(AttentionTileOp op) {
  SetVector<Value> used;
  if (!op.getMask().empty())
    getUsedValuesDefinedAbove(op.getMask(), used);
  SmallVector<Value> arrays;
  for (Value value : used)
    if (isa<MemRefType>(value.getType()) && arrays.size() < kMostOfMask)
      arrays.push_back(value);
  return arrays;
}

/// The arrays whose offsets are saved, in this order; the number of rows is behind them.
SmallVector<Value> savedArrays(AttentionTileOp op) {
  SmallVector<Value> arrays{op.getResult(), op.getQuery(), op.getKey(), op.getValue()};
  for (Value ofRows : {op.getLse(), op.getSum()})
    if (ofRows)
      arrays.push_back(ofRows);
  return arrays;
}

} // namespace

Value TileCode::savedAt(int64_t nth) {
  return SharedOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), /*shared*/ 3), index(*saved + 8 * nth));
}

void TileCode::save(int64_t offset) {
  saved = offset;
  SmallVector<Value> numbers;
  for (Value memref : savedArrays(op))
    numbers.push_back(GlobalArray(b, memref).offset);
  numbers.push_back(rows);
  for (Value memref : arraysOfMask(op))
    numbers.push_back(memref::ExtractStridedMetadataOp::create(b, memref).getOffset());
  for (auto [i, number] : llvm::enumerate(numbers))
    LLVM::StoreOp::create(b, Value(arith::IndexCastOp::create(b, b.getI64Type(), number)), savedAt(int64_t(i)), 8);
}

Value TileCode::loadSaved(int64_t nth) { // volatile, so that it stays where it is
  Value number = LLVM::LoadOp::create(b, b.getI64Type(), savedAt(nth), 8, /*isVolatile=*/true);
  return arith::IndexCastOp::create(b, b.getIndexType(), number);
}

void TileCode::withSavedOfMask(function_ref<void()> code) {
  if (saved)
    for (auto [i, memref] : llvm::enumerate(arraysOfMask(op))) {
      auto type = cast<MemRefType>(memref.getType());
      auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
      if (isa<Attribute>(metadata.getConstifiedMixedOffset()))
        continue;
      const OpFoldResult offset = loadSaved(int64_t(savedArrays(op).size() + 1 + i));
      Value loaded =
          memref::ReinterpretCastOp::create(b, type, metadata.getBaseBuffer(), offset,
                                            metadata.getConstifiedMixedSizes(), metadata.getConstifiedMixedStrides());
      ofMask.map(memref, loaded);
    }
  code();
  ofMask.clear();
}

void TileCode::withSaved(function_ref<void()> code) {
  const Value before = rows;
  if (saved) {
    for (auto [i, memref] : llvm::enumerate(savedArrays(op)))
      offsets[memref] = loadSaved(int64_t(i));
    rows = loadSaved(int64_t(savedArrays(op).size()));
  }
  code();
  rows = before;
  offsets.clear();
}

GlobalArray TileCode::arrayOf(Value memref) {
  GlobalArray array(b, memref);
  if (Value offset = offsets.lookup(memref); offset && !matchPattern(array.offset, m_Constant()))
    array.offset = offset;
  return array;
}

/// The same number, which LLVM does not know: it computes nothing from it, as addresses, before the matmuls.
Value TileCode::hidden(Value number) {
  Type type = b.getI32Type();
  auto assembly = LLVM::InlineAsmOp::create(b, type, ValueRange(arith::IndexCastOp::create(b, type, number)),
                                            "mov.b32 $0, $1;", "=r,r", /*has_side_effects=*/true,
                                            /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                            LLVM::AsmDialectAttr(), ArrayAttr());
  return arith::IndexCastUIOp::create(b, b.getIndexType(), assembly.getResult(0));
}
