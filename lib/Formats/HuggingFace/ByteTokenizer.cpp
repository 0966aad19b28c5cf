//===- ByteTokenizer.cpp - The tokenizer of byt5 ---------------------------------===//
#include "lib/Formats/HuggingFace/ByteTokenizer.h"
#include "lib/Formats/SentencePiece/TokenizerStages.h"
#include "lib/Support/Json.h"

namespace rapt::huggingface {
namespace {

constexpr int64_t endId = 1, firstByte = 3, firstExtra = firstByte + 256;

json::Value text(const std::string &value) { return json::Value(value); }

constexpr const char *frame = R"({"type": "TemplateProcessing",
  "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
  "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}},
           {"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
  "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}})";
constexpr const char *decoder = R"({"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]})";

/// Byte pairs without merges, whose characters are all spelled by bytes.
json::Value bytes() {
  constexpr char digits[] = "0123456789ABCDEF";
  json::Object vocabulary{{"<pad>", json::Value(0)}, {"</s>", json::Value(endId)}, {"<unk>", json::Value(2)}};
  for (int64_t byte = 0; byte < 256; ++byte)
    vocabulary.emplace_back(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">",
                            json::Value(firstByte + byte));
  return json::Value(json::Object{{"type", text("BPE")},
                                  {"unk_token", text("<unk>")},
                                  {"byte_fallback", json::Value(true)},
                                  {"vocab", json::Value(std::move(vocabulary))},
                                  {"merges", json::Value(json::Array{})}});
}

} // namespace

std::string makeByteTokenizer(int64_t extraIds) {
  // Spaces around these three belong to the token, as the class says; those of masked spans are the text's.
  json::Array added;
  for (auto [id, token] : {std::pair(int64_t(0), "<pad>"), std::pair(endId, "</s>"), std::pair(int64_t(2), "<unk>")})
    added.push_back(sentencepiece::addedToken(id, token, true, /*spacesBefore=*/true, /*spacesBehind=*/true));
  for (int64_t i = 0; i < extraIds; ++i)
    added.push_back(sentencepiece::addedToken(firstExtra + i, "<extra_id_" + std::to_string(i) + ">", true));
  return json::write(json::Value(json::Object{{"version", text("1.0")},
                                              {"added_tokens", json::Value(std::move(added))},
                                              {"normalizer", json::Value()},
                                              {"pre_tokenizer", json::Value()},
                                              {"post_processor", *json::parse(frame)},
                                              {"decoder", *json::parse(decoder)},
                                              {"model", bytes()}}));
}

} // namespace rapt::huggingface
