//===- Rows.h - Texts as rows of an entry that keeps nothing ----------------------===//
#pragma once
#include "lib/Generation/CommandLine/Text.h"
#include <span>

namespace rapt::run {

/// A text, or two, as the model reads them.
struct TextRow {
  std::string text;
  std::optional<std::string> second;
  Ids ids, types;
  std::vector<rapt_token_span> spans; ///< as many as ids
  size_t origin = 0;                  ///< which of the user's texts it is of
};

/// An output of forward, f32. Its first extent is the rows of the batch.
struct RowOutput {
  std::vector<int64_t> shape;
  std::vector<float> data;

  /// All of one row, and of one token of it.
  std::span<const float> row(size_t row) const;
  std::span<const float> token(size_t row, size_t token) const;
};

/// An input of forward, [rows, tokens].
struct RowInput {
  const char *name;
  std::vector<int64_t> shape, data;
};

/// Makes ids, types and spans of the row's texts.
Outcome encodeRow(const Model &model, const Text &text, TextRow &row);

/// The tensors of the entry forward, inputs and outputs, by name; none where there is no such entry.
Expected<std::vector<std::string>> forwardTensors(const Model &model);

/// How many of the rows, one at least, run together such that `output` stays small.
size_t rowsTogether(std::span<const TextRow> rows, int64_t columns);

/// Runs forward on inputs; gives the outputs `names`.
Outcome runInputs(const Model &model, std::vector<RowInput> &inputs, const std::vector<std::string> &names,
                  std::vector<RowOutput> &outputs);

/// Runs forward on the rows, padded to the longest; gives the outputs `names`, of which there is one at least.
Outcome runRows(const Model &model, const std::vector<std::string> &tensors, std::span<const TextRow> rows,
                const std::vector<std::string> &names, std::vector<RowOutput> &outputs);

} // namespace rapt::run
