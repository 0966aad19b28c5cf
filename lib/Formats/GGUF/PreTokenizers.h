//===- PreTokenizers.h - How byte-level tokenizers cut texts into words ------------===//
//
// A GGUF file names the words' rule by a key, tokenizer.ggml.pre. What the names mean is known from the models that
// they were made for.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Formats/GGUF/TokenTable.h"
#include "lib/Support/Json.h"
#include <span>

namespace rapt::gguf {

/// One step of cutting.
struct WordStage {
  enum class Kind {
    Pattern,      ///< the matches of `pattern` are words, and what is between them
    Words,        ///< GPT-2's pattern, whose words are spelled by bytes from then on
    SingleDigits, ///< digits are words
    DigitRuns,    ///< runs of digits are words
    Punctuation,  ///< runs of punctuation are words
  };
  Kind kind = Kind::Pattern;
  std::string_view pattern = {};
};

/// What a name stands for.
struct PreTokenizer {
  std::string_view names; ///< separated by spaces
  std::span<const WordStage> stages;
  bool composes = false;      ///< texts are put into NFC first
  bool ignoresMerges = false; ///< a word that is a token is not merged from its characters
  bool addsBegin = false;     ///< unless add_bos_token says otherwise
  bool addsSeparator = false; ///< unless add_sep_token says otherwise
};

/// The rule of the file's name; where it has none, or "default", which older writers knew alone, the one that the
/// vocabulary proves, which `notes` says. Errors: a name that is not known, a vocabulary that proves nothing.
Expected<const PreTokenizer *> findPreTokenizer(const Metadata &metadata, const TokenTable &tokens,
                                                std::vector<std::string> &notes);

/// The members normalizer and pre_tokenizer of a tokenizer.json. `addsPrefix`: GPT-2's words get a space in front.
json::Value writeNormalizer(const PreTokenizer &rule);
json::Value writePreTokenizer(const PreTokenizer &rule, bool addsPrefix);

} // namespace rapt::gguf
