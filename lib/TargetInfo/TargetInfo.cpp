//===- TargetInfo.cpp - TargetInfo to and from the IR -----------------------------===//
#include "lib/TargetInfo/TargetInfo.h"
#include "dialect/Attn/AttnDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace rapt;

namespace {
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
  auto read = [&](StringRef name, int64_t &field) {
    if (auto value = attr.getAs<IntegerAttr>(name))
      field = value.getInt();
  };
  read("vector_bytes", info.vectorBytes);
  read("vector_registers", info.vectorRegisters);
  for (const Flag &flag : flags)
    info.*flag.field = attr.contains(flag.name);
  return info;
}

DictionaryAttr TargetInfo::toAttr(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<NamedAttribute> fields{
      builder.getNamedAttr("vector_bytes", builder.getI64IntegerAttr(vectorBytes)),
      builder.getNamedAttr("vector_registers", builder.getI64IntegerAttr(vectorRegisters))};
  for (const Flag &flag : flags)
    if (this->*flag.field)
      fields.push_back(builder.getNamedAttr(flag.name, builder.getUnitAttr()));
  return builder.getDictionaryAttr(fields);
}
