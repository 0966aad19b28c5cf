//===- SentencePieceTest.cpp - Tokenizers made of SentencePiece models -------===//
//
// test/Tokenizer/make-sentencepiece.py makes the vectors with SentencePiece itself.
//
//===----------------------------------------------------------------------===//
#include "lib/Formats/HuggingFace/TokenizerFiles.h"
#include "lib/Formats/SentencePiece/SentencePieceModel.h"
#include "lib/Support/Base64.h"
#include "test/Unit/TemporaryFolder.h"
#include "test/Unit/Tokenizer/Samples.h"
#include <algorithm>
#include <cstdlib>

using namespace rapt;
using namespace rapt::test;

namespace {

/// A vector's directory: its own, removed at the end.
class Directory {
public:
  explicit Directory(const std::string &vector) {
    root = *json::parse(readFile(inSource("/test/Tokenizer/sentencepiece/" + vector + ".json")));
    for (const auto &[name, content] : *root.find("files")->asObject())
      write(name, *decodeBase64(*content.asString()));
  }

  void write(const std::string &name, const std::string &content) {
    std::ofstream(path / name, std::ios::binary) << content;
  }
  void erase(const std::string &name) { std::filesystem::remove(path / name); }
  std::string content(const std::string &name) { return readFile(path / name); }

