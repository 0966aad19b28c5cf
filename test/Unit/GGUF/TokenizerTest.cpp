//===- TokenizerTest.cpp - Tokenizers of GGUF files, and what is refused -----------===//
//
// test/Tokenizer/gguf compares the ids of whole tokenizers.
//
//===----------------------------------------------------------------------===//
#include "lib/Formats/GGUF/Tokenizer.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/Tokenizer.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace rapt;
using namespace rapt::gguf;

namespace {

Value text(std::string value) { return Value(ValueType::String, std::move(value)); }
Value texts(Value::Texts list) { return Value(ValueType::String, std::move(list)); }
Value integer(int64_t number) { return Value(ValueType::UInt32, number); }
Value integers(Value::Integers list) { return Value(ValueType::Int32, std::move(list)); }
Value number(double number) { return Value(ValueType::Float32, number); }
Value numbers(Value::Numbers list) { return Value(ValueType::Float32, std::move(list)); }
Value flag(bool value) { return Value(ValueType::Bool, int64_t(value)); }

/// The metadata of a file, key by key.
class Keys {
public:
  Keys(std::map<std::string, Value> values) : values(std::move(values)) {}
  Keys with(const std::string &name, Value value) const {
    Keys other = *this;
    other.values.insert_or_assign(
        name.starts_with("tokenizer.") || name.starts_with("general.") ? name : "tokenizer.ggml." + name,
        std::move(value));
    return other;
  }
  Keys without(const std::string &name) const {
    Keys other = *this;
    other.values.erase("tokenizer.ggml." + name);
    return other;
  }
  Metadata metadata() const {
    Metadata made("a.gguf");
    for (const auto &[key, value] : values)
      made.add(key, value);
    return made;
  }

private:
  std::map<std::string, Value> values;
};

/// Byte pairs: "hi" is h and i.
const Keys pairs({{"tokenizer.ggml.model", text("gpt2")},
                  {"tokenizer.ggml.pre", text("gpt-2")},
                  {"tokenizer.ggml.tokens", texts({"h", "i", "hi", "<|endoftext|>", "<user>", "</s>"})},
                  {"tokenizer.ggml.token_type", integers({1, 1, 1, 3, 4, 1})},
                  {"tokenizer.ggml.merges", texts({"h i"})}});

/// SentencePiece's byte pairs, with the mark of a space, U+2581.
const Keys pieces({{"tokenizer.ggml.model", text("llama")},
                   {"tokenizer.ggml.tokens", texts({"<unk>", "<s>", "</s>", "<0x0A>", "\u2581", "h", "i", "hi", "  "})},
                   {"tokenizer.ggml.token_type", integers({2, 3, 3, 6, 1, 1, 1, 1, 4})},
                   {"tokenizer.ggml.scores", numbers({0, 0, 0, 0, -9, -9, -9, -1, 0})}});

const Keys likelihoods = pieces.with("model", text("t5"));

const Keys words({{"tokenizer.ggml.model", text("bert")},
                  {"tokenizer.ggml.tokens", texts({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[unused0]", "\u2581hi", "s"})},
                  {"tokenizer.ggml.token_type", integers({3, 3, 3, 3, 1, 1, 1})}});

class Files {
public:
  explicit Files(const Keys &keys) : made(tokenizerFiles(keys.metadata(), notes)) {}
  std::string error() const { return made ? "" : made.error().message; }
  const huggingface::SideFiles &all() const { return *made; }
  json::Value json(const char *name) const { return *json::parse(made->at(name)); }
  std::string member(const char *file, const char *key) const {
    const json::Value root = json(file);
    const json::Value *value = root.find(key);
    return value ? json::write(*value) : "";
  }
  std::vector<int32_t> ids(const std::string &text, bool special = true) const {
    auto tokenizer = Tokenizer::create(
        {.tokenizerJson = made->at("tokenizer.json"), .tokenizerConfig = made->at("tokenizer_config.json")});
    EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
    EncodeOptions options;
    options.addSpecialTokens = special;
    auto ids = (*tokenizer)->encode(text, options);
    EXPECT_TRUE(ids) << (ids ? "" : ids.error().message);
    return ids ? *ids : std::vector<int32_t>{-1};
  }
  std::vector<std::string> notes;

private:
  Expected<huggingface::SideFiles> made;
};

std::string errorOf(const Keys &keys) { return Files(keys).error(); }
std::string ends(const Keys &keys) { return Files(keys).member("generation_config.json", "eos_token_id"); }
using Ids = std::vector<int32_t>;
const std::string advice = "; give the folder of the original's tokenizer by --tokenizer=DIR";

} // namespace

TEST(Tokens, WhatIsNone) {
  auto refused = [](const Keys &keys, const std::string &key, const std::string &what) {
    EXPECT_EQ(errorOf(keys), "a.gguf: key \"tokenizer.ggml." + key + "\": " + what);
  };
  EXPECT_EQ(errorOf(pairs), "");
  refused(pairs.without("tokens"), "tokens", "is missing or empty");
  refused(pairs.with("tokens", texts({})), "tokens", "is missing or empty");
  refused(pairs.with("tokens", texts({"h", "", "hi", "x", "y", "z"})), "tokens", "token 1 ('') is empty" + advice);
  refused(pairs.with("tokens", texts({"h", "\xe2\x96", "hi", "x", "y", "z"})), "tokens",
          "token 1 ('\\xe2\\x96') is not valid UTF-8" + advice);
  refused(pairs.with("tokens", texts({"h", "i", "hi", "h", "y", "z"})), "tokens",
          "token 3 ('h') is token 0, too" + advice);
  refused(pairs.with("token_type", integers({1, 1})), "token_type", "has 2 types of 6 tokens");
  refused(pairs.with("token_type", integers({1, 1, 1, 7, 1, 1})), "token_type",
          "token 3 ('<|endoftext|>') is of type 7, which is none");
  refused(pieces.with("scores", numbers({0, 0})), "scores", "has 2 scores of 9 tokens");
  refused(pieces.without("scores"), "scores", "is missing; texts are cut into tokens by their scores");
  refused(pieces.with("scores", numbers({0, 0, 0, 0, -9, std::nan(""), -9, -1, 0})), "scores",
          "the score of token 5 ('h') is not finite");
  refused(
      pieces.with("tokens", texts({"<unk>", "<s>", "</s>", "<0x0A>", "\u2581", std::string(513, 'h'), "i", "x", "  "})),
      "tokens", "token 5 has 513 bytes; the limit is 512");
  for (const char *byte : {"<0x0a>", "<0x-1>", "<0xA>", "<0x00A>", "x0x0A>"})
    refused(pieces.with("tokens", texts({"<unk>", "<s>", "</s>", byte, "\u2581", "h", "i", "hi", "  "})), "tokens",
            std::string("token 3 ('") + byte + "') is a byte's, which are spelled <0x00> to <0xFF>" + advice);
}

// FAULT 106
TEST(Tokens, IdsBeyondTheVocabulary) {
  for (const char *key : {"bos_token_id", "eos_token_id", "eot_token_id", "eom_token_id", "unknown_token_id",
                          "seperator_token_id", "padding_token_id", "cls_token_id", "mask_token_id"}) {
    const std::string front = std::string("a.gguf: key \"tokenizer.ggml.") + key + "\": ";
    EXPECT_EQ(errorOf(pairs.with(key, integer(5))), "");
    EXPECT_EQ(errorOf(pairs.with(key, integer(6))), front + "id 6, but there are 6 tokens");
    EXPECT_EQ(errorOf(pairs.with(key, integer(-1))), front + "id -1, but there are 6 tokens");
  }
  EXPECT_EQ(errorOf(pairs.with("suppress_tokens", integers({0, 6}))),
            "a.gguf: key \"tokenizer.ggml.suppress_tokens\": has id 6, but there are 6 tokens");
}

TEST(Tokens, KindsOfTokenizers) {
  EXPECT_EQ(
      errorOf(pairs.with("model", text("rwkv"))),
      "a.gguf: key \"tokenizer.ggml.model\": \"rwkv\" is not supported; expected llama, gpt2, bert, gemma4 or t5" +
          advice);
  for (const Keys &keys :
       {pairs.with("model", text("none")), pairs.with("model", text("no_vocab")), pairs.without("model")}) {
    const Files files(keys);
    EXPECT_EQ(files.error(), "");
    EXPECT_EQ(files.all().count("tokenizer.json"), 0u);
    EXPECT_EQ(files.all().count("tokenizer_config.json"), 1u);
  }
}

TEST(Tokens, AWholeFileIsPreferred) {
  const std::string whole = R"({"model": {"type": "WordLevel", "vocab": {"x": 0}, "unk_token": "x"}})";
  const Files files(pairs.with("model", text("rwkv")).with("tokenizer.huggingface.json", text(whole)));
  EXPECT_EQ(files.error(), "");
  EXPECT_EQ(files.all().at("tokenizer.json"), whole);
}

TEST(Merges, WhatIsNone) {
  auto refused = [](const Keys &keys, const std::string &what) {
    EXPECT_EQ(errorOf(keys), "a.gguf: key \"tokenizer.ggml.merges\": " + what);
  };
  refused(pairs.without("merges"), "is missing; tokens are merged in its order");
  for (const std::string merge : {"hi", "h ", " hi"})
    refused(pairs.with("merges", texts({merge})),
            "merge 0 ('" + merge + "') is not two tokens with a space between them");
  refused(pairs.with("merges", texts({"h i", "h x"})), "merge 1 ('h x') names 'x', which is no token" + advice);
  refused(pairs.with("merges", texts({"x h"})), "merge 0 ('x h') names 'x', which is no token" + advice);
  refused(pairs.with("merges", texts({"i h"})), "merge 0 ('i h') names 'ih', which is no token" + advice);
}

/// Merges are cut at the first space behind the first character, which may be one.
TEST(Merges, OfSpaces) {
  const Keys spaces = pairs.with("tokens", texts({" ", "i", " i", "  i", "<user>", "x"}));
  EXPECT_EQ(errorOf(spaces.with("merges", texts({"  i", "   i"}))), "");
  EXPECT_EQ(errorOf(spaces.with("merges", texts({"  x"}))),
            "a.gguf: key \"tokenizer.ggml.merges\": merge 0 ('  x') names ' x', which is no token" + advice);
}

TEST(PreTokenizers, NamesThatAreNotKnown) {
  EXPECT_EQ(
      errorOf(pairs.with("pre", text("kimi-k2"))),
      "a.gguf: key \"tokenizer.ggml.pre\": \"kimi-k2\" is not supported (gpt-2, mpt, roberta-bpe, llama-bpe, dbrx, "
      "qwen2, deepseek-r1-qwen, qwen35, starcoder, command-r, falcon, deepseek-llm, deepseek-coder, deepseek-v3, "
      "tekken, gpt-4o, tiny_aya, bloom and others like them are)" +
          advice);
  EXPECT_EQ(errorOf(pairs.without("pre")), "a.gguf: key \"tokenizer.ggml.pre\": is missing, so how texts are cut into "
                                           "words is not known" +
                                               advice);
  EXPECT_EQ(errorOf(pairs.with("pre", text("default"))), "a.gguf: key \"tokenizer.ggml.pre\": is \"default\", so how "
                                                         "texts are cut into words is not known" +
                                                             advice);
}

/// A vocabulary of `size` tokens with one of them at an id.
static Keys vocabularyOf(size_t size, size_t id, const std::string &token) {
  Value::Texts list;
  for (size_t i = 0; i < size; ++i)
    list.push_back(i == id ? token : "t" + std::to_string(i));
  return pairs.without("pre").without("token_type").with("tokens", texts(std::move(list))).with("merges", texts({}));
}

TEST(PreTokenizers, VocabulariesProveThem) {
  const struct {
    size_t size, id;
    const char *token, *name, *pattern;
  } proofs[] = {{128256, 128000, "<|begin_of_text|>", "llama-bpe", "{1,3}"},
                {151700, 151644, "<|im_start|>", "qwen2", "NFC"},
                {50257, 50256, "<|endoftext|>", "gpt-2", "\"use_regex\":true"},
                {65024, 0, ">>TITLE<<", "falcon", "Contiguous"},
                {49152, 1, "<fim_prefix>", "starcoder", "\"individual_digits\":true"},
                {50432, 1, "<|padding|>", "mpt", "NFC"}};
  for (const auto &proof : proofs) {
    const Files files(vocabularyOf(proof.size, proof.id, proof.token));
    ASSERT_EQ(files.error(), "") << proof.name;
    EXPECT_NE(files.all().at("tokenizer.json").find(proof.pattern), std::string::npos) << proof.name;
    ASSERT_EQ(files.notes.size(), 1u);
    EXPECT_EQ(files.notes[0], std::string("a.gguf: key \"tokenizer.ggml.pre\": is missing; taken for \"") + proof.name +
                                  "\", whose vocabulary this is");
    // The same token elsewhere proves nothing.
    EXPECT_NE(errorOf(vocabularyOf(proof.size, proof.id + 1, proof.token)), "") << proof.name;
  }
  EXPECT_NE(errorOf(vocabularyOf(50258, 50256, "<|endoftext|>")), "");
}

TEST(PreTokenizers, WordsThatAreTokens) {
  const Keys unmerged = pairs.with("merges", texts({}));
  for (const char *name : {"llama-bpe", "tekken"})
    EXPECT_EQ(Files(unmerged.with("pre", text(name))).ids("hi"), Ids{2}) << name;
  for (const char *name : {"gpt-2", "dbrx", "smaug-bpe"})
    EXPECT_EQ(Files(unmerged.with("pre", text(name))).ids("hi"), (Ids{0, 1})) << name;
}

/// Rules that no vector of test/Tokenizer has.
TEST(PreTokenizers, CutsOfWords) {
  // U+00AC, a symbol and no punctuation, is spelled by two bytes,
  const Keys plain = pairs.without("token_type");
  const Keys marks = plain.with("tokens", texts({"1", "11", "!", "\u00c2", "\u00ac", "!\u00c2"}))
                         .with("merges", texts({"1 1", "! \u00c2"}));
  EXPECT_EQ(Files(marks.with("pre", text("dbrx"))).ids("11!\u00ac"), (Ids{1, 5, 4}));
  EXPECT_EQ(Files(marks.with("pre", text("deepseek-coder"))).ids("11!\u00ac"), (Ids{0, 0, 2, 3, 4}));
  // and so is U+0301, an accent.
  const Keys accents =
      pairs.with("tokens", texts({"h", "\u00cc", "\u0123", "h\u00cc", "y", "x"})).with("merges", texts({"h \u00cc"}));
  EXPECT_EQ(Files(accents.with("pre", text("qwen2"))).ids("h\u0301h"), (Ids{0, 1, 2, 0}));
  EXPECT_EQ(Files(accents.with("pre", text("qwen35"))).ids("h\u0301h"), (Ids{3, 2, 0}));
}

TEST(Frames, AbsentIdsAreNone) {
  EXPECT_EQ(Files(pairs).ids("hi"), Ids{2});
  EXPECT_EQ(Files(pairs).member("tokenizer_config.json", "bos_token"), "");
  EXPECT_EQ(Files(pairs.with("pre", text("llama-bpe"))).ids("hi"), Ids{2});
  EXPECT_EQ(Files(pairs.with("pre", text("llama-bpe")).with("bos_token_id", integer(3))).ids("hi"), (Ids{3, 2}));
  EXPECT_EQ(Files(pairs.with("bos_token_id", integer(3))).ids("hi"), Ids{2});
  EXPECT_EQ(Files(pairs.with("bos_token_id", integer(3)).with("add_bos_token", flag(true))).ids("hi"), (Ids{3, 2}));
  EXPECT_EQ(Files(pairs.with("eos_token_id", integer(3)).with("add_eos_token", flag(true))).ids("hi"), (Ids{2, 3}));
  EXPECT_EQ(errorOf(pairs.with("add_bos_token", flag(true))),
            "a.gguf: key \"tokenizer.ggml.add_bos_token\": is true, but no token is the bos_token");
  EXPECT_EQ(errorOf(pairs.with("add_sep_token", flag(true))),
            "a.gguf: key \"tokenizer.ggml.add_sep_token\": is true, but no token is the sep_token");
}

TEST(Frames, OfSentencePiece) {
  EXPECT_EQ(Files(pieces).ids("hi"), (Ids{1, 4, 7}));
  EXPECT_EQ(Files(pieces.with("add_space_prefix", flag(false))).ids("hi"), (Ids{1, 7}));
  EXPECT_EQ(Files(pieces.with("add_bos_token", flag(false))).ids("hi"), (Ids{4, 7}));
  EXPECT_EQ(Files(likelihoods).ids("hi"), (Ids{7, 2}));
  EXPECT_EQ(Files(likelihoods.with("add_space_prefix", flag(true))).ids("hi"), (Ids{4, 7, 2}));
}

/// Tokens of users always match, control tokens where special ones may, and normal ones of such a text never.
TEST(Frames, TokensWithinTexts) {
  EXPECT_EQ(Files(pairs).ids("hi<user>hi<|endoftext|>"), (Ids{2, 4, 2, 3}));
  EXPECT_EQ(Files(pieces).ids("hi  hi", false), (Ids{4, 7, 8, 4, 7}));
  const Files files(
      pairs.with("tokens", texts({"<", "u", "x", "<|endoftext|>", "<u", "</s>"})).with("merges", texts({})));
  EXPECT_EQ(files.ids("<u"), Ids{4});
}

/// A padding_token_id of 0 is that of any text in a vocabulary of byte pairs.
TEST(Frames, ANormalTokenPadsNothing) {
  EXPECT_EQ(Files(pairs.with("padding_token_id", integer(0))).member("tokenizer_config.json", "pad_token"), "");
  EXPECT_EQ(Files(pairs.with("padding_token_id", integer(3))).member("tokenizer_config.json", "pad_token"),
            "\"<|endoftext|>\"");
  EXPECT_EQ(Files(pairs.with("padding_token_id", integer(3))).member("generation_config.json", "pad_token_id"), "3");
}

TEST(Frames, MarksOfPhi3TakeSpaces) {
  auto marked = [](const char *user) {
    return pieces
        .with("tokens",
              texts({"<unk>", "<s>", "</s>", "<0x0A>", "\u2581", "h", "i", "hi", "<|end|>", "<|endoftext|>", user}))
        .with("token_type", integers({2, 3, 3, 6, 1, 1, 1, 1, 3, 3, 3}))
        .with("scores", numbers({0, 0, 0, 0, -9, -9, -9, -1, 0, 0, 0}));
  };
  EXPECT_EQ(Files(marked("<|user|>")).ids("<|end|> \nhi", false), (Ids{8, 4, 7}));
  EXPECT_EQ(Files(marked("<|user|>")).ids("<|endoftext|>\nhi", false), (Ids{9, 4, 3, 7}));
  EXPECT_EQ(Files(marked("<|x|>")).ids("<|end|>\nhi", false), (Ids{8, 4, 3, 7}));
}

TEST(WordPieces, WhatIsMissing) {
  EXPECT_EQ(Files(words).ids("His"), (Ids{2, 5, 6, 3}));
  auto missing = [](const std::string &key, const std::string &token, int64_t id) {
    Value::Integers kinds = {3, 3, 3, 3, 1, 1, 1};
    Value::Texts list = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[unused0]", "\u2581hi", "s"};
    list[size_t(id)] = "[x]";
    EXPECT_EQ(errorOf(words.with("tokens", texts(list))),
              "a.gguf: key \"tokenizer.ggml." + key + "\": is missing, and there is no control token " + token);
    EXPECT_EQ(errorOf(words.with("tokens", texts(list)).with(key, integer(id))), "");
  };
  missing("unknown_token_id", "[UNK]", 1);
  missing("cls_token_id", "[CLS]", 2);
  missing("seperator_token_id", "[SEP]", 3);
}

TEST(WordPieces, Case) {
  const Keys cased = words.with("tokens", texts({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[unused0]", "\u2581Hi", "s"}));
  const Files files(cased);
  EXPECT_EQ(files.ids("His"), (Ids{2, 5, 6, 3}));
  EXPECT_EQ(files.notes, (std::vector<std::string>{"a.gguf: key \"tokenizer.ggml.normalizer.lowercase\": is missing; "
                                                   "letters keep their case, as the vocabulary has capital ones"}));
  EXPECT_EQ(Files(cased.with("normalizer.lowercase", flag(true))).ids("His"), (Ids{2, 1, 3}));
  EXPECT_EQ(Files(words.with("normalizer.lowercase", flag(false))).ids("His"), (Ids{2, 1, 3}));
  EXPECT_EQ(Files(words).ids("h\u00efs"), (Ids{2, 5, 6, 3}));
  EXPECT_EQ(Files(words.with("normalizer.strip_accents", flag(false))).ids("h\u00efs"), (Ids{2, 1, 3}));
}

// FAULT 107
TEST(Unigram, MapsOfCharacters) {
  auto refused = [](Value::Integers bytes, const std::string &what) {
    EXPECT_EQ(errorOf(likelihoods.with("precompiled_charsmap", integers(std::move(bytes)))),
              "a.gguf: key \"tokenizer.ggml.precompiled_charsmap\": " + what);
  };
  refused({4, 0, 0, 0, 300}, "has 300, which is no byte");
  refused({4, 0, 0}, "has 3 bytes, and its index alone 4 behind the first 4");
  refused({4, 0, 0, 0, 1, 2, 3, 4}, "has 8 bytes, and its index alone 4 behind the first 4");
  refused({-1, -1, -1, -1, 0}, "has 5 bytes, and its index alone 4294967295 behind the first 4");
  EXPECT_EQ(errorOf(likelihoods.with("precompiled_charsmap", integers({4, 0, 0, 0, 0, 0, 0, 0, 0}))), "");
}

TEST(Templates, ByTheirNames) {
  const Keys one = pairs.with("tokenizer.chat_template", text("{{ x }}"));
  EXPECT_EQ(Files(one).member("tokenizer_config.json", "chat_template"), "\"{{ x }}\"");
  EXPECT_EQ(Files(pairs).member("tokenizer_config.json", "chat_template"), "");
  const Keys two = one.with("tokenizer.chat_template.tool_use", text("{{ y }}"));
  const std::string both = R"([{"name":"default","template":"{{ x }}"},{"name":"tool_use","template":"{{ y }}"}])";
  EXPECT_EQ(Files(two).member("tokenizer_config.json", "chat_template"), both);
  EXPECT_EQ(
      Files(two.with("tokenizer.chat_templates", texts({"tool_use"}))).member("tokenizer_config.json", "chat_template"),
      both);
  EXPECT_EQ(errorOf(two.with("tokenizer.chat_templates", texts({"rag"}))),
            "a.gguf: key \"tokenizer.chat_templates\": names \"rag\", but there is no key tokenizer.chat_template.rag");
  EXPECT_EQ(errorOf(pairs.with("tokenizer.chat_template", text("\xff"))),
            "a.gguf: key \"tokenizer.chat_template\": is not valid UTF-8");
  EXPECT_EQ(errorOf(pairs.with("tokenizer.chat_template", integer(1))),
            "a.gguf: key \"tokenizer.chat_template\": its value is of type u32, but must be a string");
  Keys many = pairs;
  for (int i = 0; i < 64; ++i)
    many = many.with("tokenizer.chat_template.t" + std::to_string(100 + i), text("x"));
  EXPECT_EQ(errorOf(many), "");
  EXPECT_EQ(errorOf(many.with("tokenizer.chat_template.u", text("x"))),
            "a.gguf: key \"tokenizer.chat_template.u\": is one template more than the 64 that can be");
}

TEST(Ends, ByIdsAndTexts) {
  EXPECT_EQ(ends(pairs), "[3]"); // by its text; </s> is a normal token
  EXPECT_EQ(
      ends(pairs.with("eos_token_id", integer(1)).with("eot_token_id", integer(4)).with("eom_token_id", integer(2))),
      "[1,2,3,4]");
  EXPECT_EQ(ends(pairs.without("token_type")), "[3,5]");
  EXPECT_EQ(ends(pieces), "[2]");
  const Keys harmony = pairs.with("tokens", texts({"h", "i", "hi", "<|end|>", "<|return|>", "<|call|>"}))
                           .with("token_type", integers({1, 1, 1, 3, 3, 3}));
  EXPECT_EQ(ends(harmony), "[4,5]");
  EXPECT_EQ(ends(harmony.with("eos_token_id", integer(3))), "[3,4,5]");
  EXPECT_EQ(ends(harmony.with("tokens", texts({"h", "i", "hi", "<|end|>", "<|return|>", "<|x|>"}))), "[3,4]");
  std::vector<std::string> notes;
  EXPECT_EQ(*generationFile(pairs.with("pre", text("none")).metadata(), notes), "{\"eos_token_id\":[3]}");
  // Texts that are none do not matter beside another tokenizer.
  const Keys twice = pairs.with("tokens", texts({"h", "h", "", "<|endoftext|>", "\xff", "x"}));
  EXPECT_EQ(*generationFile(twice.metadata(), notes), "{\"eos_token_id\":[3]}");
}

TEST(Sampling, Defaults) {
  auto settings = [](const Keys &keys) { return *json::parse(Files(keys).all().at("generation_config.json")); };
  EXPECT_EQ(settings(pairs).find("do_sample"), nullptr);
  const json::Value warm = settings(pairs.with("general.sampling.temp", number(0.5))
                                        .with("general.sampling.top_k", integer(20))
                                        .with("general.sampling.top_p", number(0.75))
                                        .with("general.sampling.penalty_repeat", number(1.5)));
  EXPECT_EQ(json::write(warm), R"({"eos_token_id":[3],"temperature":0.5,"top_k":20,"top_p":0.75,)"
                               R"("repetition_penalty":1.5,"do_sample":true})");
  const json::Value cold =
      settings(pairs.with("general.sampling.temp", number(0)).with("general.sampling.min_p", number(0.5)));
  EXPECT_EQ(json::write(cold), R"({"eos_token_id":[3],"min_p":0.5,"do_sample":false})");
  EXPECT_EQ(Files(pairs.with("general.sampling.mirostat", integer(0))).notes.size(), 0u);
  EXPECT_EQ(Files(pairs.with("general.sampling.mirostat", integer(2))).notes,
            std::vector<std::string>{"a.gguf: key \"general.sampling.mirostat\": is not supported; it is ignored"});
  EXPECT_EQ(errorOf(pairs.with("general.sampling.top_k", number(NAN))),
            "a.gguf: key \"general.sampling.top_k\": its value is not finite");
  EXPECT_EQ(errorOf(pairs.with("general.sampling.temp", text("hot"))),
            "a.gguf: key \"general.sampling.temp\": its value is of type string, but must be a number");
}
