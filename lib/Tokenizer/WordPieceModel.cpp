//===- WordPieceModel.cpp --------------------------------------------------===//
#include "lib/Tokenizer/WordPieceModel.h"
#include "lib/Tokenizer/JsonFields.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>

namespace rapt {

Expected<std::unique_ptr<Model>> WordPieceModel::create(Vocabulary vocabulary, WordPieceOptions options,
                                                        const std::string &where) {
  RAPT_ASSIGN_OR_RETURN(PieceTrie trie, PieceTrie::build(vocabulary, where));
  std::unique_ptr<WordPieceModel> model(new WordPieceModel(std::move(vocabulary), std::move(options), std::move(trie)));
  model->inner = model->trie.walk(model->options.subwordPrefix);
  return std::unique_ptr<Model>(std::move(model));
}

Expected<std::unique_ptr<Model>> WordPieceModel::fromJson(const json::Value &model, const std::string &where) {
  JsonFields fields(model, where);
  WordPieceOptions options;
  options.unknownToken = fields.string("unk_token", options.unknownToken);
  options.subwordPrefix = fields.string("continuing_subword_prefix", options.subwordPrefix);
  options.longestWord = fields.integer("max_input_chars_per_word", options.longestWord);
  RAPT_RETURN_IF_ERROR(fields.finish({"type", "vocab"}));
  const json::Value *vocabularyValue = model.find("vocab");
  if (!vocabularyValue)
    return Error{where + ": has no vocab"};
  RAPT_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::fromJson(*vocabularyValue, where + ".vocab"));
  return create(std::move(vocabulary), std::move(options), where);
}

Expected<Vocabulary> WordPieceModel::readLines(std::string_view text, const std::string &where) {
  if (auto offset = unicode::findInvalid(text))
    return Error{where + ": invalid UTF-8 at byte " + std::to_string(*offset)};
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    lines.push_back(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
    begin = end + 1;
  }
  if (int64_t(lines.size()) > Vocabulary::idLimit)
    return Error{where + ": has " + std::to_string(lines.size()) + " lines; the limit is " +
                 std::to_string(Vocabulary::idLimit)};
  Vocabulary vocabulary;
  vocabulary.reserve(lines.size());
  for (size_t id = lines.size(); id-- > 0;)
    if (!vocabulary.find(lines[id]))
      RAPT_RETURN_IF_ERROR(vocabulary.add(lines[id], int64_t(id), where));
  return vocabulary;
}

static bool isLongerThan(std::string_view word, int64_t characters) {
  if (int64_t(word.size()) <= characters)
    return false;
  return std::count_if(word.begin(), word.end(), [](char byte) { return (byte & 0xC0) != 0x80; }) > characters;
}

Status WordPieceModel::encode(std::string_view word, Scratch &, std::vector<int32_t> &ids) const {
  const size_t before = ids.size();
  bool cut = !isLongerThan(word, options.longestWord);
  for (size_t begin = 0; cut && begin < word.size();) {
    int32_t longest = -1;
    size_t end = begin;
    PieceTrie::Node node = begin == 0 ? PieceTrie::root : inner;
    for (size_t offset = begin; node != PieceTrie::none && offset < word.size();) {
      node = trie.child(node, static_cast<unsigned char>(word[offset++]));
      if (node != PieceTrie::none && trie.tokenAt(node) >= 0)
        longest = trie.tokenAt(node), end = offset;
    }
    cut = longest >= 0;
    ids.push_back(longest);
    begin = end;
  }
  if (cut)
    return {};
  ids.resize(before);
  std::optional<int32_t> unknown = tokens.find(options.unknownToken);
  if (!unknown)
    return Error{"the word '" + json::printable(word, 60) + "' is not in the vocabulary, and neither is unk_token '" +
                 json::printable(options.unknownToken) + "'"};
  ids.push_back(*unknown);
  return {};
}

} // namespace rapt
