//===- Stage.cpp - The stages of the IR ----------------------------------------------===//
#include "lib/Transforms/Stage.h"
#include "dialect/Attn/AttnDialect.h"

using namespace mlir;
using namespace rapt;

StringRef rapt::nameOf(Stage stage) { return attn::kStages[static_cast<int>(stage)]; }

std::optional<Stage> rapt::stageNamed(StringRef name) {
  const auto *it = llvm::find(attn::kStages, name);
  if (it == std::end(attn::kStages))
    return std::nullopt;
  return static_cast<Stage>(it - attn::kStages);
}

Stage rapt::stageOf(ModuleOp module) {
  auto attr = module->getAttrOfType<StringAttr>(attn::AttnDialect::stageAttr);
  return attr ? stageNamed(attr.getValue()).value_or(Stage::Imported) : Stage::Imported;
}
