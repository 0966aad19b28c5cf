//===- Forward.h - A decoder's logits for whole texts -------------------------------===//
#pragma once
#include "lib/Runtime/Context.h"
#include "lib/Runtime/Tensor.h"

namespace rapt::runtime {

/// "forward" of a decoder: its step with all logits wanted, on sequences of its own.
class Forward {
public:
  Forward(rapt_context &context, const Report &report) : c(context), report(report) {}
  rapt_status bind(size_t count, const char *const *names, const rapt_tensor *tensors);
  /// The shape of an input or output, once the inputs are bound.
  rapt_status shapeOf(const char *name, int64_t *shape, int32_t *rank) const;
  rapt_status run();

private:
  rapt_status checkInputs() const;
  rapt_status checkLogits() const;
  rapt_status readRow(int64_t row);
  rapt_status addRow(int64_t row, size_t &count);
  rapt_status runRows(int64_t &row);
  float *logitsOf(int64_t row) const;

  rapt_context &c;
  const Report &report;
  const rapt_tensor *ids = nullptr, *mask = nullptr, *logits = nullptr;
  int64_t batch = 0, length = 0;
  Array<int32_t> tokens;    ///< [batch, length]
  Array<int64_t> lengths;   ///< [batch]: tokens before the padding
  Array<rapt_chunk> chunks; ///< rows that run together
};

} // namespace rapt::runtime
