//===- Text.h - The tokenizer that travels in the weight file ------------------===//
#pragma once
#include "lib/Generation/CommandLine/Model.h"
#include "rapt/rapt_text.h"
#include <memory>
#include <set>

namespace rapt::run {

struct TextFree {
  void operator()(rapt_tokenizer *p) const { rapt_tokenizer_free(p); }
  void operator()(rapt_text_stream *p) const { rapt_text_stream_free(p); }
  void operator()(rapt_sampler *p) const { rapt_sampler_free(p); }
  void operator()(rapt_beams *p) const { rapt_beams_free(p); }
};
template <typename T> using Owned = std::unique_ptr<T, TextFree>;

using Ids = std::vector<int32_t>;

/// What generation starts from.
struct Prompt {
  Ids source; ///< what the encoder reads, of a model that has one
  Ids ids;    ///< what the first new token follows

  /// Gives the sequence its source, where the model has an encoder.
  Outcome begin(const Model &model, const Sequence &sequence) const {
    return model.hasEncoder() ? sequence.encode(source) : Outcome{};
  }
};

/// What a model directory says about text and generation.
struct Text {
  Owned<rapt_tokenizer> tokenizer; ///< null for a model without one
  rapt_generation_config config = sized<rapt_generation_config>();
  std::set<int32_t> ends; ///< ids that end a text
  int64_t vocabulary = 0; ///< logits that are tokens
};

/// Opens the tokenizer and generation settings of the module's sections. Without a tokenizer: `needed` decides.
Outcome openText(const Model &model, bool needed, Text &text);

/// Ids of a text, checked against the model's vocabulary.
Outcome encode(const Model &model, const Text &text, const std::string &content, Ids &ids);

/// Text of ids, special tokens left out.
Outcome decode(const Text &text, const Ids &ids, std::string &content);

/// The bytes of a file, or of the standard input for "-"; at most 1 GiB.
Expected<std::string> readPrompt(const std::string &path);

} // namespace rapt::run
