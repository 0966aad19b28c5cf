//===- Model.cpp - Reading the model of a tokenizer file --------------------===//
#include "lib/Tokenizer/Model.h"
#include "lib/Tokenizer/BytePairModel.h"
#include "lib/Tokenizer/UnigramModel.h"
#include "lib/Tokenizer/WordLevelModel.h"
#include "lib/Tokenizer/WordPieceModel.h"

namespace rapt {

/// Files from before tokenizers 0.9 name no type: merges tell a byte-pair model, a list of pieces is Unigram's, and a
/// vocabulary with nothing but an unknown token WordLevel's.
static std::string_view guessType(const json::Value &model) {
  if (model.find("merges"))
    return "BPE";
  if (model.find("max_input_chars_per_word"))
    return "WordPiece";
  const json::Value *pieces = model.find("vocab");
  if (pieces && pieces->isArray())
    return "Unigram";
  return pieces && model.find("unk_token") && !model.find("continuing_subword_prefix") ? "WordLevel" : "";
}

Expected<std::unique_ptr<Model>> readModel(const json::Value &model, const std::string &where) {
  if (!model.isObject())
    return Error{where + ": is not an object"};
  const json::Value *type = model.find("type");
  const std::string *given = type ? type->asString() : nullptr;
  std::string_view name = given ? std::string_view(*given) : guessType(model);
  if (name == "BPE")
    return BytePairModel::fromJson(model, where);
  if (name == "WordPiece")
    return WordPieceModel::fromJson(model, where);
  if (name == "WordLevel")
    return WordLevelModel::fromJson(model, where);
  if (name == "Unigram")
    return UnigramModel::fromJson(model, where);
  if (name.empty())
    return Error{where + ": has no type"};
  return Error{where + ": the model '" + json::printable(name) +
               "' is not supported (BPE, WordPiece, WordLevel and Unigram are); pass token ids instead of text"};
}

} // namespace rapt
