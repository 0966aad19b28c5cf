//===- ExpertsConfig.cpp - Keys of mixtures of experts --------------------------===//
#include "lib/Import/Specs/ExpertsConfig.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace rapt;
using namespace rapt::importing;

/// More experts than any model has; the dialect's bound.
static constexpr int64_t kMostExperts = 4096;

static bool hasTensor(const huggingface::ModelDescription &model, llvm::StringRef end) {
  return llvm::any_of(model.tensors().tensors(),
                      [&](const auto &tensor) { return llvm::StringRef(tensor.first).ends_with(end); });
}

ExpertsSpec importing::readExperts(const DecoderSource &source, const DecoderSpec &spec,
                                   const ExpertsDefaults &defaults) {
  huggingface::ConfigReader &config = source.config;
  ExpertsSpec experts;
  experts.number = config.getSize(defaults.number, 1, kMostExperts, defaults.ofAll);
  experts.ofToken = config.getSize({"num_experts_per_tok", "experts_per_token"}, 1, kMostExperts, defaults.ofToken);
  if (experts.ofToken > experts.number)
    config.fail("num_experts_per_tok " + std::to_string(experts.ofToken) + " is more than " +
                defaults.number.names.front() + " " + std::to_string(experts.number));
  experts.each = spec.feedForward;
  experts.each.inner = config.getSize(defaults.inner, 1, 1 << 20, defaults.width);
  experts.each.hasBias = experts.each.hasDownBias = false;
  // Files of transformers 5 may have them as it does in memory.
  const bool isStacked = hasTensor(source.model, ".mlp.experts.gate_up_proj");
  const std::string part = isStacked ? "mlp.experts." : "mlp.experts.{expert}.";
  experts.stacking = isStacked ? Stacking::Rows : Stacking::None;
  experts.each.gate = part + "gate_proj";
  experts.each.up = part + "up_proj";
  experts.each.down = part + "down_proj";
  experts.each.packed = isStacked ? "mlp.experts.gate_up_proj" : "";
  return experts;
}

void importing::readSparseLayers(const DecoderSource &source, DecoderSpec &spec) {
  huggingface::ConfigReader &config = source.config;
  const int64_t step = config.getInt("decoder_sparse_step", 1, 1 << 20, 1);
  std::vector<bool> &ofLayer = spec.experts->ofLayer;
  for (int64_t layer = 0; layer < spec.layers; ++layer)
    ofLayer.push_back((layer + 1) % step == 0);
  const json::Value *dense = config.getRaw("mlp_only_layers");
  const json::Array *list = dense ? dense->asArray() : nullptr;
  if (dense && !list)
    config.fail("mlp_only_layers must be a list of layers");
  for (size_t i = 0; list && i < list->size(); ++i) {
    std::optional<int64_t> layer = (*list)[i].asInteger();
    if (!layer || *layer < 0)
      config.fail("mlp_only_layers has " + json::printable(json::write((*list)[i]), 60) +
                  ", must be numbers of layers");
    else if (*layer < spec.layers)
      ofLayer[*layer] = false;
  }
  if (llvm::all_of(ofLayer, [](bool has) { return has; }))
    ofLayer.clear();
}
