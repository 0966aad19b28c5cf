//===- Images.cpp - A tower of images in a file of its own ----------------===//
//
// Such files are of llama.cpp's script for LLaVA 1.5: the layers of a clip as far as the language model reads them, and
// a projector of two matrices. Source: that script, and llama.cpp's reader.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/GGUF/Images.h"
#include "lib/Formats/GGUF/Sources.h"
#include "lib/Import/Specs/VisionLanguage.h"
#include <algorithm>

using namespace rapt;
using namespace rapt::importing;

namespace {

constexpr std::string_view ofText = "language_model.", key = "clip.vision.";

struct Part {
  std::string_view file, own;
};
constexpr Part ofModel[] = {
    {"v.class_embd", "embeddings.class_embedding"},
    {"v.patch_embd", "embeddings.patch_embedding"},
    {"v.position_embd", "embeddings.position_embedding"},
    {"v.pre_ln", "pre_layrnorm"}, // as the checkpoints spell it
    {"v.post_ln", "post_layernorm"},
};
constexpr Part ofLayer[] = {
    {"ln1", "layer_norm1"},         {"ln2", "layer_norm2"},         {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"}, {"attn_v", "self_attn.v_proj"}, {"attn_out", "self_attn.out_proj"},
};
constexpr Part ofInner[] = {{"ffn_up", "mlp.fc1"}, {"ffn_down", "mlp.fc2"}};
/// Of older files, which exchange the names of the two.
constexpr Part ofOldInner[] = {{"ffn_down", "mlp.fc1"}, {"ffn_up", "mlp.fc2"}};
constexpr Part ofProjector[] = {{"mm.0", "linear_1"}, {"mm.2", "linear_2"}};

/// The other name of a part of `list`, behind `prefix` and with the end that `name` has, such as ".weight"; empty:
/// none.
std::string renamed(std::string_view prefix, std::span<const Part> list, std::string_view name,
                    std::string_view Part::*from, std::string_view Part::*to) {
  const std::string_view stem = name.substr(0, std::min(name.rfind('.'), name.size()));
  for (const Part &part : list)
    if (part.*from == name || part.*from == stem)
      return std::string(prefix) + std::string(part.*to) + std::string(name.substr((part.*from).size()));
  return "";
}

/// One side's name of a tensor, of the other's: `layers` and `projector` are what names of layers and of the projector
/// begin with there, and `model` those of the rest.
struct Side {
  std::string_view layers, projector, model;
  std::string_view Part::*name;
};
constexpr Side inFile = {"v.blk.", "", "", &Part::file},
               inDirectory = {"vision_tower.vision_model.encoder.layers.", "multi_modal_projector.",
                              "vision_tower.vision_model.", &Part::own};

/// Empty: no such model has the tensor.
std::string renamed(const Side &from, const Side &to, std::string_view name, bool isOld) {
  if (name.starts_with(from.layers)) {
    name.remove_prefix(from.layers.size());
    const size_t dot = std::min(name.find('.'), name.size() - 1);
    const std::string prefix = std::string(to.layers) + std::string(name.substr(0, dot + 1));
    const std::string_view part = name.substr(dot + 1);
    const std::string other = renamed(prefix, ofLayer, part, from.name, to.name);
    return other.empty() ? renamed(prefix, isOld ? ofOldInner : ofInner, part, from.name, to.name) : other;
  }
  for (auto [before, behind, list] : {std::tuple(from.model, to.model, std::span<const Part>(ofModel)),
                                      {from.projector, to.projector, std::span<const Part>(ofProjector)}})
    if (name.starts_with(before))
      if (std::string other = renamed(behind, list, name.substr(before.size()), from.name, to.name); !other.empty())
        return other;
  return "";
}

/// Keys of the file, whose first error is kept.
class Tower {
public:
  explicit Tower(const gguf::File &file) : file(file) {}

  int64_t size(const std::string &name) {
    const std::string whole = std::string(key) + name;
    const std::optional<int64_t> value = take(file.metadata().integer(whole));
    if (!value || *value < 1)
      fail(whole,
           value ? "its value is " + std::to_string(*value) + ", but must be at least 1" : "the file does not have it");
    return value.value_or(1);
  }
  json::Array numbers(const std::string &name, size_t count) {
    const std::string whole = std::string(key) + name;
    const std::optional<gguf::Value::Numbers> values = take(file.metadata().numbers(whole));
    if (!values || values->size() != count)
      fail(whole, "must be " + std::to_string(count) + " numbers");
    json::Array list;
    for (double value : values.value_or(gguf::Value::Numbers()))
      list.emplace_back(gguf::shortestDecimal(float(value)));
    return list;
  }
  double epsilon() {
    const std::string whole = std::string(key) + "attention.layer_norm_epsilon";
    const std::optional<double> value = take(file.metadata().number(whole));
    if (!value)
      fail(whole, "the file does not have it");
    return value.value_or(1);
  }
  bool flag(const std::string &whole) { return take(file.metadata().boolean(whole)).value_or(false); }
  std::string text(const std::string &whole) { return take(file.metadata().text(whole)).value_or(""); }
  bool has(const std::string &whole) const { return file.metadata().find(whole); }

  void fail(const std::string &whole, const std::string &what) {
    if (failure)
      failure = file.metadata().fail(whole, what);
  }
  Status status() const { return failure; }

private:
  template <typename T> std::optional<T> take(Expected<std::optional<T>> value) {
    if (value)
      return std::move(*value);
    if (failure)
      failure = value.error();
    return std::nullopt;
  }
  const gguf::File &file;
  Status failure;
};

/// Fails of towers whose images become other vectors than those of LLaVA 1.5.
void refuseOthers(Tower &tower, int64_t layers, const gguf::File &file) {
  std::string type = tower.text("clip.projector_type");
  type = type.empty() ? tower.text("clip.vision.projector_type") : type;
  if (!type.empty() && type != "mlp")
    tower.fail("clip.projector_type", "\"" + json::printable(type, 40) +
                                          "\" is not supported, only mlp, that of LLaVA 1.5: give the Hugging Face "
                                          "directory of a model that reads images otherwise");
  if (tower.has("clip.vision.image_grid_pinpoints"))
    tower.fail("clip.vision.image_grid_pinpoints", "an image in several parts, as in LLaVA 1.6, is not supported");
  constexpr const char *features = "clip.vision.feature_layer";
  if (!tower.has(features))
    return;
  Expected<std::optional<gguf::Value::Integers>> chosen = file.metadata().integers(features);
  if (chosen && *chosen && (**chosen != gguf::Value::Integers{layers}))
    tower.fail(features, "must be the last layer of the file, " + std::to_string(layers) + ", alone");
}

json::Object describeTower(Tower &tower, const gguf::File &file) {
  const int64_t layers = tower.size("block_count");
  refuseOthers(tower, layers, file);
  const char *activation = tower.flag("clip.use_gelu") ? "gelu" : tower.flag("clip.use_silu") ? "silu" : "quick_gelu";
  return {{"model_type", json::Value("clip_vision_model")},
          {"hidden_size", json::Value(tower.size("embedding_length"))},
          {"intermediate_size", json::Value(tower.size("feed_forward_length"))},
          {"num_attention_heads", json::Value(tower.size("attention.head_count"))},
          {"num_hidden_layers", json::Value(layers)},
          {"image_size", json::Value(tower.size("image_size"))},
          {"patch_size", json::Value(tower.size("patch_size"))},
          {"layer_norm_eps", json::Value(tower.epsilon())},
          {"hidden_act", json::Value(activation)}};
}

/// How images are read: the shorter side has the size, and the middle of the longer one counts, as with the directory.
std::string describeProcessor(Tower &tower) {
  const json::Value size(tower.size("image_size"));
  json::Object processor = {
      {"image_processor_type", json::Value("CLIPImageProcessor")},
      {"size", json::Value(json::Object{{"shortest_edge", size}})},
      {"crop_size", json::Value(json::Object{{"height", size}, {"width", size}})},
      {"image_mean", json::Value(tower.numbers("image_mean", 3))},
      {"image_std", json::Value(tower.numbers("image_std", 3))},
  };
  return json::write(json::Value(std::move(processor)));
}

/// The matrix that is called the second one has as many columns as a vector: the names are exchanged.
bool hasOldNames(const gguf::File &file, const json::Object &tower) {
  const gguf::Tensor *matrix = file.find("v.blk.0.ffn_down.weight");
  const json::Value vector(tower);
  const std::optional<int64_t> width = vector.find("hidden_size")->asInteger(),
                               inner = vector.find("intermediate_size")->asInteger();
  return matrix && !matrix->dims.empty() && width != inner && int64_t(matrix->dims.front()) == width;
}

huggingface::TensorTable nameTower(const gguf::File &file, bool isOld) {
  std::vector<huggingface::StoredTensor> tensors;
  for (const auto &[name, tensor] : file.tensors()) {
    const std::string own = renamed(inFile, inDirectory, name, isOld);
    tensors.push_back(gguf::wholeTensor(tensor, own.empty() ? name : own));
  }
  return huggingface::TensorTable::of(file.path(), std::move(tensors), [isOld](std::string_view name) {
    return renamed(inDirectory, inFile, name, isOld);
  });
}

/// The token that stands for an image in a prompt: its own, or the one of unknown words, which texts never become.
int64_t chooseToken(huggingface::ModelParts &parts, const gguf::File &language) {
  Expected<const gguf::Value::Texts *> tokens = language.metadata().texts("tokenizer.ggml.tokens");
  if (tokens && *tokens)
    if (auto found = std::ranges::find(**tokens, "<image>"); found != (*tokens)->end())
      return found - (*tokens)->begin();
  parts.warnings.push_back(shownPath(language.path()) +
                           ": assuming that token 0, <unk>, stands for an image in a prompt, as there is no <image>: "
                           "--config-key=" +
                           imageIdKeys[0] + "=ID gives another");
  return 0;
}

} // namespace

Status importing::addImages(huggingface::ModelParts &parts, const gguf::File &language, const gguf::File &images) {
  auto refuse = [](const gguf::File &file, const std::string &what) {
    return Error{shownPath(file.path()) + ": " + what};
  };
  RAPT_ASSIGN_OR_RETURN(std::optional<std::string> architecture, images.metadata().text("general.architecture"));
  if (architecture != "clip")
    return refuse(images, "holds no tower of images (general.architecture \"" +
                              json::printable(architecture.value_or(""), 40) + "\"), which --mmproj names");
  const json::Value text(parts.config);
  const json::Value *type = text.find("model_type");
  if (!type || !type->asString() || *type->asString() != "llama")
    return refuse(language, "--mmproj is for language models of the type llama, as LLaVA 1.5 has them");
  RAPT_RETURN_IF_ERROR(gguf::requireReadTypes(images));
  Tower tower(images);
  json::Object ofImages = describeTower(tower, images);
  std::string processor = describeProcessor(tower);
  RAPT_RETURN_IF_ERROR(tower.status());
  parts.tensors.addPrefix(std::string(ofText));
  huggingface::TensorTable named = nameTower(images, hasOldNames(images, ofImages));
  for (const auto &[name, tensor] : named.tensors())
    if (parts.tensors.find(name))
      return refuse(images, "tensor \"" + json::printable(name) + "\" is the language model's");
  parts.tensors.merge(std::move(named));
  const int64_t token = chooseToken(parts, language);
  parts.config = {{"model_type", json::Value("llava")},
                  {"text_config", text},
                  {"vision_config", json::Value(std::move(ofImages))},
                  {"vision_feature_layer", json::Value(int64_t(-1))}, // the file ends with the layer that counts
                  {imageIdKeys[0], json::Value(token)}};
  parts.files["preprocessor_config.json"] = std::move(processor);
  return {};
}
