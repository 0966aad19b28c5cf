#include "lib/Runtime/LongTexts.h"
#include <algorithm>
#include <cstring>
#include <utility>

namespace rapt::runtime {

using ll = long long;

int64_t textLength(const rapt_context &context, const Sequence &sequence, int64_t count) {
  const int64_t longer = context.entry.shortText + 1;
  return sequence.isLong ? longer : std::min(sequence.length + count, longer);
}

void remember(const rapt_context &context, Sequence &sequence, const rapt_chunk &chunk) {
  if (!context.entry.shortText)
    return;
  const int64_t count = std::min(chunk.count, context.entry.shortText - sequence.length);
  if (count > 0)
    memcpy(sequence.tokens + sequence.length, chunk.tokens, size_t(count) * sizeof(int32_t));
  sequence.isLong = sequence.isLong || count < chunk.count;
}

rapt_status computeAgain(rapt_context &c, rapt_sequence name, int64_t count, const Report &report) {
  Sequence &s = *c.find(name);
  if (c.module->manifest->countPlaceholders(s.tokens, s.length))
    return report.fail(RAPT_UNSUPPORTED,
                       "a sequence with images outgrows %lld tokens, for which its images would be needed again: give "
                       "all of the text to a new sequence in one step",
                       ll(c.entry.shortText));
  Array<int32_t> tokens;
  const int64_t length = s.length;
  if (!tokens.allocate(c.memory, size_t(length)))
    return report.fail(RAPT_NOMEM, "no memory for %lld tokens", ll(length));
  memcpy(tokens.data(), s.tokens, size_t(length) * sizeof(int32_t));
  const bool wasLong = s.isLong;
  c.dropBlocks(s, 0);
  c.returnToState(s, 0);
  s.length = 0;
  s.isStale = false;
  s.isLong = wasLong || length + count > c.entry.shortText;
  rapt_chunk chunk{};
  chunk.size = sizeof chunk;
  chunk.sequence = name;
  chunk.tokens = tokens.data();
  chunk.count = length;
  chunk.want = RAPT_LOGITS_NONE;
  const auto progress = std::exchange(c.progress, nullptr); // which counts the caller's tokens
  rapt_status status = step(c, StructArray<rapt_chunk>(&chunk, sizeof chunk), 1, report, nullptr);
  c.progress = progress;
  if (status) {
    s.length = length;
    c.skipStates(s);
    s.isLong = wasLong;
    s.isStale = true;
  }
  return status;
}

} // namespace rapt::runtime
