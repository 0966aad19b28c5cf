// rapt_run: named entries on tensors. A decoder's "forward" is its step with all logits wanted.
#include "lib/Runtime/Context.h"
#include <cstring>

namespace rapt::runtime {
namespace {

using ll = long long;

struct DType {
  const char *name;
  uint8_t code, bits;
};
constexpr DType i64{"i64", RAPT_DTYPE_INT, 64}, i32{"i32", RAPT_DTYPE_INT, 32}, f32{"f32", RAPT_DTYPE_FLOAT, 32};

bool is(const rapt_tensor &t, DType d) {
  return t.dtype_code == d.code && t.dtype_bits == d.bits && t.dtype_lanes <= 1;
}

/// The integer at (row, column) of an i32 or i64 tensor.
int64_t integerAt(const rapt_tensor &t, int64_t row, int64_t column) {
  int64_t at = t.strides ? row * t.strides[0] + column * t.strides[1] : row * t.shape[1] + column;
  return is(t, i64) ? static_cast<const int64_t *>(t.data)[at] : static_cast<const int32_t *>(t.data)[at];
}

/// Whether two tensors share memory: the bytes from the first to the last element of each.
bool overlap(const rapt_tensor &a, const rapt_tensor &b) {
  auto range = [](const rapt_tensor &t, uintptr_t &first, uintptr_t &last) {
    const intptr_t bytes = t.dtype_bits / 8;
    intptr_t low = 0, high = 0, dense = 1;
    for (int i = t.rank - 1; i >= 0; dense *= t.shape[i--]) {
      intptr_t reach = (t.strides ? t.strides[i] : dense) * (t.shape[i] - 1);
      (reach < 0 ? low : high) += reach;
    }
    first = reinterpret_cast<uintptr_t>(t.data) + uintptr_t(low * bytes);
    last = reinterpret_cast<uintptr_t>(t.data) + uintptr_t((high + 1) * bytes);
  };
  uintptr_t firstA, lastA, firstB, lastB;
  range(a, firstA, lastA);
  range(b, firstB, lastB);
  return firstA < lastB && firstB < lastA;
}

class Forward {
public:
  Forward(rapt_context &context, const Report &report) : c(context), report(report) {}
  rapt_status bind(size_t count, const char *const *names, const rapt_tensor *tensors);
  rapt_status run();

private:
  rapt_status checkTensor(const char *name, const rapt_tensor &t, int rank) const;
  rapt_status checkShapes() const;
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

rapt_status Forward::checkTensor(const char *name, const rapt_tensor &t, int rank) const {
  if (t.size != sizeof(rapt_tensor))
    return report.fail(RAPT_INVALID, "%s: rapt_tensor has size %zu, this runtime's has %zu", name, t.size,
                       sizeof(rapt_tensor));
  if (t.rank != rank || !t.shape || !t.data)
    return report.fail(RAPT_INVALID, "%s: has rank %d%s, not %d", name, t.rank, t.data ? "" : " and no data", rank);
  if (t.device_type != RAPT_DEVICE_CPU)
    return report.fail(RAPT_INVALID, "%s: is on device type %d, not %d (CPU)", name, t.device_type, RAPT_DEVICE_CPU);
  for (int i = 0; i < rank; ++i)
    if (t.shape[i] < 1 || t.shape[i] > INT32_MAX)
      return report.fail(RAPT_INVALID, "%s: its dimension %d is %lld, not 1 or more", name, i, ll(t.shape[i]));
  if (reinterpret_cast<uintptr_t>(t.data) % (t.dtype_bits / 8 ? t.dtype_bits / 8 : 1))
    return report.fail(RAPT_INVALID, "%s: its data at %p is not aligned to its elements of %d bits", name, t.data,
                       t.dtype_bits);
  return RAPT_OK;
}

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
    if (rapt_status status = checkTensor(name, tensors[i], place == &logits ? 3 : 2))
      return status;
  }
  if (!ids || !logits)
    return report.fail(RAPT_INVALID, "forward needs %s", ids ? "logits" : "input_ids");
  return checkShapes();
}

rapt_status Forward::checkShapes() const {
  const Limits &l = c.limits;
  const int64_t *in = ids->shape, *out = logits->shape;
  if (!is(*ids, i64) && !is(*ids, i32))
    return report.fail(RAPT_INVALID, "input_ids must be i64 or i32");
  if (mask && !is(*mask, i64) && !is(*mask, i32))
    return report.fail(RAPT_INVALID, "attention_mask must be i64 or i32");
  if (mask && (mask->shape[0] != in[0] || mask->shape[1] != in[1]))
    return report.fail(RAPT_INVALID, "attention_mask is [%lld, %lld], input_ids [%lld, %lld]", ll(mask->shape[0]),
                       ll(mask->shape[1]), ll(in[0]), ll(in[1]));
  if (!is(*logits, f32) || out[0] != in[0] || out[1] != in[1] || out[2] != l.vocabulary)
    return report.fail(RAPT_INVALID, "logits is [%lld, %lld, %lld]; f32 [%lld, %lld, %lld] is needed", ll(out[0]),
                       ll(out[1]), ll(out[2]), ll(in[0]), ll(in[1]), ll(l.vocabulary));
  const int64_t *s = logits->strides;
  if (s && (s[2] != 1 || s[1] != l.vocabulary || s[0] < in[1] * l.vocabulary))
    return report.fail(RAPT_INVALID, "logits has strides [%lld, %lld, %lld]; its rows must be dense", ll(s[0]),
                       ll(s[1]), ll(s[2]));
  if (overlap(*logits, *ids) || (mask && overlap(*logits, *mask)))
    return report.fail(RAPT_INVALID, "logits shares memory with an input");
  if (in[1] > l.positions)
    return report.fail(RAPT_TOO_LONG, "input_ids has %lld tokens in a row; the model has %lld positions", ll(in[1]),
                       ll(l.positions));
  return RAPT_OK;
}

/// Reads a row's tokens up to the mask's first 0; ones must not follow.
rapt_status Forward::readRow(int64_t row) {
  int64_t used = 0;
  for (; used < length && (!mask || integerAt(*mask, row, used) == 1); ++used) {
    int64_t id = integerAt(*ids, row, used);
    if (id < 0 || id >= c.limits.vocabulary)
      return report.fail(RAPT_INVALID, "input_ids[%lld, %lld] is %lld; the model's vocabulary is 0 to %lld", ll(row),
                         ll(used), ll(id), ll(c.limits.vocabulary - 1));
    tokens[row * length + used] = int32_t(id);
  }
  lengths[row] = used;
  for (int64_t i = used; mask && i < length; ++i)
    if (int64_t value = integerAt(*mask, row, i))
      return report.fail(RAPT_INVALID,
                         "attention_mask row %lld is %lld at %lld after a 0 at %lld: only ones and then zeros are "
                         "accepted (pad on the right)",
                         ll(row), ll(value), ll(i), ll(used));
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

} // namespace
} // namespace rapt::runtime

using namespace rapt::runtime;

extern "C" rapt_status rapt_run(rapt_context *context, const char *entry, size_t count, const char *const *names,
                                const rapt_tensor *tensors, char *message, size_t message_size) {
  Report report(message, message_size);
  Use use(context, report);
  if (use.status)
    return use.status;
  if (!entry)
    return report.fail(RAPT_INVALID, "the entry's name is NULL");
  if (strcmp(entry, "forward"))
    return report.fail(RAPT_UNSUPPORTED, "the model %s has no entry %s; it has forward",
                       context->module->manifest->name.c_str(), entry);
  Forward forward(*context, report);
  rapt_status status = forward.bind(count, names, tensors);
  return status ? status : forward.run();
}
