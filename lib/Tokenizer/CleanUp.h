//===- CleanUp.h - Blanks that a text loses when it is written --------------------===//
//
// English punctuation and contractions lose the blank ahead of them. The decoder
// of word pieces does so token by token; the classes of transformers do so to the
// whole text, and leave one of its rules out.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Tokenizer/Decoder.h"

namespace rapt {

/// A token with its blank, as Hugging Face's tokenizers do: " ' " and " do not" are in no token unless the vocabulary
/// has them.
void cleanUp(std::string &token);

/// Makes `decoder` clean its whole text up: clean_up_tokenization_spaces of tokenizer_config.json.
void addCleanUp(Decoder &decoder);

} // namespace rapt
