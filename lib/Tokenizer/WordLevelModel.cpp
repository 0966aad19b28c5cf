//===- WordLevelModel.cpp --------------------------------------------------===//
#include "lib/Tokenizer/WordLevelModel.h"
#include "lib/Tokenizer/JsonFields.h"

namespace rapt {

Expected<std::unique_ptr<Model>> WordLevelModel::fromJson(const json::Value &model, const std::string &where) {
  JsonFields fields(model, where);
  std::string unknownToken = fields.string("unk_token", "<unk>");
  RAPT_RETURN_IF_ERROR(fields.finish({"type", "vocab"}));
  const json::Value *value = model.find("vocab");
  if (!value)
    return Error{where + ": has no vocab"};
  RAPT_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::fromJson(*value, where + ".vocab"));
  return std::unique_ptr<Model>(new WordLevelModel(std::move(vocabulary), std::move(unknownToken)));
}

Status WordLevelModel::encode(std::string_view word, Scratch &, std::vector<int32_t> &ids) const {
  std::optional<int32_t> id = tokens.find(word);
  if (!id)
    id = tokens.find(unknownToken);
  if (!id)
    return Error{"the word '" + json::printable(word, 60) + "' is not in the vocabulary, and neither is unk_token '" +
                 json::printable(unknownToken) + "'"};
  ids.push_back(*id);
  return {};
}

} // namespace rapt
