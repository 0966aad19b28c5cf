//===- SelectStorage.cpp - Storage types of weights and cache --------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNSELECTSTORAGE
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// The float of a name that users give; null for no such name.
Type storageNamed(StringRef name, MLIRContext *context) {
  return llvm::StringSwitch<Type>(name)
      .Case("f32", Float32Type::get(context))
      .Case("bf16", BFloat16Type::get(context))
      .Case("f16", Float16Type::get(context))
      .Default({});
}

/// Whether an op reads a weight by element, whose channels it does not tell, or as the activation whose type its result
/// has, or is of another dialect, whose ops do not convert what they read.
bool isTable(OpOperand &use) {
  if (!isa<attn::AttnDialect>(use.getOwner()->getDialect()))
    return true;
  if (use.getOperandNumber() == 0 && use.getOwner()->hasTrait<attn::KeepsElementType>())
    return true;
  auto op = dyn_cast<attn::ChannelsOpInterface>(use.getOwner());
  if (!op || isa<attn::RMSNormOp, attn::LayerNormOp>(use.getOwner()))
    return true;
  std::optional<attn::WeightUse> weight = op.getWeightUse(use);
  return weight && !weight->contracted && !op.getChannelsDim(use);
}

/// Parameters that are stored as matrices. Norms and biases are read as f32 vectors, tables of attention by element;
/// their bytes do not matter.
SmallVector<attn::ParameterOp> matricesOf(ModuleOp module) {
  llvm::StringSet<> tables;
  module.walk([&](attn::ParameterSliceOp slice) {
    if (llvm::any_of(slice->getUses(), isTable))
      tables.insert(slice.getParameter());
  });
  SmallVector<attn::ParameterOp> matrices;
  for (auto parameter : module.getOps<attn::ParameterOp>())
    if (parameter.getSliceType().getRank() >= 2 && !tables.contains(parameter.getSymName()))
      matrices.push_back(parameter);
  return matrices;
}

void storeMatrices(ModuleOp module, Type type) {
  auto retype = [&](Type old) { return RankedTensorType::get(cast<RankedTensorType>(old).getShape(), type); };
  llvm::StringSet<> names;
  for (attn::ParameterOp parameter : matricesOf(module)) {
    parameter.setType(retype(parameter.getType()));
    names.insert(parameter.getSymName());
  }
  module.walk([&](attn::ParameterSliceOp slice) {
    if (names.contains(slice.getParameter()))
      slice.getValue().setType(retype(slice.getValue().getType()));
  });
}

/// The type of 16 bits that all matrices have; f32 where there is none.
Type commonStorage(ModuleOp module) {
  SmallVector<attn::ParameterOp> matrices = matricesOf(module);
  auto elementOf = [](attn::ParameterOp op) { return op.getSliceType().getElementType(); };
  for (Type type : {Type(BFloat16Type::get(module.getContext())), Type(Float16Type::get(module.getContext()))})
    if (!matrices.empty() && llvm::all_of(matrices, [&](attn::ParameterOp op) { return elementOf(op) == type; }))
      return type;
  return Float32Type::get(module.getContext());
}

/// Returns whether there is a cache.
bool storeCache(ModuleOp module, Type keys, Type values) {
  bool found = false;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](attn::KVCacheType type) -> Type {
    found = true;
    return type.withElementType(keys, values);
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
  module.walk([](attn::KVViewOp view) {
    auto cache = dyn_cast<attn::KVCacheType>(view.getCache().getType());
    if (!cache || view.getSegment() >= cache.getSegments().size())
      return;
    const attn::KVSegment &segment = cache.getSegments()[view.getSegment()];
    for (auto [result, part] : {std::pair(view.getKeys(), segment.keys), std::pair(view.getValues(), segment.values)})
      result.setType(RankedTensorType::get(cast<RankedTensorType>(result.getType()).getShape(), part.viewElement()));
  });
  return found;
}

struct SelectStorage : rapt::impl::AttnSelectStorageBase<SelectStorage> {
  using AttnSelectStorageBase::AttnSelectStorageBase;

  LogicalResult select() {
    ModuleOp module = getOperation();
    if (dtype != "keep") {
      Type type = storageNamed(dtype, &getContext());
      if (!type)
        return module.emitError() << "storage type must be f32, bf16 or f16, found '" << dtype << "'";
      storeMatrices(module, type);
    }
    if (cacheDtype == "keep")
      return success();
    auto typeOf = [&](StringRef name) -> Type {
      return name == "int8" ? Type(IntegerType::get(&getContext(), 8)) : storageNamed(name, &getContext());
    };
    auto [ofKeys, ofValues] = StringRef(cacheDtype).split(',');
    Type keys = cacheDtype == "auto" ? commonStorage(module) : typeOf(ofKeys),
         values = StringRef(cacheDtype).contains(',') ? typeOf(ofValues) : keys;
    if (!keys || !values)
      return module.emitError() << "storage type of the cache must be auto, f32, bf16, f16 or int8, or two of them for "
                                << "keys and values, found '" << cacheDtype << "'";
    if (!storeCache(module, keys, values) && cacheDtype != "auto")
      return module.emitError() << "there is no cache of keys and values to be stored as " << cacheDtype;
    return success();
  }

  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Imported)))
      return signalPassFailure();
    if (failed(select()))
      signalPassFailure();
  }
};

} // namespace
