// A decoder's "forward" is its step with all logits wanted.
#include "lib/Runtime/Forward.h"
#include "lib/Runtime/EntryRun.h"
#include <cstring>

namespace rapt::runtime {
using ll = long long;

rapt_status Forward::bind(size_t count, const char *const *names, const rapt_tensor *tensors) {
  if (count && (!names || !tensors))
    return report.fail(RAPT_INVALID, "the tensors or their names are NULL");
  for (size_t i = 0; i < count; ++i) {
    const char *name = names[i] ? names[i] : "";
    const rapt_tensor **place = !strcmp(name, "input_ids")        ? &ids
                                : !strcmp(name, "attention_mask") ? &mask
                                : !strcmp(name, "logits")         ? &logits
                                                                  : nullptr;
    if (!place)
      return report.fail(RAPT_INVALID, "forward has no tensor %s; it has input_ids, attention_mask and logits", name);
    if (*place)
      return report.fail(RAPT_INVALID, "tensor %s is given twice", name);
    *place = &tensors[i];
    if (rapt_status status = checkTensor(name, tensors[i], place == &logits ? 3 : 2, report))
      return status;
  }
  return ids ? checkInputs() : report.fail(RAPT_INVALID, "forward needs input_ids");
}

rapt_status Forward::checkInputs() const {
  const int64_t *in = ids->shape;
  if (!isInteger(*ids))
    return report.fail(RAPT_INVALID, "input_ids must be i64 or i32");
  if (mask && !isInteger(*mask))
    return report.fail(RAPT_INVALID, "attention_mask must be i64 or i32");
  if (mask && (mask->shape[0] != in[0] || mask->shape[1] != in[1]))
    return report.fail(RAPT_INVALID, "attention_mask is [%lld, %lld], input_ids [%lld, %lld]", ll(mask->shape[0]),
                       ll(mask->shape[1]), ll(in[0]), ll(in[1]));
  if (in[1] > c.limits.positions)
    return report.fail(RAPT_TOO_LONG, "input_ids has %lld tokens in a row; the model has %lld positions", ll(in[1]),
                       ll(c.limits.positions));
  return RAPT_OK;
}

rapt_status Forward::shapeOf(const char *name, int64_t *shape, int32_t *rank) const {
  bool isLogits = !strcmp(name, "logits");
  if (!isLogits && strcmp(name, "input_ids") && strcmp(name, "attention_mask"))
    return report.fail(RAPT_INVALID, "forward has no tensor %s; it has input_ids, attention_mask and logits", name);
  shape[0] = ids->shape[0];
  shape[1] = ids->shape[1];
  shape[2] = c.limits.vocabulary;
  *rank = isLogits ? 3 : 2;
  return RAPT_OK;
}

rapt_status Forward::checkLogits() const {
  const Limits &l = c.limits;
  if (!logits)
    return report.fail(RAPT_INVALID, "forward needs logits");
  const int64_t *in = ids->shape, *out = logits->shape;
  if (!is(*logits, typeF32) || out[0] != in[0] || out[1] != in[1] || out[2] != l.vocabulary)
    return report.fail(RAPT_INVALID, "logits is [%lld, %lld, %lld]; f32 [%lld, %lld, %lld] is needed", ll(out[0]),
                       ll(out[1]), ll(out[2]), ll(in[0]), ll(in[1]), ll(l.vocabulary));
  const int64_t *s = logits->strides;
  if (s && (s[2] != 1 || s[1] != l.vocabulary || s[0] < in[1] * l.vocabulary))
    return report.fail(RAPT_INVALID, "logits has strides [%lld, %lld, %lld]; its rows must be dense", ll(s[0]),
                       ll(s[1]), ll(s[2]));
  if (overlap(*logits, *ids) || (mask && overlap(*logits, *mask)))
    return report.fail(RAPT_INVALID, "logits shares memory with an input");
  return RAPT_OK;
}

/// Reads a row's tokens up to the mask's first 0.
rapt_status Forward::readRow(int64_t row) {
  int64_t used = length;
  if (rapt_status status = mask ? readMaskRow(*mask, row, used, report) : RAPT_OK)
    return status;
  for (int64_t i = 0; i < used; ++i) {
    int64_t id = integerAt(*ids, row * strideOf(*ids, 0) + i * strideOf(*ids, 1));
    if (id < 0 || id >= c.limits.vocabulary)
      return report.fail(RAPT_INVALID, "input_ids[%lld, %lld] is %lld; the model's vocabulary is 0 to %lld", ll(row),
                         ll(i), ll(id), ll(c.limits.vocabulary - 1));
    tokens[row * length + i] = int32_t(id);
  }
  lengths[row] = used;
  return RAPT_OK;
}

float *Forward::logitsOf(int64_t row) const {
  int64_t stride = logits->strides ? logits->strides[0] : length * c.limits.vocabulary;
  return static_cast<float *>(logits->data) + row * stride;
}

/// Adds a row to those that run together, as a sequence of its own.
rapt_status Forward::addRow(int64_t row, size_t &count) {
  const int64_t vocabulary = c.limits.vocabulary, used = lengths[row];
  memset(logitsOf(row) + used * vocabulary, 0, size_t((length - used) * vocabulary) * sizeof(float));
  if (!used)
    return RAPT_OK;
  rapt_chunk chunk{};
  chunk.size = sizeof chunk;
  chunk.tokens = &tokens[row * length];
  chunk.count = used;
  chunk.want = RAPT_LOGITS_ALL;
  chunk.output = logitsOf(row);
  chunk.output_bytes = size_t(used * vocabulary) * sizeof(float);
  rapt_status status = c.newSequence(chunk.sequence, report);
  if (!status)
    chunks[count++] = chunk;
  return status;
}

/// Runs as many rows from `row` on as the cache has blocks for, at least one.
rapt_status Forward::runRows(int64_t &row) {
  rapt_status status = RAPT_OK;
  size_t count = 0;
  int64_t free = c.blocks.available();
  do {
    free -= ceilDivide(lengths[row], c.limits.block);
    status = addRow(row++, count);
  } while (!status && row < batch && ceilDivide(lengths[row], c.limits.block) <= free);
  if (!status && count)
    status = step(c, chunks.data(), count, report);
  for (size_t i = 0; i < count; ++i)
    c.endSequence(*c.find(chunks[i].sequence));
  return status;
}

/// All rows are read before any is run, so that a wrong one is told before work is done.
rapt_status Forward::run() {
  if (rapt_status status = checkLogits())
    return status;
  batch = ids->shape[0];
  length = ids->shape[1];
  if (!tokens.allocate(c.memory, size_t(batch * length)) || !lengths.allocate(c.memory, size_t(batch)) ||
      !chunks.allocate(c.memory, size_t(batch)))
    return report.fail(RAPT_NOMEM, "no memory for %lld tokens", ll(batch * length));
  for (int64_t row = 0; row < batch; ++row)
    if (rapt_status status = readRow(row))
      return status;
  for (int64_t row = 0; row < batch;)
    if (rapt_status status = runRows(row))
      return status;
  return RAPT_OK;
}

} // namespace rapt::runtime
