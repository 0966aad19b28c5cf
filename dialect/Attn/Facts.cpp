#include "dialect/Attn/Facts.h"
#include "dialect/Attn/AttnDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace rapt;

Attribute attn::toAttribute(MLIRContext *context, const fact::Text &text) { return StringAttr::get(context, text); }
Attribute attn::toAttribute(MLIRContext *context, fact::Number number) {
  return Builder(context).getI64IntegerAttr(number);
}
Attribute attn::toAttribute(MLIRContext *context, const fact::Id &id) { return toAttribute(context, id.value_or(-1)); }
Attribute attn::toAttribute(MLIRContext *context, const fact::Numbers &numbers) {
  return Builder(context).getI64ArrayAttr(numbers);
}
Attribute attn::toAttribute(MLIRContext *context, const fact::Names &names) {
  const SmallVector<StringRef> texts(names.begin(), names.end());
  return Builder(context).getStrArrayAttr(texts);
}

namespace {

std::optional<int64_t> integerOf(Attribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute);
  return number && number.getValue().getSignificantBits() <= 64 ? std::optional(number.getValue().getSExtValue())
                                                                : std::nullopt;
}

void read(Attribute attribute, fact::Text &text) {
  if (auto value = dyn_cast<StringAttr>(attribute))
    text = value.str();
}
void read(Attribute attribute, fact::Number &number) { number = integerOf(attribute).value_or(0); }
void read(Attribute attribute, fact::Id &id) { id = integerOf(attribute); }
void read(Attribute attribute, fact::Numbers &numbers) {
  if (auto list = dyn_cast<ArrayAttr>(attribute))
    for (Attribute item : list)
      if (std::optional<int64_t> number = integerOf(item))
        numbers.push_back(*number);
}
void read(Attribute attribute, fact::Names &names) {
  if (auto list = dyn_cast<ArrayAttr>(attribute))
    for (Attribute item : list)
      if (auto name = dyn_cast<StringAttr>(item))
        names.push_back(name.str());
}

} // namespace

ModelFacts attn::factsOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto model = module->getAttrOfType<DictionaryAttr>(AttnDialect::modelAttr);
  ModelFacts facts;
  if (model)
    visitFacts(facts, [&](const FactRow &row, auto &fact) {
      if (Attribute attribute = model.get(row.key))
        read(attribute, fact);
    });
  return facts;
}

void attn::setFacts(ModuleOp module, const ModelFacts &facts) {
  NamedAttrList list;
  visitFacts(facts, [&](const FactRow &row, const auto &fact) {
    constexpr bool isNumber = std::is_same_v<decltype(fact), const fact::Number &>;
    if (isGiven(fact) || (row.manifest == InManifest::Always && !isNumber))
      list.set(row.key, toAttribute(module.getContext(), fact));
  });
  module->setAttr(AttnDialect::modelAttr, list.getDictionary(module.getContext()));
}

void attn::setFact(ModuleOp module, StringRef key, Attribute value) {
  NamedAttrList list(module->getAttrOfType<DictionaryAttr>(AttnDialect::modelAttr));
  list.set(key, value);
  module->setAttr(AttnDialect::modelAttr, list.getDictionary(module.getContext()));
}
