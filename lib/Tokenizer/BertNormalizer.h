//===- BertNormalizer.h - BERT's basic tokenizer, its rewriting half --------===//
#pragma once
#include "lib/Tokenizer/JsonFields.h"
#include "lib/Tokenizer/Normalizer.h"

namespace rapt {

struct BertNormalizerOptions {
  bool cleanText = true; ///< Controls are dropped, white space becomes blanks.
  bool spaceHan = true;  ///< Blanks around each Chinese character.
  bool stripAccents = true, lowercase = true;
};

std::unique_ptr<Normalizer> makeBertNormalizer(BertNormalizerOptions options);

/// From the members of {"type": "BertNormalizer"}; strip_accents that is null follows lowercase.
std::unique_ptr<Normalizer> readBertNormalizer(JsonFields &fields);

} // namespace rapt
