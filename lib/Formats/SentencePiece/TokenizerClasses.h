//===- TokenizerClasses.h - Tokenizers that transformers builds on SentencePiece ---===//
#pragma once
#include <cstddef>
#include <string_view>

namespace rapt::sentencepiece {

/// How a class rewrites a text before the model's own map of characters.
enum class Rewriting { None, Albert, DebertaV2, Siglip };

/// The tokens that a class of transformers adds to the pieces of its model. Lists of tokens are separated by spaces.
struct TokenizerClass {
  std::string_view name;            ///< Without "Fast".
  std::string_view otherTypes = {}; ///< Values of config.json's model_type that take it, besides the one of its name.
  std::string_view roles = {};      ///< Default texts of bos_token and so on: "bos=<s> eos=</s>".
  /// The tokens around one text A and around two texts A and B; "1:" precedes a token or text of type 1, and $language
  /// is the token of the source's language.
  std::string_view single = {}, pair = {};
  std::string_view before = {};       ///< Tokens with the first ids,
  int lastUnknown = 0;                ///< and behind them <unk_2>, <unk_3>, ..., <unk_N> for N of 2 and more.
  size_t replaced = 0;                ///< Pieces at the front of the model that have no id: `before` stands for them.
  std::string_view languages = {};    ///< Languages whose tokens have the ids behind the last piece,
  std::string_view languageMark = {}; ///< which begin and end so,
  std::string_view language = {};     ///< and the one that is spoken unless src_lang names another.
  std::string_view behind = {};       ///< Tokens with the ids behind those.
  Rewriting rewriting = Rewriting::None;
  bool hasVocabulary = false;  ///< Ids are those of a vocab.json.
  bool hasExtraIds = false;    ///< Tokens <extra_id_N>, ..., <extra_id_0> have the last ids.
  bool maskTakesSpace = false; ///< The spaces before a mask belong to it.
  bool hasLegacyFlag = false;  ///< Without "legacy", a space is put before the first stretch of a text alone.
};

/// The class that a tokenizer_config.json names, or without a name (empty) the one of a model type. Null for others.
const TokenizerClass *findTokenizerClass(std::string_view name, std::string_view modelType);

/// M2M-100's class with the languages that `codes` name, "m2m100" or "wmt21"; null for others. Other classes as they
/// are.
const TokenizerClass *withLanguages(const TokenizerClass &form, std::string_view codes);

} // namespace rapt::sentencepiece
