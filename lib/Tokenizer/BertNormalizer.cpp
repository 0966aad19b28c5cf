//===- BertNormalizer.cpp --------------------------------------------------===//
#include "lib/Tokenizer/BertNormalizer.h"
#include "lib/Tokenizer/Unicode.h"
#include "lib/Tokenizer/UnicodeEight.h"

namespace rapt {

/// The blocks BERT counts as Chinese. The start of the extension E differs from Unicode's (U+2B820); the original and
/// every copy of it have the slip.
static bool isHan(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

static bool isDropped(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r')
    return false;
  return c == 0 || c == 0xFFFD || unicode::eight::isControl(c);
}

/// Calls `rewrite(character, bytes, result)` for each character.
template <typename Rewrite> static std::string rewriteEach(std::string_view text, Rewrite rewrite) {
  std::string result;
  result.reserve(text.size());
  for (size_t offset = 0, next; offset < text.size(); offset = next) {
    next = offset + unicode::lengthOf(static_cast<unsigned char>(text[offset]));
    rewrite(unicode::decode(text, offset), text.substr(offset, next - offset), result);
  }
  return result;
}

static std::string clean(std::string_view text) {
  return rewriteEach(text, [](char32_t character, std::string_view bytes, std::string &result) {
    if (!isDropped(character))
      result.append(unicode::isWhitespace(character) ? " " : bytes);
  });
}

static std::string spaceHan(std::string_view text) {
  return rewriteEach(text, [](char32_t character, std::string_view bytes, std::string &result) {
    bool han = isHan(character);
    result.append(han ? " " : "").append(bytes).append(han ? " " : "");
  });
}

static std::string dropMarks(std::string_view text) {
  return rewriteEach(text, [](char32_t character, std::string_view bytes, std::string &result) {
    if (!unicode::eight::isNonspacingMark(character))
      result.append(bytes);
  });
}

namespace {
class BertNormalizer final : public Normalizer {
public:
  explicit BertNormalizer(BertNormalizerOptions options) : options(options) {}
  Expected<std::string> apply(std::string text) const override {
    if (options.cleanText)
      text = clean(text);
    if (options.spaceHan)
      text = spaceHan(text);
    if (options.stripAccents) {
      RAPT_ASSIGN_OR_RETURN(std::string decomposed, unicode::normalize(text, unicode::Form::NFD));
      text = dropMarks(decomposed);
    }
    return options.lowercase ? unicode::toLower(text) : std::move(text);
  }

private:
  BertNormalizerOptions options;
};
} // namespace

std::unique_ptr<Normalizer> makeBertNormalizer(BertNormalizerOptions options) {
  return std::make_unique<BertNormalizer>(options);
}

std::unique_ptr<Normalizer> readBertNormalizer(JsonFields &fields) {
  BertNormalizerOptions options;
  options.cleanText = fields.boolean("clean_text", true);
  options.spaceHan = fields.boolean("handle_chinese_chars", true);
  options.lowercase = fields.boolean("lowercase", true);
  options.stripAccents = fields.boolean("strip_accents", options.lowercase);
  return makeBertNormalizer(options);
}

} // namespace rapt
