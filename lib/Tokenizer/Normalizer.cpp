//===- Normalizer.cpp ------------------------------------------------------===//
#include "lib/Tokenizer/Normalizer.h"
#include "lib/Tokenizer/BertNormalizer.h"
#include "lib/Tokenizer/ByteAlphabet.h"
#include "lib/Tokenizer/JsonFields.h"
#include "lib/Tokenizer/Pattern.h"
#include "lib/Tokenizer/PrecompiledMap.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>
#include <map>

namespace rapt {

// Real files have a handful.
static constexpr size_t kMostNormalizers = 32;

Error growthError(size_t size, size_t limit) {
  return Error{"normalizing " + std::to_string(size) + " bytes of text makes more than " + std::to_string(limit)};
}

/// For those that rewrite each character, with the marks behind it: the front is as many characters as it becomes
/// alone. The last of them takes other bytes where a normal form joins it with marks behind the front.
Expected<std::string> Normalizer::applyWithFront(std::string text, size_t &front) const {
  std::string alone;
  if (front > 0) {
    RAPT_ASSIGN_OR_RETURN(alone, apply(text.substr(0, front)));
  }
  RAPT_ASSIGN_OR_RETURN(std::string rewritten, apply(std::move(text)));
  front = unicode::lengthOfAsMany(rewritten, alone);
  return rewritten;
}

namespace {

class NormalForm final : public Normalizer {
public:
  explicit NormalForm(unicode::Form form) : form(form) {}
  Expected<std::string> apply(std::string text) const override { return unicode::normalize(text, form); }

private:
  unicode::Form form;
};

class Lowercase final : public Normalizer {
public:
  Expected<std::string> apply(std::string text) const override { return unicode::toLower(text); }
};

class StripAccents final : public Normalizer {
public:
  Expected<std::string> apply(std::string text) const override {
    std::string result;
    for (size_t offset = 0, next; offset < text.size(); offset = next) {
      next = offset + unicode::lengthOf(static_cast<unsigned char>(text[offset]));
      if (!unicode::isMark(unicode::decode(text, offset)))
        result.append(text, offset, next - offset);
    }
    return result;
  }
};

class StripSpaces final : public Normalizer {
public:
  StripSpaces(bool left, bool right) : left(left), right(right) {}
  Expected<std::string> apply(std::string text) const override {
    size_t front = 0;
    return applyWithFront(std::move(text), front);
  }
  Expected<std::string> applyWithFront(std::string text, size_t &front) const override {
    size_t begin = 0, end = text.size();
    while (left && begin < end && unicode::isWhitespace(unicode::decode(text, begin)))
      begin += unicode::lengthOf(static_cast<unsigned char>(text[begin]));
    while (right && end > begin && unicode::isWhitespace(unicode::decode(text, unicode::previous(text, end))))
      end = unicode::previous(text, end);
    front = std::min(front, end) - std::min(front, begin);
    return text.substr(begin, end - begin);
  }

private:
  bool left, right;
};

class Prepend final : public Normalizer {
public:
  explicit Prepend(std::string prefix) : prefix(std::move(prefix)) {}
  Expected<std::string> apply(std::string text) const override {
    return text.empty() ? std::move(text) : prefix + text;
  }
  Expected<std::string> applyWithFront(std::string text, size_t &front) const override {
    front += front > 0 ? prefix.size() : 0;
    return apply(std::move(text));
  }

private:
  std::string prefix;
};

class Replace final : public Normalizer {
public:
  Replace(Pattern pattern, std::string content) : pattern(std::move(pattern)), content(std::move(content)) {}
  Expected<std::string> apply(std::string text) const override {
    size_t front = 0;
    return applyWithFront(std::move(text), front);
  }
  Expected<std::string> applyWithFront(std::string text, size_t &front) const override {
    return pattern.replace(text, content, front, growthLimit(text.size()));
  }

private:
  Pattern pattern;
  std::string content;
};

/// SentencePiece's own rules before NFKC: some controls are dropped, some invisible characters are blanks.
class NmtRules final : public Normalizer {
public:
  Expected<std::string> apply(std::string text) const override {
    std::string result;
    result.reserve(text.size());
    for (size_t offset = 0, next; offset < text.size(); offset = next) {
      next = offset + unicode::lengthOf(static_cast<unsigned char>(text[offset]));
      char32_t character = unicode::decode(text, offset);
      if (isBlank(character))
        result += ' ';
      else if (!isDropped(character))
        result.append(text, offset, next - offset);
    }
    return result;
  }

private:
  static bool isDropped(char32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
  }
  static bool isBlank(char32_t c) {
    return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  }
};

class SpellBytes final : public Normalizer {
public:
  Expected<std::string> apply(std::string text) const override {
    std::string spelled;
    bytealphabet::spellAll(text, spelled);
    return spelled;
  }
};

} // namespace

static Status readInto(const json::Value &value, const std::string &where, NormalizerList &list);

static Status readSequence(const json::Value &value, const std::string &where, NormalizerList &list) {
  const json::Value *parts = value.find("normalizers");
  const json::Array *array = parts ? parts->asArray() : nullptr;
  if (!array)
    return Error{where + ": the Sequence has no list of normalizers"};
  for (size_t index = 0; index < array->size(); ++index)
    RAPT_RETURN_IF_ERROR(readInto((*array)[index], where + ".normalizers[" + std::to_string(index) + "]", list));
  return {};
}

static Status readReplace(JsonFields &fields, const std::string &where, NormalizerList &list) {
  RAPT_ASSIGN_OR_RETURN(Pattern pattern, Pattern::fromJson(fields.value("pattern"), where + ".pattern"));
  list.push_back(std::make_unique<Replace>(std::move(pattern), fields.string("content", "")));
  return {};
}

static Status readInto(const json::Value &value, const std::string &where, NormalizerList &list) {
  static const std::map<std::string_view, unicode::Form> forms = {{"NFC", unicode::Form::NFC},
                                                                  {"NFD", unicode::Form::NFD},
                                                                  {"NFKC", unicode::Form::NFKC},
                                                                  {"NFKD", unicode::Form::NFKD}};
  JsonFields fields(value, where);
  std::string type = fields.string("type", "");
  if (type == "Sequence")
    return readSequence(value, where, list);
  if (auto form = forms.find(type); form != forms.end()) {
    list.push_back(std::make_unique<NormalForm>(form->second));
  } else if (type == "Lowercase") {
    list.push_back(std::make_unique<Lowercase>());
  } else if (type == "StripAccents") {
    list.push_back(std::make_unique<StripAccents>());
  } else if (type == "Strip") {
    bool left = fields.boolean("strip_left", true);
    list.push_back(std::make_unique<StripSpaces>(left, fields.boolean("strip_right", true)));
  } else if (type == "Prepend") {
    list.push_back(std::make_unique<Prepend>(fields.string("prepend", "")));
  } else if (type == "ByteLevel") {
    list.push_back(std::make_unique<SpellBytes>());
  } else if (type == "Nmt") {
    list.push_back(std::make_unique<NmtRules>());
  } else if (type == "BertNormalizer") {
    list.push_back(readBertNormalizer(fields));
  } else if (type == "Precompiled") {
    RAPT_ASSIGN_OR_RETURN(std::unique_ptr<Normalizer> map, PrecompiledMap::fromJson(fields, where));
    list.push_back(std::move(map));
  } else if (type == "Replace") {
    RAPT_RETURN_IF_ERROR(readReplace(fields, where, list));
  } else {
    return Error{
        where + ": the normalizer '" + json::printable(type) +
        "' is not supported (NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, ByteLevel, Nmt, "
        "BertNormalizer, Precompiled and Sequence are); pass token ids instead of text"};
  }
  if (list.size() > kMostNormalizers)
    return Error{where + ": is normalizer number " + std::to_string(list.size()) + "; the limit is " +
                 std::to_string(kMostNormalizers)};
  return fields.finish({});
}

Expected<NormalizerList> readNormalizers(const json::Value &value, const std::string &where) {
  NormalizerList list;
  if (value.isNull())
    return list;
  RAPT_RETURN_IF_ERROR(readInto(value, where, list));
  return list;
}

Expected<std::string> normalize(const NormalizerList &normalizers, std::string_view text) {
  size_t front = 0;
  return normalize(normalizers, text, front);
}

Expected<std::string> normalize(const NormalizerList &normalizers, std::string_view text, size_t &front) {
  std::string result(text);
  for (const auto &normalizer : normalizers) {
    RAPT_ASSIGN_OR_RETURN(result, normalizer->applyWithFront(std::move(result), front));
    if (size_t limit = growthLimit(text.size()); result.size() > limit)
      return growthError(text.size(), limit);
  }
  return result;
}

} // namespace rapt
