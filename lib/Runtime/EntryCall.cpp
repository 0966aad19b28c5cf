#include "lib/Runtime/EntryCall.h"

namespace rapt::runtime {

using ll = long long;

EntryCall::EntryCall(rapt_context &context, const Entry &entry, const Report &report)
    : c(context), entry(entry), report(report) {
  dims[Dim::Blocks] = c.caches[0].blocks.size();
  dims[Dim::WindowBlocks] = c.caches[1].blocks.size();
  dims[Dim::Slots] = c.states.size();
}

bool EntryCall::reserve(size_t buffer, const int64_t *ordered) {
  Array<char> &memory = c.held[int(entry.roles[buffer])];
  const uint64_t need = bytesOf(entry.manifest->buffers[buffer], ordered);
  return need <= memory.size() || memory.allocate(c.memory, need);
}

bool EntryCall::reserve() {
  int64_t ordered[mostEntryDims];
  entry.order(dims, ordered);
  for (int i = 0; i < entry.buffers; ++i)
    if (isArgument(entry.roles[i]) && !isMap(entry.roles[i]) && !reserve(size_t(i), ordered))
      return false;
  return true;
}

void *EntryCall::memoryOf(Role role) const {
  switch (role) {
  case Role::Weights:
    return const_cast<void *>(c.weights());
  case Role::Workspace:
    return c.workspace.data();
  case Role::Cache:
    return c.caches[0].blocks.data();
  case Role::WindowCache:
    return c.caches[1].blocks.data();
  case Role::State:
    return c.states.data(0);
  case Role::ConvState:
    return c.states.data(1);
  case Role::Logits:
  case Role::GivenLogits:
    return logits;
  default:
    return c.held[int(role)].data();
  }
}

rapt_status EntryCall::run(DeviceArguments *with) {
  int64_t ordered[mostEntryDims];
  void *memory[roleCount];
  entry.order(dims, ordered);
  for (int i = 0; i < entry.buffers; ++i) {
    if (isMap(entry.roles[i]) && !reserve(size_t(i), ordered))
      return report.fail(RAPT_NOMEM, "no memory for the %s of %lld tokens", nameOf(entry.roles[i]),
                         ll(dims[Dim::Tokens]));
    memory[i] = memoryOf(entry.roles[i]);
  }
  return c.execution.run(*entry.manifest, entry.code->run, memory, ordered, report, with);
}

rapt_status SequenceCall::claim(size_t i, rapt_sequence name, Sequence *&sequence) {
  sequence = findOrTell(c, name, report);
  if (!sequence)
    return RAPT_INVALID;
  if (sequence->step == c.steps)
    return report.fail(RAPT_INVALID, "%s %zu names a sequence that another %s of the %s names", words.one, i, words.one,
                       words.all);
  sequence->step = c.steps;
  return RAPT_OK;
}

rapt_status SequenceCall::checkList(size_t i, const int32_t *tokens, int64_t length, int64_t least) const {
  if (length < least || (length && !tokens))
    return report.fail(RAPT_INVALID, "%s %zu has %lld tokens%s", words.one, i, ll(length), tokens ? "" : " at NULL");
  if (!isAligned(tokens))
    return report.fail(RAPT_INVALID, "%s %zu: its tokens are at %p, which is not a multiple of %zu", words.one, i,
                       static_cast<const void *>(tokens), alignof(int32_t));
  return RAPT_OK;
}

rapt_status SequenceCall::checkIds(size_t i, const int32_t *tokens, int64_t length, int64_t vocabulary) const {
  for (int64_t t = 0; t < length; ++t)
    if (tokens[t] < 0 || tokens[t] >= vocabulary)
      return report.fail(RAPT_INVALID, "%s %zu: token %lld is %d; the model's vocabulary is 0 to %lld", words.one, i,
                         ll(t), tokens[t], ll(vocabulary - 1));
  return RAPT_OK;
}

rapt_status SequenceCall::checkFloats(size_t i, const char *what, float *memory, size_t bytes, uint64_t need) const {
  if (!memory || (bytes >= need && isAligned(memory)))
    return RAPT_OK;
  return report.fail(RAPT_INVALID, "%s %zu: its %s has %zu bytes at %p; %llu bytes of floats are needed", words.one, i,
                     what, bytes, static_cast<void *>(memory), (unsigned long long)need);
}

rapt_status SequenceCall::reserveStates(int64_t slots) {
  if (c.hasStates() && !c.states.reserve(c.memory, slots))
    return report.fail(RAPT_NOMEM, "no memory for the states of %zu sequences", count);
  return RAPT_OK;
}

rapt_status SequenceCall::tell(int64_t tokens) {
  done += tokens;
  if (c.progress && c.progress(c.user, done, total))
    return report.fail(RAPT_CANCELLED, "canceled after %lld of %lld tokens", ll(done), ll(total));
  return RAPT_OK;
}

} // namespace rapt::runtime
