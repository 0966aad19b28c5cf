//===- ReadKeysTest.cpp - Readers do what the table says --------------------------===//
#include "lib/Audio/LogMel.h"
#include "lib/Formats/HuggingFace/Adapter.h"
#include "lib/Formats/HuggingFace/SentenceModules.h"
#include "lib/Generation/GenerationConfig.h"
#include "lib/Image/Preprocess.h"
#include "lib/Support/DirectoryKeys.h"
#include "test/Unit/TemporaryFolder.h"
#include <fstream>
#include <gtest/gtest.h>
#include <set>

using namespace rapt;
using Use = DirectoryKey::Use;

/// A value that no key may have but one that nobody reads.
static const std::string strange = R"({"strange": [7]})";

static std::string messageOf(const auto &result) { return result ? std::string() : result.error().message; }

TEST(DirectoryKeys, AreListedOnce) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const DirectoryKey &key : directoryKeys()) {
    EXPECT_TRUE(seen.emplace(key.file, key.name).second) << key.file << ": " << key.name;
    EXPECT_EQ(key.rule.empty(), key.use == Use::Harmless) << key.file << ": " << key.name;
  }
  EXPECT_EQ(findDirectoryKey("generation_config.json", "top_k")->use, Use::Obeyed);
  EXPECT_TRUE(isHarmlessKey("tokenizer_config.json", "truncation_side"));
  EXPECT_FALSE(isHarmlessKey("tokenizer_config.json", "do_lower_case"));
  EXPECT_EQ(findDirectoryKey("tokenizer_config.json", "unknown"), nullptr);
}

/// A file that the table gains needs a test of its rows.
TEST(DirectoryKeys, OfEachFileHaveATest) {
  const std::set<std::string_view> here = {"generation_config.json",
                                           "preprocessor_config.json",
                                           "sentence_bert_config.json",
                                           "1_Pooling/config.json",
                                           "2_Dense/config.json",
                                           "adapter_config.json",
                                           "config_sentence_transformers.json"},
                                   // TokenizerKeysTest.cpp, PrecedenceTest.cpp
      beside = {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",        "processor_config.json",
                "chat_template.json",    "chat_template.jinja",     "additional_chat_templates"},
                                   // test/Import/bert/sentence.test, the classifiers of test/Execute/bert_tasks.py
      elsewhere = {"modules.json", "config.json"};
  for (const DirectoryKey &key : directoryKeys())
    EXPECT_EQ(here.contains(key.file) + beside.contains(key.file) + elsewhere.contains(key.file), 1) << key.file;
}

/// Holds the rows of `file` against `read`, which gives the error of a file with one key: a key that is read says what
/// is wrong with a strange value, a harmless one takes it. `ignored` are rows of another reader.
static void holdRows(std::string_view file, const std::function<std::string(std::string_view)> &read,
                     const std::set<std::string_view> &ignored = {}) {
  for (const DirectoryKey &key : directoryKeys()) {
    if (key.file != file || ignored.contains(key.name))
      continue;
    const std::string message = read(key.name);
    if (key.use == Use::Harmless)
      EXPECT_EQ(message, "") << file << ": " << key.name;
    else
      EXPECT_NE(message.find(key.name), std::string::npos) << file << ": " << key.name << ": " << message;
  }
  EXPECT_NE(read("unheard_of").find("unheard_of"), std::string::npos) << file;
}

static std::string member(std::string_view key) { return "\"" + std::string(key) + "\": " + strange; }

TEST(DirectoryKeys, OfGenerationAreRead) {
  // decoder_start_token_id is the importer's; a list of temperatures is speech's.
  holdRows("generation_config.json",
           [](std::string_view key) { return messageOf(readGenerationConfig("{" + member(key) + "}")); },
           {"decoder_start_token_id"});
}

static bool isOfSound(const DirectoryKey &key) { return key.rule.find("of sound") != key.rule.npos; }

