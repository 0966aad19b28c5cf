//===- PrecedenceTest.cpp - Files that contradict each other -----------------===//
#include "lib/Formats/HuggingFace/Precedence.h"
#include "lib/Support/DirectoryKeys.h"
#include "test/Unit/TemporaryFolder.h"
#include <fstream>
#include <gtest/gtest.h>

using namespace rapt;
using namespace rapt::huggingface;

static std::string settledTokenizer(const char *usual, const std::string &config, SideFiles files) {
  ConfigReader reader(*json::parse(config), "config.json");
  settleTokenizer({usual, ""}, reader, files);
  auto file = files.find("tokenizer_config.json");
  return file == files.end() ? "" : file->second;
}

/// PreTrainedTokenizerBase._from_pretrained reads special_tokens_map.json last, unless the configuration has
/// added_tokens_decoder.
TEST(Precedence, OfSpecialTokens) {
  const std::string map = R"({"pad_token": "<m>", "mask_token": null})";
  EXPECT_EQ(settledTokenizer("", "{}",
                             {{"tokenizer_config.json", R"({"pad_token":"<c>","mask_token":"<k>"})"},
                              {"special_tokens_map.json", map}}),
            R"({"pad_token":"<m>","mask_token":"<k>"})");
  const std::string decoder = R"({"pad_token":"<c>","added_tokens_decoder":{}})";
  EXPECT_EQ(settledTokenizer("", "{}", {{"tokenizer_config.json", decoder}, {"special_tokens_map.json", map}}),
            decoder);
  EXPECT_EQ(settledTokenizer("", "{}", {{"special_tokens_map.json", map}}), R"({"pad_token":"<m>"})");
  // A file that is no object is left to its reader.
  EXPECT_EQ(settledTokenizer("", "{}", {{"tokenizer_config.json", "["}, {"special_tokens_map.json", map}}), "[");
}

/// AutoTokenizer.from_pretrained: tokenizer_config.json, then config.json, then the type.
TEST(Precedence, OfTheTokenizersClass) {
  const SideFiles own = {{"tokenizer.json", "{}"}, {"tokenizer_config.json", R"({"tokenizer_class":"A"})"}};
  const std::string named = R"({"tokenizer_class": "B"})";
  EXPECT_EQ(settledTokenizer("GPTNeoXTokenizer", named, own), R"({"tokenizer_class":"A"})");
  EXPECT_EQ(settledTokenizer("GPTNeoXTokenizer", named, {{"tokenizer.json", "{}"}}), R"({"tokenizer_class":"B"})");
  EXPECT_EQ(settledTokenizer("GPTNeoXTokenizer", "{}", {{"tokenizer.json", "{}"}}),
            R"({"tokenizer_class":"GPTNeoXTokenizer"})");
  EXPECT_EQ(settledTokenizer("", "{}", {{"tokenizer.json", "{}"}}), "");
  EXPECT_EQ(settledTokenizer("GPTNeoXTokenizer", "{}", {}), ""); // the older files tell their class
}

/// GenerationConfig.from_model_config.
TEST(Precedence, OfGeneration) {
  auto settled = [](const std::string &config, SideFiles files = {}) {
    ConfigReader reader(*json::parse(config), "config.json");
    settleGeneration(reader, files);
    auto file = files.find("generation_config.json");
    return file == files.end() ? "" : file->second;
  };
  EXPECT_EQ(settled(R"({"min_length": 5, "hidden_size": 8, "eos_token_id": 2, "use_cache": true})"),
            R"({"min_length":5,"_file":"config.json"})");
  EXPECT_EQ(settled(R"({"max_length": 20, "num_beams": null})"), "");
  EXPECT_EQ(settled(R"({"num_beams": 2, "text_config": {"num_beams": 3, "top_k": 4}})"),
            R"({"top_k":4,"num_beams":2,"_file":"config.json"})");
  EXPECT_EQ(settled(R"({"min_length": 5})", {{"generation_config.json", "{}"}}), "{}");
}

namespace {
struct Folder : test::TemporaryFolder {
  void write(const std::string &name, const std::string &text) { std::ofstream(path + "/" + name) << text; }
};
} // namespace

/// GenerationMixin._get_decoder_start_token_id asks the generation configuration.
TEST(Precedence, OfTheFirstTokenOfADecoder) {
  Folder folder;
  std::vector<std::string> notes;
  auto start = [&](const std::string &config) {
    return json::write(withDecoderStart(folder.path, *json::parse(config), notes));
  };
  EXPECT_EQ(start(R"({"decoder_start_token_id": 0})"), R"({"decoder_start_token_id":0})");
  folder.write("generation_config.json", R"({"decoder_start_token_id": 5})");
  EXPECT_EQ(start(R"({"decoder_start_token_id": 5})"), R"({"decoder_start_token_id":5})");
  EXPECT_EQ(start("{}"), R"({"decoder_start_token_id":5})");
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(start(R"({"decoder_start_token_id": 0})"), R"({"decoder_start_token_id":5})");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0],
            folder.path +
                "/generation_config.json: decoder_start_token_id is 5, that of config.json 0; the former counts");
  folder.write("generation_config.json", R"({"decoder_start_token_id": null})");
  EXPECT_EQ(start(R"({"decoder_start_token_id": 0})"), R"({"decoder_start_token_id":0})");
}

