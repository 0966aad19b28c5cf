//===- WordPieceDecoder.h - Words from BERT's pieces ------------------------===//
#pragma once
#include "lib/Tokenizer/Decoder.h"
#include "lib/Tokenizer/JsonFields.h"

namespace rapt {

/// Blanks between words, none before a piece that has the prefix; `cleanup` takes away the blank before punctuation and
/// English contractions.
std::unique_ptr<DecodeStage> makeWordPieceStage(std::string prefix, bool cleanup);
std::unique_ptr<DecodeStage> readWordPieceStage(JsonFields &fields);

} // namespace rapt
