//===- Bart.cpp - The bart, mbart, pegasus, marian and m2m_100 families ---------===//
//
// Lewis et al. 2020, "BART: Denoising Sequence-to-Sequence Pre-training", and relatives
// of the same parts: mbart (Liu et al. 2020) and pegasus (Zhang et al. 2020) with norms
// first, marian (Junczys-Dowmunt et al. 2018) and m2m_100 (Fan et al. 2020; nllb) with
// sinusoids instead of learned positions.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/EncoderDecoderConfig.h"
#include <map>

using namespace rapt;
using namespace rapt::importing;

ImportedModule importing::importBart(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                     const ImportOptions &options) {
  static const std::map<std::string_view, EncoderDecoderDefaults> relatives = {
      {"bart", {.architecture = "Bart"}},
      {"mbart", {.architecture = "MBart", .isNormFirst = true}},
      {"pegasus",
       {.architecture = "Pegasus",
        .isNormFirst = true,
        .hasEmbeddingNorm = false,
        .firstPosition = 0,
        .padToken = 0,
        .startToken = 0,
        .endToken = 1}},
      {"marian",
       {.architecture = "Marian",
        .headClass = "MTModel",
        .hasEmbeddingNorm = false,
        .isLearned = false,
        .firstPosition = 0,
        .mayHaveTwoTables = true,
        .vocabulary = 58101,
        .padToken = 58100,
        .startToken = 58100,
        .endToken = 0}},
      {"m2m_100",
       {.architecture = "M2M100",
        .isNormFirst = true,
        .hasEmbeddingNorm = false,
        .isLearned = false,
        .firstPosition = -1,
        .vocabulary = 128112,
        .activation = "relu",
        .isScaled = true}}};
  return importEncoderDecoder(context, model, options, readEncoderDecoder(model, relatives.at(model.modelType())));
}
