//===- DefaultClasses.cpp -------------------------------------------------------------===//
//
// Facts of transformers 5: tokenization_auto.py, image_processing_auto.py and
// feature_extraction_auto.py.
//
//===----------------------------------------------------------------------------------===//
#include "lib/Import/Families/Import.h"
#include "lib/Support/Words.h"
#include <algorithm>

using namespace rapt;

namespace {

/// A class, and the types that have it.
struct Row {
  std::string_view name, types;
};

// Classes that replace parts of a tokenizer.json, or name tokens.
constexpr Row tokenizers[] = {
    {"BertTokenizer", "bert convbert distilbert electra layoutlm megatron-bert mobilebert squeezebert"},
    {"MPNetTokenizer", "mpnet"},
    {"GPT2Tokenizer", "codegen gpt2 gpt_bigcode gpt_neo gptj granite granitemoe olmo3 opt phi starcoder2"},
    {"GPTNeoXTokenizer", "gpt_neox mpt olmo olmo2 olmoe stablelm"},
    {"Qwen2Tokenizer", "qwen2 qwen2_moe qwen3 qwen3_moe"},
    {"RobertaTokenizer", "bart longformer roberta"},
    {"SiglipTokenizer", "siglip"},
    {"GemmaTokenizer", "gemma gemma2 gemma3 gemma3_text"},
    {"WhisperTokenizer", "whisper"},
};

constexpr Row processors[] = {
    {"BeitImageProcessor", "beit"},
    {"BitImageProcessor", "dinov2 dinov2_with_registers"},
    {"CLIPImageProcessor", "clip llava"},
    {"ConvNextImageProcessor", "convnext convnextv2"},
    {"DINOv3ViTImageProcessor", "dinov3_vit"},
    {"DeiTImageProcessor", "deit"},
    {"Gemma4ImageProcessor", "gemma4"},
    {"Gemma4UnifiedImageProcessor", "gemma4_unified"},
    {"Qwen2VLImageProcessor", "qwen3_5 qwen3_5_moe"},
    {"SiglipImageProcessor", "siglip"},
    {"ViTImageProcessor", "swin swinv2 vit"},
    {"WhisperFeatureExtractor", "whisper"},
};

constexpr Row extractors[] = {
    {"Gemma4AudioFeatureExtractor", "gemma4"},
    {"Gemma4UnifiedAudioFeatureExtractor", "gemma4_unified"},
};

std::string_view classIn(std::span<const Row> rows, std::string_view modelType) {
  for (const Row &row : rows)
    if (const std::vector<std::string_view> types = words(row.types);
        std::find(types.begin(), types.end(), modelType) != types.end())
      return row.name;
  return {};
}

} // namespace

huggingface::DefaultClasses importing::defaultClassesOf(std::string_view modelType) {
  return {classIn(tokenizers, modelType), classIn(processors, modelType), classIn(extractors, modelType)};
}
