#include "lib/Generation/CommandLine/Conversation/CachedSequence.h"
#include <algorithm>

namespace rapt::run {

constexpr size_t mostStates = 4; // /retry and /undo reach as many messages back without reading all again

static bool forgets(const rapt_module_info &info) { return info.cache_window > 0 || info.state_bytes > 0; }

int64_t CachedSequence::tokensOfStates(const Model &model) {
  // Each shares all blocks but the last one, into which the sequence writes.
  return forgets(model.info) ? int64_t(mostStates + 1) * std::max<int64_t>(model.info.cache_block, 1) : 0;
}

Outcome CachedSequence::open(const Model &model) {
  context = &model.context;
  isForgetful = forgets(model.info);
  return Sequence::make(*context, sequence);
}

Outcome CachedSequence::truncate(size_t length) {
  std::erase_if(states, [&](const State &state) { return state.length > length; });
  if (length >= held.size())
    return {};
  Outcome outcome = sequence.truncate(int64_t(length));
  if (outcome.status == RAPT_UNSUPPORTED) {
    Sequence earlier;
    length = states.empty() ? 0 : states.back().length;
    RAPT_RETURN_IF_ERROR(states.empty() ? Sequence::make(*context, earlier) : states.back().sequence.fork(earlier));
    sequence = std::move(earlier);
  } else {
    RAPT_RETURN_IF_ERROR(outcome);
  }
  held.resize(length);
  return {};
}

Outcome CachedSequence::rewindTo(const Ids &prompt, Ids &rest) {
  const size_t most = std::min(held.size(), prompt.empty() ? 0 : prompt.size() - 1);
  const auto common = std::mismatch(held.begin(), held.begin() + ptrdiff_t(most), prompt.begin()).first - held.begin();
  Outcome outcome = truncate(size_t(common));
  rest.assign(prompt.begin() + length(), prompt.end());
  return outcome;
}

Outcome CachedSequence::keepState() {
  if (!states.empty() && states.back().length == held.size())
    return {};
  State state{{}, held.size()};
  RAPT_RETURN_IF_ERROR(sequence.fork(state.sequence));
  states.push_back(std::move(state));
  if (states.size() > mostStates)
    states.erase(states.begin());
  return {};
}

} // namespace rapt::run
