//===- TargetInfo.cpp - TargetInfo to and from the IR -----------------------------===//
#include "lib/TargetInfo/TargetInfo.h"
#include "dialect/Attn/AttnDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace rapt;

namespace {
struct Number {
  StringLiteral name;
  int64_t TargetInfo::*field;
};
constexpr Number numbers[] = {
#define RAPT_NUMBER(field, name, value) {#name, &TargetInfo::field},
#define RAPT_FLAG(field, name)
#include "lib/TargetInfo/Capabilities.def"
};
struct Flag {
  StringLiteral name;
  bool TargetInfo::*field;
};
constexpr Flag flags[] = {
#define RAPT_NUMBER(field, name, value)
#define RAPT_FLAG(field, name) {#name, &TargetInfo::field},
#include "lib/TargetInfo/Capabilities.def"
};
constexpr StringLiteral targetName = "target";
} // namespace

TargetInfo TargetInfo::of(Operation *op) {
  TargetInfo info;
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto attr = module ? module->getAttrOfType<DictionaryAttr>(attn::AttnDialect::targetAttr) : DictionaryAttr();
  if (!attr)
    return info;
  if (auto name = attr.getAs<StringAttr>(targetName))
    info.target = name.str();
  for (const Number &number : numbers)
    if (auto value = attr.getAs<IntegerAttr>(number.name))
      info.*number.field = value.getInt();
  for (const Flag &flag : flags)
    info.*flag.field = attr.contains(flag.name);
  return info;
}

DictionaryAttr TargetInfo::toAttr(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<NamedAttribute> fields{builder.getNamedAttr(targetName, builder.getStringAttr(target))};
  for (const Number &number : numbers)
    if (this->*number.field != 0)
      fields.push_back(builder.getNamedAttr(number.name, builder.getI64IntegerAttr(this->*number.field)));
  for (const Flag &flag : flags)
    if (this->*flag.field)
      fields.push_back(builder.getNamedAttr(flag.name, builder.getUnitAttr()));
  return builder.getDictionaryAttr(fields);
}

std::string TargetInfo::differenceFrom(const TargetInfo &other) const {
  SmallVector<std::string> parts;
  if (target != other.target)
    parts.push_back("target = " + target);
  for (const Number &number : numbers)
    if (this->*number.field != other.*number.field)
      parts.push_back((number.name + " = " + Twine(this->*number.field)).str());
  for (const Flag &flag : flags)
    if (this->*flag.field != other.*flag.field)
      parts.push_back(((this->*flag.field ? "" : "no ") + flag.name).str());
  return llvm::join(parts, ", ");
}

std::vector<std::string> TargetInfo::list() const {
  std::vector<std::string> texts;
  for (const Number &number : numbers)
    if (this->*number.field != 0)
      texts.push_back((number.name + "=" + Twine(this->*number.field)).str());
  for (const Flag &flag : flags)
    if (this->*flag.field)
      texts.push_back(flag.name.str());
  return texts;
}

bool TargetInfo::set(StringRef capability) {
  auto [name, value] = capability.split('=');
  for (const Number &number : numbers)
    if (name == number.name)
      return !value.getAsInteger(10, this->*number.field) && this->*number.field > 0;
  for (const Flag &flag : flags)
    if (capability == flag.name)
      return this->*flag.field = true;
  return false;
}
