//===- AdapterInputs.cpp ------------------------------------------------------===//
#include "lib/Import/AdapterInputs.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

MoreOfEntry importing::adapterInputs(MLIRContext &context, const ModelFacts &facts, const ImportOptions &options) {
  if (facts.adapters.empty())
    return {};
  Type i32 = IntegerType::get(&context, 32), list = tensorOf({ShapedType::kDynamic}, i32);
  const int64_t matrices = 1 + int64_t(facts.adapters.size());
  return {.dims = {{"adapted", 0, options.maxTokens}},
          .inputs = {{"adapter_rows", list, {"adapted"}},
                     {"adapter_groups", tensorOf({matrices + 1, 2}, i32), {}},
                     {"adapter_of", list, {"tokens"}}}};
}

void importing::addAdapters(const std::optional<AdapterRows> &adapters, SmallVectorImpl<Value> &shared) {
  if (adapters)
    shared.append({adapters->tokens, adapters->groups, adapters->order});
}

std::optional<AdapterRows> importing::takeAdapters(bool hasAdapters, ValueRange &shared) {
  if (!hasAdapters)
    return std::nullopt;
  AdapterRows adapters{shared[0], shared[1], shared[2]};
  shared = shared.drop_front(adapterValues);
  return adapters;
}

std::vector<std::string> importing::adapterNames(const huggingface::ModelDescription &model) {
  std::vector<std::string> names;
  for (const huggingface::NamedAdapter &adapter : model.namedAdapters())
    names.push_back(adapter.name);
  return names;
}
