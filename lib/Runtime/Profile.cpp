#include "lib/Runtime/Profile.h"
#include "lib/Runtime/Context.h"
#include <algorithm>
#include <ctime>

namespace rapt::runtime {

/// The ABI since which a launch tells its dispatch.
static constexpr uint32_t firstMinorOfLaunches = 7;

double Profile::now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

rapt_status Profile::start(const rapt_module &module, const Allocator &memory, const Report &report) {
  manifest = module.manifest.get();
  code = module.entries;
  current = -1;
  callSeconds = entrySeconds = 0;
  calls = 0;
  int64_t ops = 0, rowCount = 0, dispatches = 0;
  size_t counts = 0;
  for (const ManifestEntry &entry : manifest->entries) {
    ops += int64_t(entry.ops.size());
    dispatches += int64_t(entry.dispatches.size());
    counts = std::max(counts, entry.counts.size());
    for (const ManifestOp &op : entry.ops)
      rowCount += std::max<int64_t>(op.layers, 1);
  }
  if (!dispatches || (module.device && module.artifact->abi_minor < firstMinorOfLaunches))
    return report.fail(RAPT_UNSUPPORTED, "%s does not tell its ops: compile it again", manifest->name.c_str());
  const size_t entries = manifest->entries.size();
  if (!firstOp.allocate(memory, entries) || !firstRow.allocate(memory, size_t(ops)) ||
      !rows.allocate(memory, kinds * size_t(rowCount), true) || !rests.allocate(memory, kinds * entries, true) ||
      !firstDispatch.allocate(memory, entries) || !called.allocate(memory, size_t(dispatches), true) ||
      !counted.allocate(memory, counts, true))
    return report.fail(RAPT_NOMEM, "no memory for a profile of %lld rows", (long long)rowCount);
  int64_t op = 0, row = 0, dispatch = 0;
  for (size_t e = 0; e < entries; ++e) {
    const ManifestEntry &entry = manifest->entries[e];
    firstOp[e] = op;
    firstDispatch[e] = dispatch;
    dispatch += int64_t(entry.dispatches.size());
    for (const ManifestOp &o : entry.ops) {
      firstRow[op++] = row;
      row += std::max<int64_t>(o.layers, 1);
    }
  }
  return RAPT_OK;
}

double Profile::enter(rapt_entry_fn run, const int64_t *dims) {
  current = -1;
  inDispatches = 0;
  for (size_t e = 0; e < manifest->entries.size(); ++e)
    if (code[e].run == run)
      current = int(e);
  if (current >= 0) {
    const ManifestEntry &entry = manifest->entries[current];
    std::fill_n(&called[firstDispatch[current]], entry.dispatches.size(), 0);
    const int tokens = entry.findDim(nameOf(EntryDim::Tokens)), sequences = entry.findDim(nameOf(EntryDim::Rows));
    currentKind = tokens >= 0 && sequences >= 0 && dims[tokens] == dims[sequences];
  }
  return now();
}

int64_t Profile::numberOf(const void *closure) const {
  const bool hasNumber = current >= 0 && !manifest->entries[current].dispatches.empty();
  return hasNumber ? *static_cast<const int64_t *>(closure) : -1;
}

void Profile::addDispatch(int64_t dispatch, double seconds) {
  if (current < 0)
    return;
  const ManifestEntry &entry = manifest->entries[current];
  if (dispatch < 0 || dispatch >= int64_t(entry.dispatches.size()) || entry.dispatches[dispatch] < 0)
    return;
  const int op = entry.dispatches[dispatch];
  int64_t &times = called[firstDispatch[current] + dispatch];
  const int64_t layer = std::min(times, std::max<int64_t>(entry.ops[op].layers, 1) - 1);
  Row &row = rows[placeOf(currentKind, current, op) + size_t(layer)];
  ++times;
  ++row.calls;
  row.seconds += seconds;
  inDispatches += seconds;
}

void Profile::leave(double seconds, void *const *buffers, const int64_t *dims) {
  if (current < 0)
    return;
  const ManifestEntry &entry = manifest->entries[current];
  countLengths(entry, buffers, dims, counted.data());
  for (size_t o = 0; o < entry.ops.size(); ++o) {
    int64_t layers = 0; // in which the op ran
    for (size_t r = 0; r < entry.dispatches.size(); ++r)
      if (entry.dispatches[r] == int(o))
        layers = std::max(layers, called[firstDispatch[current] + int64_t(r)]);
    layers = std::min(layers, std::max<int64_t>(entry.ops[o].layers, 1));
    const ManifestOp &op = entry.ops[o];
    const Cost cost = evaluateCost(op, dims, counted.data());
    for (Row *row = &rows[placeOf(currentKind, current, int(o))], *end = row + layers; row < end; ++row)
      row->cost += cost;
  }
  Rest &rest = rests[size_t(kinds * current + currentKind)];
  rest.seconds += std::max(seconds - inDispatches, 0.0); // a GPU's clock is another one
  ++rest.runs;
  entrySeconds += seconds;
  current = -1;
}

size_t Profile::read(const StructArray<rapt_profile_row> &to, size_t most) const {
  size_t count = 0;
  auto add = [&](const ManifestEntry *entry, int kind, const ManifestOp *op, int64_t layer, const Row &row) {
    if (count++ >= most)
      return;
    rapt_profile_row &made = to[count - 1];
    made.entry = entry ? entry->name.c_str() : nullptr;
    made.one_token = kind;
    made.op = op ? op->op.c_str() : nullptr;
    made.name = op && !op->name.empty() ? op->name.c_str() : nullptr;
    made.dtype = op && !op->dtype.empty() ? op->dtype.c_str() : nullptr;
    made.layer = layer;
    made.calls = row.calls;
    made.seconds = row.seconds;
    made.flops = row.cost.flops;
    made.weight_bytes = row.cost.weights;
    made.cache_bytes = row.cost.cache;
    made.activation_bytes = row.cost.activations;
  };
  for (size_t e = 0; e < manifest->entries.size(); ++e)
    for (int kind = 0; kind < kinds; ++kind) {
      const ManifestEntry &entry = manifest->entries[e];
      for (size_t o = 0; o < entry.ops.size(); ++o) {
        const ManifestOp &op = entry.ops[o];
        const Row *row = &rows[placeOf(kind, int(e), int(o))];
        for (int64_t layer = 0; layer < std::max<int64_t>(op.layers, 1); ++layer)
          if (row[layer].calls)
            add(&entry, kind, &op, op.layers ? op.firstLayer + layer * op.layerStep : -1, row[layer]);
      }
      if (const Rest &rest = rests[kinds * e + size_t(kind)]; rest.runs)
        add(&entry, kind, nullptr, -1, {rest.seconds, {}, rest.runs});
    }
  if (calls)
    add(nullptr, 0, nullptr, -1, {callSeconds - entrySeconds, {}, calls});
  return count;
}

} // namespace rapt::runtime

