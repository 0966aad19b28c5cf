//===- ClassRules.h - Parts of a tokenizer.json that classes of transformers replace ===//
//
// Some classes of transformers rebuild parts of the tokenizer that tokenizer.json
// describes from keys of tokenizer_config.json. A key that is given replaces what
// tokenizer.json says. Where it is absent the class's default does, or, where that
// differs between versions 4 and 5, tokenizer.json decides.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Json.h"
#include <string_view>

namespace rapt {

struct ClassRules {
  std::string_view names; ///< The classes without "Fast", separated by spaces.
  /// Tokens of roles that tokenizer_config.json does not name: "bos_token=<s> eos_token=</s>".
  std::string_view roles = {};
  bool obeysBertFlags = false;   ///< do_lower_case, strip_accents and tokenize_chinese_chars
  bool obeysPrefixSpace = false; ///< add_prefix_space
  /// The class decides what stands around a text: add_bos_token and add_eos_token change nothing.
  bool framesTexts = false;
  bool ignoresPostProcessor = false; ///< Only these two keys frame a text, even where neither is given,
  bool beginsTexts = false;          ///< and add_bos_token is true unless it is given.
  bool cleansBytePairs = false;      ///< clean_up_tokenization_spaces counts for byte pairs, too.
};

/// The rules of a class that tokenizer_config.json names, "Fast" or not; of a class without rules for other names.
const ClassRules &rulesOfClass(std::string_view name);

/// The normalizer of a tokenizer.json with the BERT flags of tokenizer_config.json.
json::Value withBertFlags(const json::Value &normalizer, const json::Value &configuration);

/// The pre-tokenizer of a tokenizer.json with add_prefix_space of tokenizer_config.json, which is false where it is
/// absent.
json::Value withPrefixSpace(const json::Value &preTokenizer, const json::Value &configuration);

} // namespace rapt