/// ImageProcessingMixin.get_image_processor_dict and AutoImageProcessor.from_pretrained.
TEST(Precedence, OfProcessors) {
  Folder folder;
  std::vector<std::string> notes;
  auto settled = [&](const char *usual, SideFiles files) {
    EXPECT_TRUE(settleProcessor(folder.path, {"", usual}, files, notes));
    auto file = files.find("preprocessor_config.json");
    return file == files.end() ? "" : file->second;
  };
  const SideFiles older = {{"preprocessor_config.json", R"({"size":7})"}};
  EXPECT_EQ(settled("BeitImageProcessor", older), R"({"size":7,"image_processor_type":"BeitImageProcessor"})");
  EXPECT_EQ(settled("", older), R"({"size":7})");
  const std::string named = R"({"feature_extractor_type":"ViTFeatureExtractor"})";
  EXPECT_EQ(settled("BeitImageProcessor", {{"preprocessor_config.json", named}}), named);
  EXPECT_EQ(settled("BeitImageProcessor", {}), "");
  folder.write("processor_config.json",
               R"({"image_processor": {"size": 9, "image_processor_type": "X"}, "feature_extractor": {"n_fft": 4}})");
  EXPECT_EQ(settled("BeitImageProcessor", {}), R"({"size":9,"image_processor_type":"X"})");
  EXPECT_EQ(settled("WhisperFeatureExtractor", {}), R"({"n_fft":4})");
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(settled("BeitImageProcessor", older), R"({"size":9,"image_processor_type":"X"})");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], folder.path + "/processor_config.json and preprocessor_config.json differ; the former counts, as "
                                    "in transformers 5");
  folder.write("processor_config.json", R"({"processor_class": "P"})");
  EXPECT_EQ(settled("", older), R"({"size":7})");
  folder.write("processor_config.json", "[");
  SideFiles files;
  EXPECT_FALSE(settleProcessor(folder.path, {}, files, notes));
}

/// Tokenizers read chat_template.jinja and their configuration, processors chat_template.json, too.
TEST(Precedence, OfTemplates) {
  Folder folder;
  auto settled = [&](SideFiles files) {
    EXPECT_TRUE(settleTemplate(folder.path, files));
    auto file = files.find("chat_template.jinja");
    return file == files.end() ? "" : file->second;
  };
  const std::string own = R"({"chat_template": "c"})", processor = "preprocessor_config.json";
  EXPECT_EQ(settled({{"tokenizer_config.json", own}}), "");
  folder.write("chat_template.json", R"({"chat_template": {"default": "j", "tool_use": "t"}})");
  EXPECT_EQ(settled({}), "j");
  EXPECT_EQ(settled({{"tokenizer_config.json", own}}), "");
  EXPECT_EQ(settled({{"tokenizer_config.json", own}, {processor, "{}"}}), "j");
  EXPECT_EQ(settled({{"chat_template.jinja", "x"}, {processor, "{}"}}), "x");
  folder.write("chat_template.json", R"({"chat_template": 1})");
  SideFiles files;
  Status status = settleTemplate(folder.path, files);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("neither a string nor an object with a \"default\""), std::string::npos);
}

/// Transformer.__init__ of sentence-transformers 6.
TEST(Precedence, OfLowerCase) {
  auto lowered = [](const std::string &normalizer) {
    return *withLowerCase({{"tokenizer.json", R"({"normalizer":)" + normalizer + "}"}});
  };
  const std::string bert = R"({"type":"BertNormalizer"})", lower = R"({"type":"Lowercase"})";
  auto sequence = [](const std::string &list) {
    return R"({"normalizer":{"type":"Sequence","normalizers":[)" + list + "]}}";
  };
  EXPECT_EQ(lowered("null"), sequence(lower));
  EXPECT_EQ(lowered(bert), sequence(lower + "," + bert));
  EXPECT_EQ(lowered(R"({"type":"Sequence","normalizers":[)" + bert + "]}"), sequence(lower + "," + bert));
  EXPECT_EQ(lowered(lower), R"({"normalizer":)" + lower + "}");
  EXPECT_FALSE(withLowerCase({}));
}

/// A key that nothing reads is reported, unless it says nothing or is known to be harmless.
TEST(Precedence, ReportsKeysThatNothingReads) {
  auto notes = [](const std::string &config, const std::string &tokenizer = "{}") {
    std::vector<std::string> lines;
    reportKeys({{"tokenizer_config.json", config}, {"tokenizer.json", tokenizer}}, "d", lines);
    std::string all;
    for (const std::string &line : lines)
      all += line + "\n";
    return all;
  };
  EXPECT_EQ(notes(R"({"unheard_of": 1, "other": false, "third": {}, "padding_side": "left", "do_lower_case": true,
                      "errors": "replace", "clean_up_tokenization_spaces": true})"),
            "d/tokenizer_config.json: nothing reads unheard_of (1), which may change ids or text\n");
  EXPECT_EQ(notes(R"({"errors": "strict"})"),
            "d/tokenizer_config.json: nothing reads errors (\"strict\"), which changes ids or text in transformers\n");
  EXPECT_EQ(notes(R"({"clean_up_tokenization_spaces": true})", R"({"model": {"type": "Unigram"}})"),
            "d/tokenizer_config.json: nothing reads clean_up_tokenization_spaces (true), which changes ids or text in "
            "transformers\n");
  EXPECT_EQ(notes("["), "");
}
