//===- PrecedenceTest.cpp - Files that contradict each other -----------------===//
#include "lib/Formats/HuggingFace/Precedence.h"
#include "lib/Formats/HuggingFace/ChatTemplates.h"
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
  // Each row of the table.
  for (const DirectoryKey &key : directoryKeys())
    if (key.file == "special_tokens_map.json" && key.use == DirectoryKey::Use::Obeyed) {
      const std::string name(key.name), of = "{\"" + name + "\":";
      EXPECT_EQ(
          settledTokenizer(
              "", "{}", {{"tokenizer_config.json", of + R"("<c>"})"}, {"special_tokens_map.json", of + R"("<m>"})"}}),
          of + R"("<m>"})");
    }
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
  void write(const std::string &name, const std::string &text) {
    std::filesystem::create_directories((path + "/" + name).substr(0, (path + "/" + name).rfind('/')));
    std::ofstream(path + "/" + name) << text;
  }
  void remove(const std::string &name) { std::filesystem::remove(path + "/" + name); }
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
  notes.clear();
  folder.write("processor_config.json", R"({"processor_class": "P", "unheard_of": 1})");
  EXPECT_EQ(settled("", older), R"({"size":7})");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], folder.path + "/processor_config.json: nothing reads unheard_of (1), which may change what the "
                                    "model reads");
  EXPECT_EQ(settled("", {{"preprocessor_config.json", R"({"size": 7, "unheard_of": 1})"}}),
            R"({"size": 7, "unheard_of": 1})");
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[2], folder.path + "/preprocessor_config.json: nothing reads unheard_of (1), which may change what "
                                    "the model reads");
  // Sounds of a model that reads images, too.
  folder.write("processor_config.json", R"({"image_processor": {"size": 9}, "feature_extractor": {"hop_length": 4}})");
  SideFiles both;
  notes.clear();
  EXPECT_TRUE(settleProcessor(folder.path, {"", "Gemma4ImageProcessor", "Gemma4AudioFeatureExtractor"}, both, notes));
  EXPECT_EQ(both["preprocessor_config.json"], R"({"size":9,"image_processor_type":"Gemma4ImageProcessor"})");
  EXPECT_EQ(both[extractorFile], R"({"hop_length":4,"feature_extractor_type":"Gemma4AudioFeatureExtractor"})");
  EXPECT_TRUE(notes.empty());
  folder.write("processor_config.json", "[");
  SideFiles files;
  EXPECT_FALSE(settleProcessor(folder.path, {}, files, notes));
}

namespace {
struct Templates : testing::Test {
  Folder folder;
  std::vector<std::string> notes;
  SideFiles files;

  /// chat_template.jinja, or, where there are several templates, those of tokenizer_config.json.
  std::string settled(SideFiles given) {
    notes.clear();
    files = std::move(given);
    Status status = settleTemplates(folder.path, files, notes);
    if (!status)
      return status.error().message;
    auto file = files.find("chat_template.jinja");
    return file == files.end() ? "" : file->second;
  }
  std::string listed() {
    const Expected<json::Value> config = json::parse(files["tokenizer_config.json"]);
    const json::Value *list = config ? config->find("chat_template") : nullptr;
    return list ? json::write(*list) : "none";
  }
};

const std::string ownTemplate = R"({"chat_template": "c"})", processor = "preprocessor_config.json";
const std::string noDefault = "neither a string nor an object with a \"default\"";
} // namespace

/// Tokenizers read no chat_template.json, which is a processor's, for whom it comes before chat_template.jinja.
TEST_F(Templates, OfOneText) {
  EXPECT_EQ(settled({{"tokenizer_config.json", ownTemplate}}), "");
  EXPECT_EQ(settled({{"tokenizer_config.json", ownTemplate}, {"chat_template.jinja", "x"}}), "x");
  folder.write("chat_template.json", R"({"chat_template": {"default": "j", "tool_use": "t"}, "unheard_of": 1})");
  EXPECT_EQ(settled({{"tokenizer_config.json", ownTemplate}}), "");
  EXPECT_EQ(settled({{"chat_template.jinja", "x"}}), "x");
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(settled({{"tokenizer_config.json", ownTemplate}, {processor, "{}"}}), "j");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], folder.path + "/chat_template.json: nothing reads unheard_of (1), which may change ids or text");
  folder.write("chat_template.json", R"({"chat_template": "j"})");
  EXPECT_EQ(settled({{"chat_template.jinja", "x"}, {processor, "{}"}}), "j");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], folder.path + "/chat_template.json and chat_template.jinja have different chat templates; the "
                                    "former counts, as in transformers 5");
  EXPECT_EQ(settled({{"chat_template.jinja", "j"}, {processor, "{}"}}), "j");
  EXPECT_TRUE(notes.empty());
  folder.write("processor_config.json", R"({"chat_template": "p"})");
  EXPECT_EQ(settled({{"chat_template.jinja", "x"}}), "p");
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[1].find("/processor_config.json and chat_template.json have different chat templates"),
            std::string::npos);
  folder.write("processor_config.json", R"({"chat_template": null})");
  EXPECT_EQ(settled({}), "j");
  folder.write("chat_template.json", R"({"chat_template": 1})");
  EXPECT_NE(settled({}).find(noDefault), std::string::npos);
}

