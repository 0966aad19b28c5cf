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
