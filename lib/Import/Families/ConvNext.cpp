//===- ConvNext.cpp - The convnext family ---------------------------------------===//
//
// Liu et al. 2022, "A ConvNet for the 2020s".
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Blocks.h"
#include "lib/Import/ConvSpec.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Heads.h"
#include "lib/Import/Stages.h"

using namespace rapt;
using namespace rapt::importing;

static void readStageSizes(huggingface::ConfigReader &config, ConvSpec &spec) {
  const size_t count = size_t(config.getInt("num_stages", 1, mostStages, 4));
  const std::vector<int64_t> widths = readStages(config, "hidden_sizes", count, 1, 1 << 16, {96, 192, 384, 768});
  const std::vector<int64_t> depths = readStages(config, "depths", count, 1, 1 << 12, {3, 3, 9, 3});
  for (size_t stage = 0; stage < count; ++stage)
    spec.stages.push_back({widths[stage], depths[stage]});
}

static VisionHead readImageHead(huggingface::ModelDescription &model, const std::string &architecture) {
  const std::string base = architecture + "Model", classifier = architecture + "ForImageClassification";
  const HeadName<VisionHead> heads[] = {{base, VisionHead::None}, {classifier, VisionHead::Classification}};
  return readHead<VisionHead>(model, heads, VisionHead::None);
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importConvNext(mlir::MLIRContext &context,
                                                                      huggingface::ModelDescription &model,
                                                                      const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  ConvSpec spec;
  readStageSizes(config, spec);
  VisionSpec patches;
  readPatches(config, 224, 4, patches);
  spec.image = patches.image, spec.patch = patches.patch, spec.channels = patches.channels;
  spec.activation = activationNamed(config.getEnum("hidden_act", activationNames(), "gelu"));
  spec.finalNorm.epsilon = config.getPositive("layer_norm_eps", 1, 1e-12);
  spec.hasScale = config.getFloat("layer_scale_init_value", 0, 1e6, 1e-6) > 0; // which training begins with
  spec.head = readImageHead(model, "ConvNext");
  spec.labels = spec.head == VisionHead::Classification ? readLabelCount(config) : 0;
  spec.harmlessKeys = {
      "drop_path_rate",
      // of a backbone, as are the next
      "out_features",
      "out_indices",
      "stage_names",
  };
  return importConv(context, model, options, spec);
}
