//===- AttentionMaps.h - Pictures of what looks at what -------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Rows.h"

namespace rapt::run {

/// Which layers and heads an artifact's attention outputs have; empty: all, by their place.
struct AttentionChoice {
  std::vector<int64_t> layers, heads;
  static Expected<AttentionChoice> of(const Model &model);
};

/// An error that says how to compile the model, where `name` is none of its outputs.
Outcome checkAttention(const Model &model, const std::vector<std::string> &tensors, const std::string &name);

/// Writes FOLDER/NAME-layerL-headH.npy [queries, keys], .svg and .png for each layer and head of row `row` of an output
/// [rows, tokens, layers, heads, positions]. White is 1, black 0; queries (what looks) go down, keys (what is looked
/// at) to the right, as in Bahdanau et al. 2015. The SVG has the tokens on its axes, the PNG has none. Makes the
/// folder.
Status writeAttentionMaps(const std::string &folder, const std::string &name, const AttentionChoice &choice,
                          const RowOutput &output, size_t row, const std::vector<std::string> &queries,
                          const std::vector<std::string> &keys);

/// Checks that the attention of what is generated can be drawn, before it is.
Outcome prepareAttention(const Options &options, const Model &model);

/// Draws the attention of a model that generates, over all that it was given and made: of an encoder-decoder that of
/// the source, of the text, and of the text to the source, whose lines are named by the tokens that were made there.
Outcome drawGeneration(const Options &options, const Model &model, const Text &text, const Prompt &prompt,
                       const Ids &made);

/// The text of each id, for an axis.
Outcome axisOf(const rapt_tokenizer *tokenizer, const Ids &ids, std::vector<std::string> &labels);

} // namespace rapt::run
