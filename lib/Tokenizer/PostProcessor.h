//===- PostProcessor.h - Special tokens around texts -----------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/FunctionRef.h"
#include <cstdint>
#include <vector>

namespace rapt {

/// A special token, or the place of a text, with the type that its ids have (BERT's segment).
struct FramePart {
  enum class Kind { First, Second, Special } kind;
  int32_t id = -1; ///< A special token's id.
  int32_t type = 0;
};

/// The parts of one text, and of a pair of texts.
struct Framing {
  std::vector<FramePart> single = {{FramePart::Kind::First}};
  /// Empty: the file does not say how two texts are put together.
  std::vector<FramePart> pair = {{FramePart::Kind::First, -1, 0}, {FramePart::Kind::Second, -1, 1}};
};

/// Tells whether an id has a token.
using TokenTest = FunctionRef<bool(int32_t)>;

/// From the "post_processor" member of tokenizer.json: TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel
/// (which only moves offsets) and Sequence; others are refused by name. Their ids must be tokens. A template must hold
/// each of its texts once; one for pairs that does not, or is empty, leaves Framing::pair empty.
Expected<Framing> readPostProcessor(const json::Value &value, TokenTest isToken, const std::string &where);

} // namespace rapt
