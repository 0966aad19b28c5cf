//===- PreTokenizer.cpp ----------------------------------------------------===//
#include "lib/Tokenizer/PreTokenizer.h"
#include "lib/Tokenizer/ByteAlphabet.h"
#include "lib/Tokenizer/JsonFields.h"
#include "lib/Tokenizer/Metaspace.h"
#include "lib/Tokenizer/Splitting.h"
#include "lib/Tokenizer/Unicode.h"
#include "lib/Tokenizer/WordScanner.h"

namespace rapt {

// Real files have at most three.
static constexpr size_t kMostStages = 32;

namespace {

class Split final : public PreTokenizer {
public:
  Split(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern(std::move(pattern)), behavior(behavior), invert(invert) {}
  Status split(Piece piece, PieceSink sink) const override { return splitAt(pattern, behavior, invert, piece, sink); }

private:
  Pattern pattern;
  SplitBehavior behavior;
  bool invert;
};

/// Spells bytes as characters of the byte alphabet, after cutting into words unless another stage did.
class ByteLevel final : public PreTokenizer {
public:
  ByteLevel(bool addPrefixSpace, bool usePattern) : addPrefixSpace(addPrefixSpace), usePattern(usePattern) {}
  bool spellsBytes() const override { return true; }
  Status split(Piece piece, PieceSink sink) const override {
    std::string spaced, spelled;
    if (addPrefixSpace && !piece.text.starts_with(' '))
      piece = {spaced.append(" ").append(piece.text), piece.front > 0 ? piece.front + 1 : 0};
    auto pass = [&](size_t begin, size_t end) {
      const Piece word = piece.part(begin, end);
      spelled.clear();
      bytealphabet::spellAll(word.text.substr(0, word.front), spelled);
      const size_t front = spelled.size();
      bytealphabet::spellAll(word.text.substr(word.front), spelled);
      return sink({spelled, front});
    };
    return usePattern ? scanWords(piece.text, pass) : pass(0, piece.text.size());
  }

private:
  bool addPrefixSpace, usePattern;
};

/// White space is dropped, and runs of word characters and of others are pieces: the matches of \w+|[^\w\s]+ as Rust's
/// regular expressions read it, to which Oniguruma's \w would add superscripts and fractions of Latin-1.
class WordSplit final : public PreTokenizer {
public:
  Status split(Piece piece, PieceSink sink) const override {
    static const Pattern spaces(unicode::isWhitespace), words(unicode::isWord);
    return splitAt(spaces, SplitBehavior::Removed, false, piece,
                   [&](Piece part) { return splitAt(words, SplitBehavior::Contiguous, false, part, sink); });
  }
};

/// White space is dropped, and every punctuation character is a piece.
class BertSplit final : public PreTokenizer {
public:
  Status split(Piece piece, PieceSink sink) const override {
    static const Pattern spaces(unicode::isWhitespace), punctuation(unicode::isPunctuation);
    return splitAt(spaces, SplitBehavior::Removed, false, piece,
                   [&](Piece word) { return splitAt(punctuation, SplitBehavior::Isolated, false, word, sink); });
  }
};

} // namespace

std::unique_ptr<PreTokenizer> makeByteLevel(bool addPrefixSpace, bool usePattern) {
  return std::make_unique<ByteLevel>(addPrefixSpace, usePattern);
}

std::unique_ptr<PreTokenizer> makeBertSplit() { return std::make_unique<BertSplit>(); }

static Status readInto(const json::Value &value, const std::string &where, PreTokenizerList &list);

static Status readSequence(const json::Value &value, const std::string &where, PreTokenizerList &list) {
  const json::Value *parts = value.find("pretokenizers");
  const json::Array *array = parts ? parts->asArray() : nullptr;
  if (!array)
    return Error{where + ": the Sequence has no list of pretokenizers"};
  for (size_t index = 0; index < array->size(); ++index)
    RAPT_RETURN_IF_ERROR(readInto((*array)[index], where + ".pretokenizers[" + std::to_string(index) + "]", list));
  return {};
}

static Status addSplit(Expected<Pattern> pattern, Expected<SplitBehavior> behavior, bool invert,
                       PreTokenizerList &list) {
  RAPT_RETURN_IF_ERROR(pattern);
  RAPT_RETURN_IF_ERROR(behavior);
  list.push_back(std::make_unique<Split>(std::move(*pattern), *behavior, invert));
  return {};
}

static Status readSplit(JsonFields &fields, const std::string &where, PreTokenizerList &list) {
  bool invert = fields.boolean("invert", false);
  return addSplit(Pattern::fromJson(fields.value("pattern"), where + ".pattern"),
                  parseSplitBehavior(fields.string("behavior", ""), where), invert, list);
}

static Status readDelimiter(JsonFields &fields, const std::string &where, PreTokenizerList &list) {
  return addSplit(Pattern(fields.string("delimiter", " ")), SplitBehavior::Removed, false, list);
}

static Status readInto(const json::Value &value, const std::string &where, PreTokenizerList &list) {
  JsonFields fields(value, where);
  std::string type = fields.string("type", "");
  Status status;
  if (type == "Sequence") {
    return readSequence(value, where, list);
  } else if (type == "ByteLevel") {
    // Each one doubles the bytes of text that is not ASCII.
    for (const auto &stage : list)
      if (stage->spellsBytes())
        return Error{where + ": is the second ByteLevel, which would spell the spelling of bytes"};
    bool addPrefixSpace = fields.boolean("add_prefix_space", true);
    list.push_back(makeByteLevel(addPrefixSpace, fields.boolean("use_regex", true)));
  } else if (type == "Split") {
    status = readSplit(fields, where, list);
  } else if (type == "Digits") {
    bool individual = fields.boolean("individual_digits", false);
    status = addSplit(Pattern(unicode::isNumeric), individual ? SplitBehavior::Isolated : SplitBehavior::Contiguous,
                      false, list);
  } else if (type == "Punctuation") {
    status = addSplit(Pattern(unicode::isPunctuation), parseSplitBehavior(fields.string("behavior", "Isolated"), where),
                      false, list);
  } else if (type == "Whitespace") {
    list.push_back(std::make_unique<WordSplit>());
  } else if (type == "WhitespaceSplit") {
    status = addSplit(Pattern(unicode::isWhitespace), SplitBehavior::Removed, false, list);
  } else if (type == "CharDelimiterSplit") {
    status = readDelimiter(fields, where, list);
  } else if (type == "BertPreTokenizer") {
    list.push_back(makeBertSplit());
  } else if (type == "Metaspace") {
    status = readMetaspace(fields, where, list);
  } else {
    return Error{
        where + ": the pre-tokenizer '" + json::printable(type) +
        "' is not supported (ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, CharDelimiterSplit, "
        "BertPreTokenizer, Metaspace and Sequence are); pass token ids instead of text"};
  }
  if (list.size() > kMostStages)
    return Error{where + ": is pre-tokenizer number " + std::to_string(list.size()) + "; the limit is " +
                 std::to_string(kMostStages)};
  RAPT_RETURN_IF_ERROR(status);
  return fields.finish({"trim_offsets"});
}

Expected<PreTokenizerList> readPreTokenizers(const json::Value &value, const std::string &where) {
  PreTokenizerList list;
  if (value.isNull())
    return list;
  RAPT_RETURN_IF_ERROR(readInto(value, where, list));
  return list;
}

static Status runFrom(const PreTokenizerList &stages, size_t stage, Piece piece, PieceSink sink) {
  if (piece.text.empty())
    return {};
  if (stage == stages.size())
    return sink(piece);
  return stages[stage]->split(piece, [&](Piece part) { return runFrom(stages, stage + 1, part, sink); });
}

Status preTokenize(const PreTokenizerList &stages, Piece piece, PieceSink sink) {
  return runFrom(stages, 0, piece, sink);
}

} // namespace rapt
