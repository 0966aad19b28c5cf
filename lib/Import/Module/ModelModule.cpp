//===- ModelModule.cpp - The module of a model under construction -------------===//
#include "lib/Import/Module/ModelModule.h"
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/Facts.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

Expected<int64_t> importing::boundPositions(const ImportOptions &options, int64_t positions, const std::string &table) {
  if (options.maxSequenceLength == 0)
    return positions;
  if (options.maxSequenceLength > positions)
    return Error{"sequences of " + std::to_string(options.maxSequenceLength) + " positions were asked for, but " +
                 table + " holds " + std::to_string(positions)};
  return options.maxSequenceLength;
}

EntryBuffer importing::bufferOf(MLIRContext &context, EntryRole role, const BufferFacts &facts) {
  const RoleRow &row = rowOf(role);
  EntryBuffer buffer{.name = row.name, .type = facts.layout, .dims = {}, .limit = facts.limit};
  SmallVector<int64_t> extents(size_t(row.shape.count), ShapedType::kDynamic);
  extents.append(facts.numbers);
  for (int i = 0; i < row.shape.count; ++i)
    buffer.dims.push_back(nameOf(row.shape.dims[i]) + std::string(i == 0 && row.shape.plus ? "+1" : ""));
  Builder builder(&context);
  if (StringRef type = row.type; !type.empty())
    buffer.type = tensorOf(extents, type == "f32" ? Type(builder.getF32Type()) : builder.getI32Type());
  return buffer;
}

static StringRef typeName(artifact::DType dtype) {
  switch (dtype) {
  case artifact::DType::F32:
    return "f32";
  case artifact::DType::BF16:
    return "bf16";
  case artifact::DType::F16:
    return "f16";
  }
  llvm_unreachable("every storage type is handled");
}

ModelModule::ModelModule(MLIRContext &context, const ModelFacts &facts, const huggingface::ModelDescription &model,
                         const ParameterSet &parameters)
    : parameters(parameters), body(&context) {
  Location loc = NameLoc::get(body.getStringAttr(facts.family));
  module = ModuleOp::create(loc, facts.family);
  (*module)->setAttr(attn::AttnDialect::stageAttr, body.getStringAttr("imported"));
  ModelFacts all = facts;
  all.parameters = parameters.elements();
  const BlockFormat *blocks = parameters.mostBlocks();
  all.sourceDtype = blocks ? StringRef(blocks->name) : typeName(model.dtype());
  attn::setFacts(*module, all);
  body.setInsertionPointToEnd(module->getBody());
}

void ModelModule::dim(StringRef name, int64_t least, int64_t most) {
  attn::DimOp::create(body, NameLoc::get(body.getStringAttr(name)), name, least, most);
}

void ModelModule::declareParameters() { parameters.declare(body); }

func::FuncOp ModelModule::beginEntry(StringRef name, ArrayRef<EntryBuffer> inputs, ArrayRef<EntryBuffer> outputs) {
  using attn::AttnDialect;
  body.setInsertionPointToEnd(module->getBody());
  auto types = [](ArrayRef<EntryBuffer> buffers) {
    return llvm::map_to_vector(buffers, [](const EntryBuffer &buffer) { return buffer.type; });
  };
  current = func::FuncOp::create(body, NameLoc::get(body.getStringAttr(name)), name,
                                 body.getFunctionType(types(inputs), types(outputs)));
  current->setAttr(AttnDialect::entryAttr, body.getUnitAttr());
  auto attributes = [&](const EntryBuffer &buffer) {
    SmallVector<StringRef> dims(buffer.dims.begin(), buffer.dims.end());
    NamedAttrList list;
    list.set(AttnDialect::nameAttr, body.getStringAttr(buffer.name));
    if (!dims.empty())
      list.set(AttnDialect::dimsAttr, body.getStrArrayAttr(dims));
    if (buffer.limit)
      list.set(AttnDialect::limitAttr, body.getI64IntegerAttr(*buffer.limit));
    if (buffer.optional)
      list.set(AttnDialect::optionalAttr, body.getUnitAttr());
    return list.getDictionary(body.getContext());
  };
  for (auto [i, input] : llvm::enumerate(inputs))
    current.setArgAttrs(i, attributes(input));
  for (auto [i, output] : llvm::enumerate(outputs))
    current.setResultAttrs(i, attributes(output));
  body.setInsertionPointToStart(current.addEntryBlock());
  return current;
}

void ModelModule::endEntry(ValueRange results) { func::ReturnOp::create(body, current.getLoc(), results); }

RankedTensorType importing::tensorOf(ArrayRef<int64_t> shape, Type element) {
  return RankedTensorType::get(shape, element);
}
