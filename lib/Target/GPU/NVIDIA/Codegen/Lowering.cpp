//===- Lowering.cpp - Helpers of the patterns that lower attn_gpu -------------------------===//
#include "lib/Target/GPU/NVIDIA/Codegen/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cuda;
using attn_gpu::FragmentLayoutInterface;
using attn_gpu::LayoutField;

Value Ints::constant(int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(int32_t(value)));
}

Value Ints::of(Value index) { return builder.createOrFold<arith::IndexCastOp>(loc, builder.getI32Type(), index); }

Value Ints::index(Value value) { return builder.createOrFold<arith::IndexCastOp>(loc, builder.getIndexType(), value); }

Value Ints::wide(Value value) {
  if (isa<IndexType>(value.getType()))
    return builder.createOrFold<arith::IndexCastOp>(loc, builder.getI64Type(), value);
  return builder.createOrFold<arith::ExtSIOp>(loc, builder.getI64Type(), value);
}

Value Ints::add(Value a, Value b) { return builder.createOrFold<arith::AddIOp>(loc, a, b); }

Value Ints::times(Value a, int64_t by) { return builder.createOrFold<arith::MulIOp>(loc, a, constant(by)); }

Value Ints::shiftRight(Value a, unsigned by) {
  return by == 0 ? a : builder.createOrFold<arith::ShRUIOp>(loc, a, constant(by));
}

Value Ints::mask(Value a, int64_t mask) { return builder.createOrFold<arith::AndIOp>(loc, a, constant(mask)); }

Value Ints::exclusiveOr(Value a, Value b) { return builder.createOrFold<arith::XOrIOp>(loc, a, b); }

Value Ints::thread(int64_t threads) {
  return mask(NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type()), threads - 1);
}

Origin cuda::originOf(FragmentLayoutInterface layout, Ints ints) {
  const attn_gpu::LayoutAtom &atom = layout.getAtom();
  const Value thread = ints.thread(atom.threads);
  Origin origin{ints.constant(0), ints.constant(0)};
  for (const LayoutField &field : atom.ofThread) {
    const Value value = ints.mask(ints.shiftRight(thread, field.shift), (1 << field.bits) - 1);
    if (field.step.row)
      origin.row = ints.add(origin.row, ints.times(value, field.step.row));
    if (field.step.column)
      origin.column = ints.add(origin.column, ints.times(value, field.step.column));
  }
  return origin;
}

Position cuda::positionOf(Value index, Ints ints) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return {nullptr, constant.getSExtValue()};
  return {ints.of(index), 0};
}

Value cuda::swizzleOf(attn_gpu::SwizzleAttr swizzle, Value row, Ints ints) {
  const int64_t bytes = swizzle.getBytes();
  const Value line = ints.shiftRight(row, llvm::Log2_64(128 / bytes));
  return ints.times(ints.mask(line, bytes / 16 - 1), 16);
}

Value cuda::advance(OpBuilder &builder, Location loc, Value pointer, Value dynamic, int64_t constant) {
  const Type byte = builder.getI8Type(), type = pointer.getType();
  if (dynamic)
    pointer = LLVM::GEPOp::create(builder, loc, type, byte, pointer, ArrayRef<LLVM::GEPArg>{dynamic});
  if (constant)
    pointer =
        LLVM::GEPOp::create(builder, loc, type, byte, pointer, ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(constant))});
  return pointer;
}

Value cuda::roundPair(OpBuilder &builder, Location loc, Type element, Value low, Value high) {
  const auto pair = VectorType::get(2, element);
  auto nearest = NVVM::FPRoundingModeAttr::get(builder.getContext(), NVVM::FPRoundingMode::RN);
  if (element.isBF16())
    return NVVM::ConvertF32x2ToBF16x2Op::create(builder, loc, pair, high, low, Value(), nearest);
  return NVVM::ConvertF32x2ToF16x2Op::create(builder, loc, pair, high, low, Value(), nearest);
}

SmallVector<Value> cuda::emitAsm(OpBuilder &builder, Location loc, TypeRange results, ValueRange operands,
                                 StringRef text, StringRef constraints) {
  SmallVector<Type> type;
  if (results.size() == 1)
    type.push_back(results[0]);
  else if (!results.empty())
    type.push_back(LLVM::LLVMStructType::getLiteral(builder.getContext(), llvm::to_vector(results)));
  auto op =
      LLVM::InlineAsmOp::create(builder, loc, TypeRange(type), operands, text, constraints, /*has_side_effects=*/true,
                                /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
  if (results.size() <= 1)
    return SmallVector<Value>(op->getResults());
  SmallVector<Value> values;
  for (int64_t i = 0; i < int64_t(results.size()); ++i)
    values.push_back(LLVM::ExtractValueOp::create(builder, loc, op.getResult(0), i));
  return values;
}

SmallVector<Value> cuda::flatten(ArrayRef<ValueRange> ranges) {
  SmallVector<Value> values;
  for (ValueRange range : ranges)
    llvm::append_range(values, range);
  return values;
}

Chip cuda::chipOf(Operation *op) {
  auto module = op->getParentOfType<gpu::GPUModuleOp>();
  for (Attribute attribute :
       module &&module.getTargetsAttr() ? module.getTargetsAttr().getValue() : ArrayRef<Attribute>())
    if (auto target = dyn_cast<NVVM::NVVMTargetAttr>(attribute)) {
      StringRef name = target.getChip();
      Chip chip;
      if (name.consume_front("sm_") && !name.consumeInteger(10, chip.number)) {
        chip.isArchitectureSpecific = name == "a";
        return chip;
      }
    }
  return {};
}

LogicalResult cuda::requireHopper(Operation *op, bool own) {
  const Chip chip = chipOf(op);
  if (own ? chip.number == 90 && chip.isArchitectureSpecific : chip.number >= 90)
    return success();
  return op->emitOpError() << "needs " << (own ? "sm_90a" : "sm_90 or newer") << ", found "
                           << (chip.number ? "sm_" + std::to_string(chip.number) : "no target");
}
