//===- PostProcessor.h - Special tokens around a text ----------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/Vocabulary.h"
#include <cstdint>
#include <vector>

namespace rapt {

/// What is put around the ids of a single text.
struct Frame {
  std::vector<int32_t> prefix, suffix;
};

/// From the "post_processor" member of tokenizer.json: TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel
/// (which only moves offsets) and Sequence; others are refused by name. Special tokens must have ids in `vocabulary`.
Expected<Frame> readPostProcessor(const json::Value &value, const Vocabulary &vocabulary, const std::string &where);

} // namespace rapt
