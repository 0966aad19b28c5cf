//===- TargetInfo.cpp - TargetInfo to and from the IR -----------------------------===//
#include "lib/TargetInfo/TargetInfo.h"
#include "dialect/Attn/AttnDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace rapt;

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
  info.byteDot = attr.contains("byte_dot");
  return info;
}

DictionaryAttr TargetInfo::toAttr(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<NamedAttribute> fields{
      builder.getNamedAttr("vector_bytes", builder.getI64IntegerAttr(vectorBytes)),
      builder.getNamedAttr("vector_registers", builder.getI64IntegerAttr(vectorRegisters))};
  if (byteDot)
    fields.push_back(builder.getNamedAttr("byte_dot", builder.getUnitAttr()));
  return builder.getDictionaryAttr(fields);
}
