//===- Entries.cpp ------------------------------------------------------------===//
#include "dialect/Attn/Entries.h"
#include "dialect/Attn/AttnOps.h"

using namespace mlir;

SmallVector<FunctionOpInterface> rapt::attn::entriesOf(Operation *module) {
  SmallVector<FunctionOpInterface> entries, uncalled;
  for (auto function : module->getRegion(0).getOps<FunctionOpInterface>()) {
    if (function->hasAttr(AttnDialect::entryAttr))
      entries.push_back(function);
    if (function.isPublic() && !function.isExternal() && SymbolTable::symbolKnownUseEmpty(function, module))
      uncalled.push_back(function);
  }
  return entries.empty() && isKernelModule(module) ? uncalled : entries;
}

std::optional<unsigned> rapt::attn::findArgument(FunctionOpInterface entry, EntryRole role) {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (auto name = entry.getArgAttrOfType<StringAttr>(i, AttnDialect::nameAttr); name && name == nameOf(role))
      return i;
  return std::nullopt;
}

std::optional<unsigned> rapt::attn::findResult(FunctionOpInterface entry, EntryRole role) {
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (auto name = entry.getResultAttrOfType<StringAttr>(i, AttnDialect::nameAttr); name && name == nameOf(role))
      return i;
  return std::nullopt;
}

RankedTensorType rapt::attn::typeOf(EntryRole role, Builder builder, ArrayRef<int64_t> numbers) {
  SmallVector<int64_t> shape(rowOf(role).shape.count, ShapedType::kDynamic);
  llvm::append_range(shape, numbers);
  const bool isInteger = StringRef(rowOf(role).type) == "i32";
  return RankedTensorType::get(shape, isInteger ? Type(builder.getI32Type()) : Type(builder.getF32Type()));
}
