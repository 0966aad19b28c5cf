//===- Rows.h - Texts as rows of an entry that keeps nothing ----------------------===//
#pragma once
#include "lib/Generation/CommandLine/Text.h"
#include <span>
#include <type_traits>

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

/// Makes ids, types and spans of the row's texts.
Outcome encodeRow(const Model &model, const Text &text, TextRow &row);

/// The tensors of an entry, inputs and outputs, by name; none where there is no such entry.
Expected<std::vector<std::string>> tensorsOf(const Model &model, std::string_view entry);

/// How many of the rows, one at least, run together such that `output` stays small.
size_t rowsTogether(std::span<const TextRow> rows, int64_t columns);

/// Runs an entry on the tensors `given` has the names of; gives the outputs `names`, of which there is one at least.
Outcome runTensors(const Model &model, std::vector<const char *> given, std::vector<rapt_tensor> all,
                   const std::vector<std::string> &names, std::vector<RowOutput> &outputs,
                   const char *entry = "forward");

/// A dense tensor in memory of the caller's, f32 or integers.
template <typename T> rapt_tensor tensorOf(const std::vector<int64_t> &shape, T *data) {
  auto tensor = sized<rapt_tensor>();
  tensor.data = data;
  tensor.device_type = RAPT_DEVICE_CPU;
  tensor.dtype_code = std::is_floating_point_v<T> ? RAPT_DTYPE_FLOAT : RAPT_DTYPE_INT;
  tensor.dtype_bits = 8 * sizeof(T);
  tensor.dtype_lanes = 1;
  tensor.rank = int32_t(shape.size());
  tensor.shape = shape.data();
  return tensor;
}

/// Runs an entry on the rows, padded to the longest; gives the outputs `names`, of which there is one at least.
Outcome runRows(const Model &model, const std::vector<std::string> &tensors, std::span<const TextRow> rows,
                const std::vector<std::string> &names, std::vector<RowOutput> &outputs, const char *entry = "forward");

} // namespace rapt::run
