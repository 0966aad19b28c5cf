//===- Sampler.cpp ---------------------------------------------------------===//
#include "lib/Generation/Sampler.h"
#include "lib/Generation/CounterRandom.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cmath>
#include <string>

namespace rapt {

Expected<Sampler> Sampler::create(const SamplingOptions &options) {
  auto check = [](const char *name, double value, bool good, const char *range) -> Status {
    return good ? Status()
                : Status(Error{std::string(name) + " is " + json::shownNumber(value) + ", but must be " + range});
  };
  const SamplingOptions &o = options;
  for (Status status : {check("temperature", o.temperature, std::isfinite(o.temperature) && o.temperature >= 0,
                              "finite and at least 0"),
                        check("top_k", double(o.topK), o.topK >= 0, "at least 0"),
                        check("top_p", o.topP, o.topP > 0 && o.topP <= 1, "above 0 and at most 1"),
                        check("min_p", o.minP, o.minP >= 0 && o.minP <= 1, "between 0 and 1"),
                        check("repetition_penalty", o.repetitionPenalty,
                              std::isfinite(o.repetitionPenalty) && o.repetitionPenalty > 0, "finite and above 0")})
    RAPT_RETURN_IF_ERROR(status);
  return Sampler(options);
}

Status Sampler::accept(int32_t id) {
  if (id < 0)
    return Error{"token id " + std::to_string(id) + " is negative"};
  if (settings.repetitionPenalty == 1)
    return {};
  if (size_t(id) >= seen.size())
    seen.resize(size_t(id) + 1);
  if (!seen[id])
    seenIds.push_back(id);
  seen[id] = true;
  return {};
}

/// More likely first, the lowest id among equals.
static constexpr auto moreLikely = [](const auto &a, const auto &b) {
  return a.score != b.score ? a.score > b.score : a.id < b.id;
};

static Status checkLogit(int64_t id, float logit) {
  if (std::isnan(logit) || logit == INFINITY)
    return Error{"the logit of token " + std::to_string(id) + " is " +
                 (std::isnan(logit) ? "not a number" : "infinite")};
  return {};
}

static Error allImpossible(size_t count) { return Error{"all " + std::to_string(count) + " logits are -infinity"}; }

Status Sampler::collect(std::span<const float> logits) {
  if (logits.empty())
    return Error{"there are no logits to sample from"};
  candidates.resize(logits.size());
  bool any = false;
  for (size_t id = 0; id < logits.size(); ++id) {
    float logit = logits[id];
    RAPT_RETURN_IF_ERROR(checkLogit(int64_t(id), logit));
    any |= logit != -INFINITY;
    candidates[id] = {logit, int32_t(id)};
  }
  if (!any)
    return allImpossible(logits.size());
  for (int32_t id : seenIds)
    if (size_t(id) < candidates.size()) {
      double &score = candidates[id].score;
      score = score < 0 ? score * settings.repetitionPenalty : score / settings.repetitionPenalty;
    }
  return {};
}

void Sampler::sortById() {
  std::sort(candidates.begin(), candidates.end(), [](const auto &a, const auto &b) { return a.id < b.id; });
}

void Sampler::keepTopK() {
  if (settings.topK == 0 || uint64_t(settings.topK) >= candidates.size())
    return;
  std::nth_element(candidates.begin(), candidates.begin() + settings.topK, candidates.end(), moreLikely);
  candidates.resize(size_t(settings.topK));
  sortById(); // sums do not depend on the library's order
}

/// Sorts only as far as the mass needs: most of a vocabulary is never reached.
void Sampler::keepTopP() {
  if (settings.topP >= 1)
    return;
  double total = 0;
  for (const Candidate &candidate : candidates)
    total += candidate.score;
  double mass = 0;
  for (size_t sorted = 0, wanted = 64; sorted < candidates.size(); wanted *= 8) {
    size_t end = std::min(wanted, candidates.size());
    std::partial_sort(candidates.begin() + sorted, candidates.begin() + end, candidates.end(), moreLikely);
    for (; sorted < end; ++sorted) {
      mass += candidates[sorted].score;
      if (mass >= settings.topP * total)
        return candidates.resize(sorted + 1);
    }
  }
}

void Sampler::keepMinP() {
  if (settings.minP == 0)
    return;
  // The most likely token has score 1: scores are relative to it.
  std::erase_if(candidates, [&](const Candidate &candidate) { return candidate.score < settings.minP; });
}

int32_t Sampler::pick() {
  sortById();
  double total = 0;
  for (const Candidate &candidate : candidates)
    total += candidate.score;
  double target = uniformDraw(settings.seed, settings.sequence, draws++) * total, mass = 0;
  int32_t last = -1;
  for (const Candidate &candidate : candidates) {
    mass += candidate.score;
    if (candidate.score > 0)
      last = candidate.id;
    if (mass > target)
      return candidate.id;
  }
  return last; // rounding only
}

Expected<int32_t> Sampler::sample(std::span<const float> logits) {
  RAPT_RETURN_IF_ERROR(collect(logits));
  return choose();
}

int64_t Sampler::topNeeded() const {
  return settings.repetitionPenalty != 1 ? 0 : settings.temperature == 0 ? 1 : settings.topK;
}

Expected<int32_t> Sampler::sampleTop(std::span<const int32_t> ids, std::span<const float> logits, size_t count) {
  if (count == 0)
    return Error{"there are no logits to sample from"};
  candidates.clear();
  for (size_t i = 0; i < std::min(ids.size(), logits.size()) && ids[i] >= 0; ++i) {
    RAPT_RETURN_IF_ERROR(checkLogit(ids[i], logits[i]));
    candidates.push_back({logits[i], ids[i]});
  }
  if (topNeeded() == 0 || candidates.size() < std::min(size_t(topNeeded()), count))
    return Error{"the " + std::to_string(candidates.size()) + " most likely tokens are not enough to sample from"};
  if (candidates[0].score == -INFINITY)
    return allImpossible(count);
  sortById();
  return choose();
}

Expected<int32_t> Sampler::choose() {
  // `moreLikely` orders like "less": the smallest element is the most likely one, the first of equals the lowest id.
  Candidate best = *std::min_element(candidates.begin(), candidates.end(), moreLikely);
  if (settings.temperature == 0)
    return best.id;
  keepTopK();
  for (Candidate &candidate : candidates)
    candidate.score = std::exp((candidate.score - best.score) / settings.temperature);
  keepTopP();
  keepMinP();
  return pick();
}

} // namespace rapt
