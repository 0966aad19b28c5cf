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
constexpr Number numbers[] = {{"vector_bytes", &TargetInfo::vectorBytes},
                              {"vector_registers", &TargetInfo::vectorRegisters}};
struct Flag {
  StringLiteral name;
  bool TargetInfo::*field;
};
constexpr Flag flags[] = {{"byte_dot", &TargetInfo::byteDot},     {"bf16_dot", &TargetInfo::bf16Dot},
                          {"bf16_round", &TargetInfo::bf16Round}, {"power_scale", &TargetInfo::powerScale},
                          {"amx_bf16", &TargetInfo::amxBf16},     {"amx_int8", &TargetInfo::amxInt8},
                          {"emulated", &TargetInfo::emulated}};
} // namespace

TargetInfo TargetInfo::of(Operation *op) {
  TargetInfo info;
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto attr = module ? module->getAttrOfType<DictionaryAttr>(attn::AttnDialect::targetAttr) : DictionaryAttr();
  if (!attr)
    return info;
  for (const Number &number : numbers)
    if (auto value = attr.getAs<IntegerAttr>(number.name))
      info.*number.field = value.getInt();
  for (const Flag &flag : flags)
    info.*flag.field = attr.contains(flag.name);
  return info;
}

DictionaryAttr TargetInfo::toAttr(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<NamedAttribute> fields;
  for (const Number &number : numbers)
    fields.push_back(builder.getNamedAttr(number.name, builder.getI64IntegerAttr(this->*number.field)));
  for (const Flag &flag : flags)
    if (this->*flag.field)
      fields.push_back(builder.getNamedAttr(flag.name, builder.getUnitAttr()));
  return builder.getDictionaryAttr(fields);
}

std::string TargetInfo::differenceFrom(const TargetInfo &other) const {
  SmallVector<std::string> parts;
  for (const Number &number : numbers)
    if (this->*number.field != other.*number.field)
      parts.push_back((number.name + " = " + Twine(this->*number.field)).str());
  for (const Flag &flag : flags)
    if (this->*flag.field != other.*flag.field)
      parts.push_back(((this->*flag.field ? "" : "no ") + flag.name).str());
  return llvm::join(parts, ", ");
}
