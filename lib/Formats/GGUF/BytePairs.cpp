//===- BytePairs.cpp - The tokenizer "gpt2" -------------------------------------------===//
#include "lib/Formats/GGUF/PreTokenizers.h"
#include "lib/Formats/GGUF/TokenizerParts.h"

namespace rapt::gguf {

/// A merge is "a b"; its first part has a character at least, which may be a space.
static Expected<json::Value> readMerge(const Metadata &metadata, const TokenTable &tokens, size_t rank,
                                       const std::string &text) {
  const std::string key = tokenizerKey("merges");
  auto fail = [&](const std::string &what) {
    return metadata.fail(key, "merge " + std::to_string(rank) + " ('" + json::printable(text, 60) + "') " + what);
  };
  const size_t cut = text.find(' ', 1);
  if (cut == std::string::npos || cut + 1 == text.size())
    return fail("is not two tokens with a space between them");
  const std::string left = text.substr(0, cut), right = text.substr(cut + 1);
  for (const std::string &token : {left, right, left + right})
    if (!tokens.find(token))
      return fail("names '" + json::printable(token, 60) + "', which is no token" + otherTokenizer);
  const bool isPlain = left.find(' ') == left.npos && right.find(' ') == right.npos;
  return isPlain ? json::Value(text) : json::Value(json::Array{json::Value(left), json::Value(right)});
}

Expected<json::Value> readMerges(const Metadata &metadata, const TokenTable &tokens) {
  const std::string key = tokenizerKey("merges");
  RAPT_ASSIGN_OR_RETURN(const Value::Texts *merges, metadata.texts(key));
  if (!merges)
    return metadata.fail(key, "is missing; tokens are merged in its order");
  json::Array list;
  list.reserve(merges->size());
  for (size_t rank = 0; rank < merges->size(); ++rank) {
    RAPT_ASSIGN_OR_RETURN(json::Value merge, readMerge(metadata, tokens, rank, (*merges)[rank]));
    list.push_back(std::move(merge));
  }
  return json::Value(std::move(list));
}

static Expected<json::Value> makeModel(const Metadata &metadata, const TokenTable &tokens, bool ignoresMerges) {
  RAPT_ASSIGN_OR_RETURN(json::Value merges, readMerges(metadata, tokens));
  json::Object vocabulary;
  vocabulary.reserve(tokens.size());
  for (const std::string &text : tokens.texts())
    vocabulary.emplace_back(text, json::Value(int64_t(vocabulary.size())));
  const std::optional<int64_t> unknown = tokens.role("unk_token");
  return json::Value(json::Object{{"type", json::Value("BPE")},
                                  {"unk_token", unknown ? json::Value(tokens.text(*unknown)) : json::Value()},
                                  {"ignore_merges", json::Value(ignoresMerges)},
                                  {"vocab", json::Value(std::move(vocabulary))},
                                  {"merges", std::move(merges)}});
}

static Expected<Frame> readFrame(const Metadata &metadata, const TokenTable &tokens, const PreTokenizer &rule) {
  Frame frame;
  RAPT_ASSIGN_OR_RETURN(frame.begin, readFlagged(metadata, tokens, "add_bos_token", "bos_token", rule.addsBegin));
  RAPT_ASSIGN_OR_RETURN(frame.end, readFlagged(metadata, tokens, "add_eos_token", "eos_token", false));
  RAPT_ASSIGN_OR_RETURN(frame.separator,
                        readFlagged(metadata, tokens, "add_sep_token", "sep_token", rule.addsSeparator));
  frame.beginsSecond = !frame.end; // ModernBERT's: [CLS] A [SEP] B [SEP]
  if (frame.separator)             // RoBERTa's: <s> A </s> </s> B </s>
    frame.beginsSecond = false, frame.secondType = 0;
  return frame;
}

Expected<TokenizerParts> makeBytePairs(const Metadata &metadata, const TokenTable &tokens,
                                       std::vector<std::string> &notes) {
  RAPT_ASSIGN_OR_RETURN(const PreTokenizer *rule, findPreTokenizer(metadata, tokens, notes));
  RAPT_ASSIGN_OR_RETURN(const std::optional<bool> prefix, metadata.boolean(tokenizerKey("add_space_prefix")));
  RAPT_ASSIGN_OR_RETURN(json::Value model, makeModel(metadata, tokens, rule->ignoresMerges));
  TokenizerParts parts;
  parts.members = {{"normalizer", writeNormalizer(*rule)},
                   {"pre_tokenizer", writePreTokenizer(*rule, prefix.value_or(false))},
                   {"decoder", json::Value(json::Object{{"type", json::Value("ByteLevel")}})},
                   {"model", std::move(model)}};
  RAPT_ASSIGN_OR_RETURN(parts.frame, readFrame(metadata, tokens, *rule));
  // As in RoBERTa's and ModernBERT's; a GGUF file cannot say so.
  if (const std::optional<int64_t> mask = tokens.role("mask_token"))
    parts.takeSpacesBefore.insert(*mask);
  return parts;
}

} // namespace rapt::gguf
