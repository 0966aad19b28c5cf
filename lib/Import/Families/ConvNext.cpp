//===- ConvNext.cpp - The convnext and convnextv2 families -----------------------===//
//
// Liu et al. 2022, "A ConvNet for the 2020s". Woo et al. 2023, "ConvNeXt V2: Co-designing
// and Scaling ConvNets with Masked Autoencoders": layers have no scales, and normalize the
// responses between their two matmuls.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Specs/ConvSpec.h"

using namespace rapt;
using namespace rapt::importing;

static void readStageSizes(huggingface::ConfigReader &config, ConvSpec &spec) {
  const size_t count = size_t(config.getInt("num_stages", 1, mostStages, 4));
  const std::vector<int64_t> widths = readStages(config, "hidden_sizes", count, 1, 1 << 16, {96, 192, 384, 768});
  const std::vector<int64_t> depths = readStages(config, "depths", count, 1, 1 << 12, {3, 3, 9, 3});
  for (size_t stage = 0; stage < count; ++stage)
    spec.stages.push_back({widths[stage], depths[stage]});
}

/// Keys and names that both families have.
static ConvSpec readSpec(huggingface::ModelDescription &model, const std::string &architecture) {
  huggingface::ConfigReader &config = model.config();
  ConvSpec spec;
  readStageSizes(config, spec);
  readPatches(config, 224, 4, spec);
  spec.prefix = "convnext.";
  spec.kernel = "embeddings.patch_embeddings";
  spec.activation = activationNamed(config.getEnum("hidden_act", activationNames(), "gelu"));
  spec.finalNorm.epsilon = config.getPositive("layer_norm_eps", 1, 1e-12);
  readImageHead(model, architecture, spec);
  spec.harmlessKeys = harmless::keys({harmless::backbone}, {"drop_path_rate"});
  return spec;
}

ImportedModule importing::importConvNext(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                         const ImportOptions &options) {
  ConvSpec spec = readSpec(model, "ConvNext");
  // Training begins with the value.
  spec.hasScale = model.config().getFloat("layer_scale_init_value", 0, 1e6, 1e-6) > 0;
  return importConv(context, model, options, spec);
}

ImportedModule importing::importConvNextV2(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                           const ImportOptions &options) {
  ConvSpec spec = readSpec(model, "ConvNextV2");
  spec.prefix = "convnextv2.";
  spec.hasScale = false;
  spec.hasResponseNorm = true;
  return importConv(context, model, options, spec);
}
