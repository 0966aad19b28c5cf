//===- Demo.cpp - A plugin: a pass, and a dialect that lowers to attn -----------------===//
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"

using namespace mlir;
using namespace rapt;

#include "DemoDialect.h.inc"
#define GET_OP_CLASSES
#include "Demo.h.inc"

#include "DemoDialect.cpp.inc"
#define GET_OP_CLASSES
#include "Demo.cpp.inc"

void demo::DemoDialect::initialize() { addOperations<demo::SelfAttentionOp>(); }

/// The columns of qkv are the heads of queries, then keys, then values; those of the result are the heads.
LogicalResult demo::SelfAttentionOp::verify() {
  const int64_t heads = getHeads();
  auto qkv = cast<RankedTensorType>(getQkv().getType()), result = cast<RankedTensorType>(getType());
  if (qkv.getRank() != 2 || result.getRank() != 2 || heads < 1 || qkv.isDynamicDim(1) || result.isDynamicDim(1) ||
      result.getDimSize(1) % heads || qkv.getDimSize(1) / 3 != result.getDimSize(1) || qkv.getDimSize(1) % 3)
    return emitOpError("needs [tokens, 3 x width] and [tokens, width], a width of whole heads");
  return success();
}

namespace {

/// Projects the iteration dims (b, hkv, g, q, kv, dqk, dv) of attn.attention to those of an operand.
AffineMap mapOf(Builder &builder, ArrayRef<unsigned> dims) {
  SmallVector<AffineExpr> results;
  for (unsigned dim : dims)
    results.push_back(builder.getAffineDimExpr(dim));
  return AffineMap::get(attn::AttentionOp::NumDims, 0, results, builder.getContext());
}

/// attn.attention with the mask `key <= query`.
Value createCausal(OpBuilder &builder, Location loc, ValueRange qkv, int64_t headSize) {
  using Attention = attn::AttentionOp;
  auto maps = builder.getAffineMapArrayAttr({mapOf(builder, {Attention::Q, Attention::HKV, Attention::DQK}),
                                             mapOf(builder, {Attention::KV, Attention::HKV, Attention::DQK}),
                                             mapOf(builder, {Attention::KV, Attention::HKV, Attention::DV}),
                                             mapOf(builder, {Attention::Q, Attention::HKV, Attention::DV})});
  Value scale =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1.0f / std::sqrt(static_cast<float>(headSize))));
  auto attention = Attention::create(builder, loc, qkv[0].getType(), qkv[0], qkv[1], qkv[2], scale, Value(), Value(),
                                     Value(), Value(), ValueRange(), maps);
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> indices(4, builder.getIndexType());
  Block *mask = builder.createBlock(&attention.getMask(), {}, indices, SmallVector<Location>(4, loc));
  Value keep =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, mask->getArgument(3), mask->getArgument(2));
  attn::YieldOp::create(builder, loc, keep);
  return attention.getResult();
}

struct LowerDemo : PassWrapper<LowerDemo, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerDemo)
  StringRef getArgument() const override { return "demo-lower"; }
  StringRef getDescription() const override { return "lowers demo.self_attention to attn"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<attn::AttnDialect, arith::ArithDialect>();
  }
  void runOnOperation() override {
    getOperation()->walk([](demo::SelfAttentionOp op) {
      OpBuilder builder(op);
      auto type = cast<RankedTensorType>(op.getType());
      const int64_t heads = op.getHeads(), headSize = type.getDimSize(1) / heads;
      auto headsType = RankedTensorType::get({type.getDimSize(0), heads, headSize}, type.getElementType());
      auto split = attn::SplitHeadsOp::create(builder, op.getLoc(), SmallVector<Type>(3, headsType), op.getQkv());
      Value result = createCausal(builder, op.getLoc(), split.getResults(), headSize);
      op.replaceAllUsesWith(attn::MergeHeadsOp::create(builder, op.getLoc(), type, result).getResult());
      op.erase();
    });
  }
};

struct CountAttention : PassWrapper<CountAttention, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountAttention)
  StringRef getArgument() const override { return "count-attention"; }
  StringRef getDescription() const override { return "tells how many attention ops there are"; }
  void runOnOperation() override {
    unsigned count = 0;
    getOperation()->walk([&](attn::AttentionOp) { ++count; });
    emitRemark(getOperation()->getLoc()) << "attention ops: " << count;
    markAllAnalysesPreserved();
  }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "demo", "1.0", [] {
            PassRegistration<LowerDemo>();
            PassRegistration<CountAttention>();
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "demo", "1.0",
          [](DialectRegistry *registry) { registry->insert<demo::DemoDialect>(); }};
}