  /// The files that ModelDescription reads beside config.json, completed.
  huggingface::SideFiles complete(const std::string &modelType) {
    huggingface::SideFiles files;
    notes.clear();
    for (const char *name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json"})
      if (std::filesystem::exists(path / name))
        files.emplace(name, content(name));
    Status status = huggingface::completeTokenizer(path, modelType, files, notes);
    error = status ? "" : status.error().message;
    return files;
  }
  huggingface::SideFiles complete() { return complete(*root.find("model_type")->asString()); }

  json::Value root;
  std::vector<std::string> notes;
  std::string error;
  const TemporaryFolder own;
  const std::filesystem::path path = own.path;
};

std::unique_ptr<Tokenizer> open(const huggingface::SideFiles &files) {
  auto text = [&](const char *name) {
    auto file = files.find(name);
    return file == files.end() ? std::string_view() : std::string_view(file->second);
  };
  auto made = Tokenizer::create({.tokenizerJson = text("tokenizer.json"),
                                 .tokenizerConfig = text("tokenizer_config.json"),
                                 .specialTokensMap = text("special_tokens_map.json")});
  EXPECT_TRUE(made) << made.error().message;
  return made ? std::move(*made) : nullptr;
}

std::vector<int32_t> numbers(const json::Value &list) {
  std::vector<int32_t> ids;
  for (const json::Value &id : *list.asArray())
    ids.push_back(int32_t(*id.asInteger()));
  return ids;
}

std::vector<std::string> vectors() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(inSource("/test/Tokenizer/sentencepiece")))
    names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

class SentencePieceVectors : public testing::TestWithParam<std::string> {};

TEST_P(SentencePieceVectors, MatchIdsAndTextsOfTheReference) {
  Directory directory(GetParam());
  huggingface::SideFiles files = directory.complete();
  ASSERT_TRUE(directory.notes.empty()) << directory.notes[0];
  std::unique_ptr<Tokenizer> tokenizer = open(files);
  ASSERT_TRUE(tokenizer);
  size_t cases = 0;
  for (const json::Value &item : *directory.root.find("cases")->asArray()) {
    const std::string &text = *item.find("text")->asString();
    ++cases;
    if (const json::Value *second = item.find("pair")) {
      auto pair = tokenizer->encodePair(text, *second->asString());
      ASSERT_TRUE(pair) << pair.error().message;
      EXPECT_EQ(pair->ids, numbers(*item.find("ids")));
      EXPECT_EQ(pair->types, numbers(*item.find("types")));
      continue;
    }
    const std::vector<int32_t> bare = numbers(*item.find("bare"));
    EXPECT_EQ(idsOf(*tokenizer, text), numbers(*item.find("ids"))) << "text: '" << text << "'";
    EXPECT_EQ(idsOf(*tokenizer, text, false), bare) << "text: '" << text << "'";
    if (const std::string *expected = item.find("decoded")->asString())
      EXPECT_EQ(*tokenizer->decode(bare, false), *expected) << "text: '" << text << "'";
  }
  EXPECT_GT(cases, 20u);
}

INSTANTIATE_TEST_SUITE_P(Small, SentencePieceVectors, testing::ValuesIn(vectors()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// The one note that is given for a directory whose tokenizer cannot be made.
std::string noteOf(Directory &directory, const std::string &modelType) {
  huggingface::SideFiles files = directory.complete(modelType);
  EXPECT_FALSE(files.contains("tokenizer.json"));
  EXPECT_EQ(directory.notes.size(), 1u);
  return directory.notes.empty() ? "" : directory.notes[0].substr(directory.path.string().size() + 1);
}

constexpr const char *idsOnly = "; the compiled model will take and give ids only";

TEST(SentencePiece, ClassOrModelTypeTellsTheTokenizer) {
  Directory directory("t5");
  EXPECT_EQ(idsOf(*open(directory.complete("mt5")), "x").back(), 1);
  directory.write("tokenizer_config.json", R"({"tokenizer_class": "MT5TokenizerFast", "extra_ids": 3})");
  std::unique_ptr<Tokenizer> tokenizer = open(directory.complete("llama"));
  EXPECT_TRUE(tokenizer->tokenId("<extra_id_2>"));
  EXPECT_FALSE(tokenizer->tokenId("<extra_id_3>"));
  const std::string advice = "; AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) writes the "
                             "tokenizer.json that is read";
  directory.write("tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer"})");
  EXPECT_EQ(noteOf(directory, "t5"), "spiece.model: no tokenizer is made of it for GPT2Tokenizer" + advice + idsOnly);
  directory.write("tokenizer_config.json", "{}");
  EXPECT_EQ(noteOf(directory, "gpt2"), "spiece.model: no tokenizer is made of it for gpt2" + advice + idsOnly);
}

TEST(SentencePiece, OtherFilesComeFirst) {
  Directory directory("t5");
  huggingface::SideFiles files{{"tokenizer.json", "{}"}};
  EXPECT_TRUE(huggingface::completeTokenizer(directory.path, "t5", files, directory.notes));
  EXPECT_EQ(files.at("tokenizer.json"), "{}");
  directory.write("vocab.json", "{}"); // of merges.txt
  EXPECT_FALSE(directory.complete().contains("tokenizer.json"));
  EXPECT_TRUE(directory.notes.empty());
}

TEST(SentencePiece, FilesBesideChangeTokens) {
  Directory directory("t5");
  directory.write("special_tokens_map.json", R"({"pad_token": "<nothing>", "additional_special_tokens": ["<x>"]})");
  directory.write("added_tokens.json", R"({"<x>": 900, "<y>": 901})");
  huggingface::SideFiles files = directory.complete();
  EXPECT_FALSE(files.contains("added_tokens.json"));
  std::unique_ptr<Tokenizer> tokenizer = open(files);
  EXPECT_EQ(idsOf(*tokenizer, "<x><y>"), (std::vector<int32_t>{900, 901, 1}));
  EXPECT_TRUE(tokenizer->isSpecial(900));
  EXPECT_FALSE(tokenizer->isSpecial(901));
  EXPECT_EQ(tokenizer->specialIds().padding, 902); // no token had that role's text
  EXPECT_EQ(tokenizer->specialIds().end, 1);
  directory.write("added_tokens.json", R"({"<x>": -1})");
  EXPECT_EQ(noteOf(directory, "t5"),
            std::string("spiece.model: T5Tokenizer: added_tokens.json: the id of token '<x>' is not an id") + idsOnly);
}

TEST(SentencePiece, LaterStretchesWithoutSpace) {
  Directory directory("t5");
  const std::vector<int32_t> always = idsOf(*open(directory.complete()), "text</s>text", false);
  directory.write("tokenizer_config.json", R"({"tokenizer_class": "T5Tokenizer", "legacy": false})");
  std::unique_ptr<Tokenizer> tokenizer = open(directory.complete());
  EXPECT_NE(idsOf(*tokenizer, "text</s>text", false), always);
  EXPECT_EQ(*tokenizer->decode(idsOf(*tokenizer, "text</s>text", false), false), "text</s>text");
}

TEST(SentencePiece, TargetsOfMarianMayHaveAVocabularyOfTheirOwn) {
  Directory directory("marian");
  std::filesystem::copy(directory.path / "source.spm", directory.path / "target.spm");
  directory.write("target_vocab.json", R"({"</s>": 0, "<unk>": 1, "\u2581text": 2, "<pad>": 3})");
  directory.write("tokenizer_config.json", R"({"source_lang": "en", "target_lang": "de", "separate_vocabs": true})");
  huggingface::SideFiles files = directory.complete();
  EXPECT_FALSE(files.contains("vocab.json"));
  auto target = load(files.at("target_tokenizer.json"));
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(idsOf(**target, "text text"), (std::vector<int32_t>{2, 2, 0}));
  EXPECT_EQ((*target)->vocabularySize(), 4);
  directory.write("target_vocab.json", "[]");
  EXPECT_EQ(noteOf(directory, "marian"),
            std::string("target.spm: MarianTokenizer: vocab.json, which gives pieces their "
                        "ids, is missing or no object") +
                idsOnly);
  directory.erase("target_vocab.json");
  directory.complete();
  EXPECT_NE(directory.error.find("target_vocab.json"), std::string::npos) << directory.error;
}

TEST(SentencePiece, FaultsOfVocabularies) {
  Directory directory("marian");
  directory.write("vocab.json", R"({"</s>": 0, "<unk>": -4})");
  EXPECT_EQ(noteOf(directory, "marian"), std::string("source.spm: MarianTokenizer: token '<unk>' has id -4") + idsOnly);
  directory.write("vocab.json", R"({"</s>": 0, "a": 1})");
  EXPECT_EQ(noteOf(directory, "marian"),
            std::string("source.spm: MarianTokenizer: unknown text has no token '<unk>'") + idsOnly);
  directory.write("vocab.json", R"({"</s>": 0, "<unk>": 1, "<s>": 0})"); // told by the reader of tokenizer.json
  const std::string made = directory.complete().at("tokenizer.json");
  EXPECT_NE(loadError(made).find("which token"), std::string::npos) << loadError(made);
  Directory many("m2m-100");
  many.write("tokenizer_config.json", R"({"src_lang": "xx"})");
  EXPECT_EQ(noteOf(many, "m2m_100"),
            std::string("sentencepiece.bpe.model: M2M100Tokenizer: token '__xx__', which is put "
                        "around a text, has no id") +
                idsOnly);
}

/// FAIRSEQ_LANGUAGE_CODES of tokenization_m2m_100.py.
TEST(SentencePiece, LanguagesOfM2M100) {
  Directory many("m2m-100");
  many.write("tokenizer_config.json", R"({"language_codes": "m2m100"})");
  const auto usual = open(many.complete());
  many.write("tokenizer_config.json", R"({"language_codes": "wmt21"})");
  const auto eight = open(many.complete());
  ASSERT_TRUE(usual && eight);
  const int32_t first = *usual->tokenId("__af__");
  EXPECT_EQ(*usual->tokenId("__am__"), first + 1);
  EXPECT_EQ(*eight->tokenId("__en__"), first);
  EXPECT_EQ(*eight->tokenId("__de__"), first + 7);
  EXPECT_FALSE(eight->tokenId("__fr__"));
  EXPECT_EQ(eight->encode("")->front(), first);
  many.write("tokenizer_config.json", R"({"language_codes": "other"})");
  EXPECT_EQ(noteOf(many, "m2m_100"),
            std::string("sentencepiece.bpe.model: language_codes is other, must be m2m100 or wmt21") + idsOnly);
}

/// A field of a protocol buffer: a number as a varint, or bytes with their length.
std::string field(int number, uint64_t value) {
  std::string bytes;
  auto varint = [&](uint64_t rest) {
    for (; rest >= 128; rest >>= 7)
      bytes += char((rest & 127) | 128);
    bytes += char(rest);
  };
  varint(uint64_t(number) << 3);
  varint(value);
  return bytes;
}
std::string field(int number, const std::string &content) {
  std::string bytes = field(number, content.size());
  bytes[0] = char(number << 3 | 2);
  return bytes + content;
}

TEST(SentencePiece, FaultsOfModels) {
  auto errorOf = [](const std::string &bytes) {
    auto model = sentencepiece::readModel(bytes);
    return model ? "" : model.error().message;
  };
  const std::string unknown = field(1, field(1, "<unk>") + field(3, 2)), piece = field(1, field(1, "a"));
  const std::string advice = "; add the tokenizer.json that belongs to it";
  EXPECT_EQ(errorOf(unknown + piece), "");
  EXPECT_EQ(errorOf(""), "is no SentencePiece model");
  EXPECT_EQ(errorOf("IQ== 0\nIg== 1\n"), "is no SentencePiece model"); // a tiktoken's
  EXPECT_EQ(errorOf(unknown + field(1, 7)), "is no SentencePiece model");
  EXPECT_EQ(errorOf(unknown + field(2, "\xff")), "is no SentencePiece model");
  EXPECT_EQ(errorOf(piece), "has 0 pieces for unknown text, not 1");
  EXPECT_EQ(errorOf(unknown + unknown), "has 2 pieces for unknown text, not 1");
  for (const std::string &bad : {field(3, 1), field(1, ""), field(1, std::string(513, 'a')),
                                 field(1, "a") + field(3, 7), field(1, "a") + std::string("\x15\0\0\xc0\x7f", 5)})
    EXPECT_EQ(errorOf(unknown + field(1, bad)),
              "piece 1 has no text, more than 512 bytes of it, no finite score or an unknown kind");
  EXPECT_EQ(errorOf(unknown + field(2, field(3, 3))), "a model of whole words or characters is not supported" + advice);
  EXPECT_EQ(errorOf(unknown + field(2, field(24, 1))), "a space behind a word as part of it is not supported" + advice);
  EXPECT_EQ(errorOf(unknown + field(3, field(5, 0))),
            "spaces that are not written as U+2581 are not supported" + advice);
  EXPECT_EQ(errorOf(unknown + field(5, field(2, "x"))),
            "a map of characters for written text is not supported" + advice);
}

TEST(SentencePiece, DamagedModelsAreRefusedOrRead) {
  Directory directory("t5");
  const std::string whole = directory.content("spiece.model");
  for (size_t at = 0; at < whole.size(); at += 3) {
    std::string damaged = whole.substr(0, at);
    (void)sentencepiece::readModel(damaged);
    damaged = whole;
    damaged[at] = char(damaged[at] ^ 0x81);
    directory.write("spiece.model", damaged);
    huggingface::SideFiles files = directory.complete();
    if (auto made = files.find("tokenizer.json"); made != files.end())
      (void)loadError(made->second);
    EXPECT_EQ(files.contains("tokenizer.json"), directory.notes.empty());
  }
  directory.write("spiece.model", "version https://git-lfs.github.com/spec/v1\n");
  directory.complete();
  EXPECT_NE(directory.error.find("Git LFS"), std::string::npos) << directory.error;
}

} // namespace
