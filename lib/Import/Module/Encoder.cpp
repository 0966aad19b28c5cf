//===- Encoder.cpp - The module and the entry of an encoder of texts ----------===//
#include "lib/Import/Module/Encoder.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

EncoderModule::EncoderModule(MLIRContext &context, const ModelFacts &facts, const huggingface::ModelDescription &model,
                             const ParameterSet &parameters, const ImportOptions &options, const MoreOfEntry &more,
                             ArrayRef<EntryBuffer> outputs)
    : module(context, facts, model, parameters) {
  module.dim("tokens", 1, options.maxTokens);
  module.dim("rows", 1, options.maxBatch);
  for (const DimBounds &dim : more.dims)
    module.dim(dim.name, dim.least, dim.most);
  module.declareParameters();
  Type list = tensorOf({ShapedType::kDynamic}, builder().getI32Type());
  SmallVector<EntryBuffer> all{{"input_ids", list, {"tokens"}, facts.vocabulary}};
  all.append(more.inputs.begin(), more.inputs.end());
  all.push_back({"row_begin", list, {"rows+1"}});
  forward = module.beginEntry("forward", all, outputs);
}

OwningOpRef<ModuleOp> EncoderModule::finish(ValueRange outputs) {
  module.endEntry(outputs);
  return module.take();
}