TEST(DirectoryKeys, OfProcessorsAreRead) {
  std::set<std::string_view> ofSound, ofImages;
  for (const DirectoryKey &key : directoryKeys())
    if (key.file == "preprocessor_config.json" && key.use != Use::Harmless && key.name != "feature_extractor_type")
      (isOfSound(key) ? ofSound : ofImages).insert(key.name);
  std::set<std::string_view> ofOthers = ofSound;
  const std::set<std::string_view> ofSquares = {"max_soft_tokens", "patch_size", "pooling_kernel_size"};
  ofOthers.insert(ofSquares.begin(), ofSquares.end());
  ofOthers.insert({"crop_pct", "feature_extractor_type", "return_attention_mask", "mel_filters"});
  holdRows(
      "preprocessor_config.json",
      [](std::string_view key) { return messageOf(image::readPreprocessing("{" + member(key) + "}")); }, ofOthers);
  EXPECT_NE(messageOf(image::readPreprocessing(R"({"image_processor_type": "ConvNextImageProcessor", )" +
                                               member("crop_pct") + "}"))
                .find("crop_pct"),
            std::string::npos);
  for (std::string_view key : ofSquares)
    EXPECT_NE(
        messageOf(image::readPreprocessing(R"({"image_processor_type": "Gemma4ImageProcessor", )" + member(key) + "}"))
            .find(key),
        std::string::npos);
  ofImages.insert({"return_attention_mask", "mel_filters"}); // of the right kind
  holdRows(
      "preprocessor_config.json",
      [](std::string_view key) {
        const std::string type =
            key == "feature_extractor_type" ? "" : R"("feature_extractor_type": "WhisperFeatureExtractor", )";
        return messageOf(audio::readExtraction("{" + type + member(key) + "}"));
      },
      ofImages);
}

/// Files of sentence-transformers, of which one has a further key.
static std::string readSentences(const std::string &file, std::string_view key) {
  test::TemporaryFolder folder;
  auto write = [&](const std::string &name, std::string text) {
    if (name == file)
      text.insert(1, member(key) + (text.size() > 2 ? ", " : ""));
    std::filesystem::create_directories((folder.path + "/" + name).substr(0, (folder.path + "/" + name).rfind('/')));
    std::ofstream(folder.path + "/" + name) << text;
  };
  const std::string type = "sentence_transformers.models.";
  std::ofstream(folder.path + "/modules.json")
      << R"([{"path": "", "type": ")" << type << R"(Transformer"}, {"path": "1_Pooling", "type": ")" << type
      << R"(Pooling"}, {"path": "2_Dense", "type": ")" << type << R"(Dense"}])";
  write("sentence_bert_config.json", "{}");
  write("1_Pooling/config.json", key.starts_with("pooling_mode") ? "{}" : R"({"pooling_mode": "mean"})");
  std::string dense;
  for (const char *size : {"in_features", "out_features"})
    if (key != size)
      dense += std::string(dense.empty() ? "" : ", ") + "\"" + size + "\": 4";
  write("2_Dense/config.json", "{" + dense + "}");
  write("config_sentence_transformers.json", "{}");
  huggingface::ConfigReader model(json::Value(json::Object()), "config.json");
  return messageOf(huggingface::readSentenceModules(model, {folder.path}, 4));
}

TEST(DirectoryKeys, OfSentencesAreRead) {
  for (const char *file : {"sentence_bert_config.json", "1_Pooling/config.json", "2_Dense/config.json",
                           "config_sentence_transformers.json"})
    holdRows(file, [&](std::string_view key) { return readSentences(file, key); });
  // Older versions named the file after the family.
  EXPECT_EQ(readSentences("", ""), "");
}

/// An adapter without tensors, whose configuration has a further key.
static std::string readAdapter(std::string_view key) {
  test::TemporaryFolder folder;
  std::ofstream(folder.path + "/adapter_config.json")
      << "{" << member(key) << (key == "peft_type" ? "" : R"(, "peft_type": "LORA")") << "}";
  huggingface::TensorTable base;
  huggingface::MergedAdapters merged;
  const std::string message = messageOf(huggingface::addAdapter({.directory = folder.path}, base, merged));
  return message.ends_with("no adapter_model.safetensors") ? "" : message;
}

TEST(DirectoryKeys, OfAdaptersAreRead) {
  // The head's class is told where the base model is known: test/Execute/adapters.py.
  holdRows("adapter_config.json", readAdapter, {"auto_mapping", "task_type"});
}