using namespace rapt::runtime;

extern "C" {

rapt_status rapt_profile_start(rapt_context *context, char *message, size_t message_size) {
  Report report(message, message_size);
  Use use(context, report);
  if (use.status)
    return use.status;
  context->execution.profile = nullptr;
  if (rapt_status status = context->profile.start(*context->module, context->memory, report))
    return status;
  context->execution.profile = &context->profile;
  return RAPT_OK;
}

rapt_status rapt_profile_stop(rapt_context *context, char *message, size_t message_size) {
  Report report(message, message_size);
  Use use(context, report);
  if (!use.status)
    context->execution.profile = nullptr;
  return use.status;
}

rapt_status rapt_profile_read(rapt_context *context, rapt_profile_row *rows, size_t *count, char *message,
                              size_t message_size) {
  Report report(message, message_size);
  Use use(context, report);
  if (use.status)
    return use.status;
  if (!count)
    return report.fail(RAPT_INVALID, "the pointer to the number of rows is NULL");
  if (!context->profile.isStarted())
    return report.fail(RAPT_INVALID, "nothing was profiled: rapt_profile_start was not called");
  const size_t size = *count;
  StructArray<rapt_profile_row> list;
  *count = context->profile.read(list, 0);
  if (rows) {
    const size_t filled = std::min(size, *count);
    if (rapt_status status = list.adopt(rows, filled, "rapt_profile_row", report))
      return status;
    context->profile.read(list, filled);
  }
  return rows && size < *count ? report.fail(RAPT_FULL, "the profile has %zu rows, the buffer holds %zu", *count, size)
                               : RAPT_OK;
}
}