/// additional_chat_templates/NAME.jinja.
TEST_F(Templates, OfAFolder) {
  folder.write("additional_chat_templates/tool_use.jinja", "t");
  folder.write("additional_chat_templates/notes.txt", "n");
  SideFiles both = {{"chat_template.jinja", "x"}, {"tokenizer_config.json", ownTemplate}};
  EXPECT_EQ(settled(both), "");
  EXPECT_EQ(listed(), R"([{"name":"default","template":"x"},{"name":"tool_use","template":"t"}])");
  // The template of tokenizer_config.json is none of them.
  EXPECT_EQ(settled({{"tokenizer_config.json", ownTemplate}}), "");
  EXPECT_EQ(listed(), R"([{"name":"tool_use","template":"t"}])");
  EXPECT_EQ(settled({}), "");
  EXPECT_EQ(listed(), R"([{"name":"tool_use","template":"t"}])");
  // A processor never chooses by tools.
  both.emplace(processor, "{}");
  EXPECT_EQ(settled(both), "x");
  EXPECT_EQ(listed(), R"("c")");
  EXPECT_TRUE(notes.empty());
  folder.write("chat_template.json", R"({"chat_template": "j"})");
  EXPECT_EQ(settled(both), "j");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], folder.path + "/chat_template.json and additional_chat_templates have different chat templates; "
                                    "the former counts; transformers 5 refuses both together");
  // A "default" of the folder comes before chat_template.jinja, but of a processor behind it.
  folder.remove("chat_template.json");
  folder.remove("additional_chat_templates/tool_use.jinja");
  folder.write("additional_chat_templates/default.jinja", "d");
  EXPECT_EQ(settled({{"chat_template.jinja", "x"}}), "d");
  EXPECT_EQ(settled(both), "x");
  EXPECT_EQ(settled({}), "d");
  // What is no object is left to its reader.
  folder.write("additional_chat_templates/rag.jinja", "r");
  EXPECT_EQ(settled({{"tokenizer_config.json", "["}}), "");
  EXPECT_EQ(files["tokenizer_config.json"], "[");
}

TEST_F(Templates, OfAFolderThatIsWrong) {
  folder.write("additional_chat_templates/bad.jinja", "\xFF");
  EXPECT_NE(settled({}).find("/additional_chat_templates/bad.jinja: is not valid UTF-8"), std::string::npos);
  folder.write("additional_chat_templates/bad.jinja", "<!doctype html>");
  EXPECT_NE(settled({}).find("/additional_chat_templates/bad.jinja: this is an HTML page"), std::string::npos);
  for (int i = 0; i < 64; ++i)
    folder.write("additional_chat_templates/" + std::to_string(i) + ".jinja", "");
  EXPECT_NE(settled({}).find("/additional_chat_templates: has 65 templates; the limit is 64"), std::string::npos);
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
  auto notes = [](const std::string &file, const std::string &content) {
    std::vector<std::string> lines;
    reportTokenizerKeys({{file, content}}, "d", lines);
    std::string all;
    for (const std::string &line : lines)
      all += line + "\n";
    return all;
  };
  const std::string config = "tokenizer_config.json";
  EXPECT_EQ(notes(config, R"({"unheard_of": 1, "other": false, "third": {}, "truncation_side": "left",
                              "do_lower_case": true, "errors": "replace",
                              "fast_tokenizer_files": ["tokenizer.json"]})"),
            "d/tokenizer_config.json: nothing reads unheard_of (1), which may change ids or text\n");
  EXPECT_EQ(notes(config, R"({"offset": 103})"), "");
  EXPECT_EQ(notes(config, R"({"offset": 0})"),
            "d/tokenizer_config.json: nothing reads offset (0), which changes ids or text in transformers\n");
  EXPECT_EQ(notes(config, R"({"errors": "strict"})"),
            "d/tokenizer_config.json: nothing reads errors (\"strict\"), which changes ids or text in transformers\n");
  EXPECT_EQ(notes(config, R"({"fast_tokenizer_files": ["tokenizer.4.0.0.json"]})"),
            "d/tokenizer_config.json: nothing reads fast_tokenizer_files ([\"tokenizer.4.0.0.json\"]), which changes "
            "ids or text in transformers\n");
  EXPECT_EQ(notes("special_tokens_map.json", R"({"unheard_of": "x", "bos_token": "<s>", "image_token": "<i>"})"),
            "d/special_tokens_map.json: nothing reads unheard_of (\"x\"), which may change ids or text\n");
  EXPECT_EQ(notes(config, "["), "");
}
