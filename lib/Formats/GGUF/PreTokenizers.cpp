//===- PreTokenizers.cpp - How words are cut, by the names of GGUF files ---------===//
#include "lib/Formats/GGUF/PreTokenizers.h"
#include "lib/Support/WordPatterns.h"
#include "lib/Support/Words.h"
#include <algorithm>

namespace rapt::gguf {

using Kind = WordStage::Kind;

// Patterns of one tokenizer each; Qwen2's and GPT-2's are said elsewhere.
static constexpr std::string_view llama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s+(?!\S)|\s+)";
static constexpr std::string_view qwen35Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s+(?!\S)|\s+)";
static constexpr std::string_view tekkenWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
static constexpr std::string_view o200kWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
static constexpr std::string_view digitsFromTheRight = R"(\d{1,3}(?=(?:\d{3})*\b))";
static constexpr std::string_view bloomWords = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+";
static constexpr std::string_view deepseekLetters =
    "\\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373"
    "\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f"
    "\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-"
    "\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-"
    "\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-"
    "\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-"
    "\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-"
    "\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a"
    "\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2"
    "\U000118a0-\U000118df\U0001e900-\U0001e943]+";
static constexpr std::string_view deepseekMarks = "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+";
static constexpr std::string_view deepseekHan = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+";
static constexpr std::string_view hanAndKana = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+";
static constexpr std::string_view deepseek3Words =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

static constexpr WordStage gpt2[] = {{Kind::Words}};
static constexpr WordStage digitsFirst[] = {{Kind::SingleDigits}, {Kind::Words}};
static constexpr WordStage llama3[] = {{Kind::Pattern, llama3Words}};
static constexpr WordStage qwen2[] = {{Kind::Pattern, qwenWordPattern}};
static constexpr WordStage qwen35[] = {{Kind::Pattern, qwen35Words}};
static constexpr WordStage tekken[] = {{Kind::Pattern, tekkenWords}};
static constexpr WordStage o200k[] = {{Kind::Pattern, o200kWords}};
static constexpr WordStage tinyAya[] = {{Kind::Pattern, digitsFromTheRight}, {Kind::Pattern, o200kWords}};
static constexpr WordStage bloom[] = {{Kind::Pattern, bloomWords}};
static constexpr WordStage falcon[] = {
    {Kind::Punctuation}, {Kind::Words}, {Kind::DigitRuns}, {Kind::Pattern, "[0-9][0-9][0-9]"}};
static constexpr WordStage deepseek[] = {{Kind::Pattern, "[\r\n]"},      {Kind::Pattern, deepseekLetters},
                                         {Kind::Pattern, deepseekMarks}, {Kind::Pattern, R"(\s+$)"},
                                         {Kind::Pattern, deepseekHan},   {Kind::SingleDigits}};
static constexpr WordStage deepseekCoder[] = {{Kind::Pattern, "[\r\n]"},
                                              {Kind::Pattern, R"(\s?\p{L}+)"},
                                              {Kind::Pattern, R"(\s?\p{P}+)"},
                                              {Kind::Pattern, deepseekHan},
                                              {Kind::SingleDigits}};
static constexpr WordStage deepseek3[] = {
    {Kind::Pattern, R"(\p{N}{1,3})"}, {Kind::Pattern, hanAndKana}, {Kind::Pattern, deepseek3Words}};

static constexpr PreTokenizer rules[] = {
#define RAPT_WORD_RULE(NAMES, STAGES, ...) {.names = NAMES, .stages = STAGES __VA_OPT__(, ) __VA_ARGS__},
#include "lib/Formats/GGUF/WordRules.def"
};

/// A token of a vocabulary that no other has at that id.
struct Proof {
  std::string_view name; ///< of the rule
  size_t tokens;         ///< how many there are; 0: any number
  int64_t id;
  std::string_view text;
};

static constexpr Proof proofs[] = {
#define RAPT_WORD_PROOF(NAME, TOKENS, ID, TEXT) {NAME, TOKENS, ID, TEXT},
#include "lib/Formats/GGUF/WordRules.def"
};

static const PreTokenizer *findRule(std::string_view name) {
  for (const PreTokenizer &rule : rules)
    for (std::string_view known : words(rule.names))
      if (known == name)
        return &rule;
  return nullptr;
}

static Error unknownName(const Metadata &metadata, const std::string &key, const std::string &name) {
  std::string known;
  for (const PreTokenizer &rule : rules)
    known.append(known.empty() ? "" : ", ").append(words(rule.names).front());
  return metadata.fail(key, "\"" + json::printable(name, 60) + "\" is not supported (" + known +
                                " and others like them are)" + otherTokenizer);
}

Expected<const PreTokenizer *> findPreTokenizer(const Metadata &metadata, const TokenTable &tokens,
                                                std::vector<std::string> &notes) {
  const std::string key = tokenizerKey("pre");
  RAPT_ASSIGN_OR_RETURN(const std::optional<std::string> name, metadata.text(key));
  if (name && *name != "default") {
    if (const PreTokenizer *rule = findRule(*name))
      return rule;
    return unknownName(metadata, key, *name);
  }
  auto proof = std::find_if(std::begin(proofs), std::end(proofs), [&](const Proof &entry) {
    return (entry.tokens == 0 || entry.tokens == tokens.size()) && tokens.find(entry.text) == entry.id;
  });
  if (proof == std::end(proofs))
    return metadata.fail(key, std::string(name ? "is \"default\"" : "is missing") +
                                  ", so how texts are cut into words is not known" + otherTokenizer);
  notes.push_back(metadata
                      .fail(key, std::string(name ? "is \"default\"" : "is missing") + "; taken for \"" +
                                     std::string(proof->name) + "\", whose vocabulary this is")
                      .message);
  return findRule(proof->name);
}

static json::Value typed(const char *type, json::Object members = {}) {
  members.insert(members.begin(), {"type", json::Value(type)});
  return json::Value(std::move(members));
}

json::Value writeNormalizer(const PreTokenizer &rule) { return rule.composes ? typed("NFC") : json::Value(); }

static json::Value writeStage(const WordStage &stage, bool addsPrefix) {
  switch (stage.kind) {
  case Kind::Pattern:
    break;
  case Kind::Words:
    return typed("ByteLevel", {{"add_prefix_space", json::Value(addsPrefix)}, {"use_regex", json::Value(true)}});
  case Kind::SingleDigits:
    return typed("Digits", {{"individual_digits", json::Value(true)}});
  case Kind::DigitRuns:
    return typed("Digits", {{"individual_digits", json::Value(false)}});
  case Kind::Punctuation:
    return typed("Punctuation", {{"behavior", json::Value("Contiguous")}});
  }
  const json::Value pattern(json::Object{{"Regex", json::Value(std::string(stage.pattern))}});
  return typed("Split", {{"pattern", pattern}, {"behavior", json::Value("Isolated")}, {"invert", json::Value(false)}});
}

json::Value writePreTokenizer(const PreTokenizer &rule, bool addsPrefix) {
  json::Array list;
  bool spellsBytes = false;
  for (const WordStage &stage : rule.stages) {
    list.push_back(writeStage(stage, addsPrefix));
    spellsBytes = spellsBytes || stage.kind == Kind::Words;
  }
  if (!spellsBytes)
    list.push_back(typed("ByteLevel", {{"add_prefix_space", json::Value(false)}, {"use_regex", json::Value(false)}}));
  return typed("Sequence", {{"pretokenizers", json::Value(std::move(list))}});
}

} // namespace rapt::gguf
