//===- BytePairFile.cpp - Reading byte-pair models -------------------------===//
//
// The "model" member of tokenizer.json, and the pair of files vocab.json and
// merges.txt that older directories have instead.
//
//===----------------------------------------------------------------------===//
#include "lib/Tokenizer/BytePairModel.h"
#include "lib/Tokenizer/JsonFields.h"
#include "lib/Tokenizer/Unicode.h"

namespace rapt {

static bool splitAtSpace(std::string_view text, std::pair<std::string_view, std::string_view> &pair) {
  size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
    return false;
  pair = {text.substr(0, space), text.substr(space + 1)};
  return true;
}

/// A merge is "a b" in older files and ["a", "b"] since tokenizers 0.20.
static Expected<MergeList> readMerges(const json::Value &value, const std::string &where) {
  const json::Array *list = value.asArray();
  if (!list)
    return Error{where + ": is not a list"};
  MergeList merges(list->size());
  for (size_t rank = 0; rank < list->size(); ++rank) {
    const json::Value &entry = (*list)[rank];
    const json::Array *pair = entry.asArray();
    if (pair && pair->size() == 2 && (*pair)[0].isString() && (*pair)[1].isString())
      merges[rank] = {*(*pair)[0].asString(), *(*pair)[1].asString()};
    else if (!entry.isString() || !splitAtSpace(*entry.asString(), merges[rank]))
      return Error{where + "[" + std::to_string(rank) + "]: is neither \"a b\" nor [\"a\", \"b\"]"};
  }
  return merges;
}

Expected<MergeList> BytePairModel::readMergeLines(std::string_view text, const std::string &where) {
  if (auto offset = unicode::findInvalid(text))
    return Error{where + ": invalid UTF-8 at byte " + std::to_string(*offset)};
  MergeList merges;
  for (size_t begin = 0, line = 1; begin < text.size(); ++line) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view content = text.substr(begin, end - begin);
    begin = end + 1;
    if (content.ends_with('\r'))
      content.remove_suffix(1);
    if (content.empty() || content.starts_with("#version"))
      continue;
    if (!splitAtSpace(content, merges.emplace_back()))
      return Error{where + ": line " + std::to_string(line) + " ('" + json::printable(content, 60) +
                   "') is not two tokens separated by a space"};
  }
  return merges;
}

Expected<std::unique_ptr<Model>> BytePairModel::fromJson(const json::Value &model, const std::string &where) {
  const json::Value *vocabularyValue = model.find("vocab"), *mergesValue = model.find("merges");
  if (!vocabularyValue || !mergesValue)
    return Error{where + (vocabularyValue ? ": has no merges" : ": has no vocab")};
  JsonFields fields(model, where);
  BytePairOptions options;
  options.unknownToken = fields.optionalString("unk_token");
  options.subwordPrefix = fields.string("continuing_subword_prefix", "");
  options.wordSuffix = fields.string("end_of_word_suffix", "");
  options.fuseUnknown = fields.boolean("fuse_unk", false);
  options.byteFallback = fields.boolean("byte_fallback", false);
  options.ignoreMerges = fields.boolean("ignore_merges", false);
  const json::Value &ids = fields.value("ids");
  RAPT_RETURN_IF_ERROR(fields.finish({"type", "dropout", "vocab", "merges"}));
  RAPT_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::fromJson(*vocabularyValue, where + ".vocab"));
  RAPT_ASSIGN_OR_RETURN(MergeList merges, readMerges(*mergesValue, where + ".merges"));
  RAPT_ASSIGN_OR_RETURN(std::unique_ptr<Model> made, create(std::move(vocabulary), merges, std::move(options), where));
  if (ids.isNull())
    return made;
  RAPT_ASSIGN_OR_RETURN(Vocabulary given, Vocabulary::fromJson(ids, where + ".ids"));
  RAPT_RETURN_IF_ERROR(static_cast<BytePairModel &>(*made).renumber(std::move(given), where));
  return made;
}

} // namespace rapt
