//===- PostProcessor.h - Special tokens around a text ----------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/FunctionRef.h"
#include <cstdint>
#include <vector>

namespace rapt {

/// What is put around the ids of a single text.
struct Frame {
  std::vector<int32_t> prefix, suffix;
};

/// Tells whether an id has a token.
using TokenTest = FunctionRef<bool(int32_t)>;

/// From the "post_processor" member of tokenizer.json: TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel
/// (which only moves offsets) and Sequence; others are refused by name. Their ids must be tokens.
Expected<Frame> readPostProcessor(const json::Value &value, TokenTest isToken, const std::string &where);

} // namespace rapt
