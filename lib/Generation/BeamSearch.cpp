//===- BeamSearch.cpp ------------------------------------------------------===//
#include "lib/Generation/BeamSearch.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cmath>
#include <string>

namespace rapt {

Expected<BeamSearch> BeamSearch::create(const BeamOptions &options, std::span<const int32_t> prompt) {
  auto check = [](const char *name, double value, bool good, const std::string &range) -> Status {
    return good ? Status()
                : Status(Error{std::string(name) + " is " + json::shownNumber(value) + ", but must be " + range});
  };
  const BeamOptions &o = options;
  for (const Status &status :
       {check("num_beams", double(o.beams), o.beams >= 1 && o.beams <= mostBeams,
              "between 1 and " + std::to_string(mostBeams)),
        check("num_return_sequences", double(o.returned), o.returned >= 1 && o.returned <= o.beams,
              "between 1 and num_beams"),
        check("length_penalty", o.lengthPenalty, std::isfinite(o.lengthPenalty), "finite"),
        check("max_new_tokens", double(o.maxNewTokens), o.maxNewTokens >= 1, "at least 1"),
        check("repetition_penalty", o.repetitionPenalty, std::isfinite(o.repetitionPenalty) && o.repetitionPenalty > 0,
              "finite and above 0"),
        o.rules.check()})
    RAPT_RETURN_IF_ERROR(status);
  return BeamSearch(options, prompt);
}

BeamSearch::BeamSearch(const BeamOptions &options, std::span<const int32_t> prompt)
    : settings(options), prompt(prompt.begin(), prompt.end()), live(1) {
  std::sort(settings.ends.begin(), settings.ends.end());
}

Status BeamSearch::setRules(TokenRules rules) {
  if (length > 0)
    return Error{"the beam search has begun"};
  RAPT_RETURN_IF_ERROR(rules.check());
  settings.rules = std::move(rules);
  return {};
}

bool BeamSearch::isEnd(int32_t token) const {
  return std::binary_search(settings.ends.begin(), settings.ends.end(), token);
}

double BeamSearch::normalized(double score, int64_t length) const {
  return score / std::pow(double(length), settings.lengthPenalty);
}

/// Makes log likelihoods of scores.
static void normalize(std::span<double> scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  if (largest == -INFINITY)
    return;
  double sum = 0;
  for (double score : scores)
    sum += std::exp(score - largest);
  const double logSum = largest + std::log(sum);
  for (double &score : scores)
    score -= logSum;
}

/// The rules work on log likelihoods, which Hugging Face normalizes again only by renormalize_logits.
void BeamSearch::applyRules(const Hypothesis &hypothesis, std::span<double> scores) const {
  if (settings.repetitionPenalty == 1 && settings.rules.areEmpty())
    return; // log likelihoods as they are
  std::vector<int32_t> all = prompt;
  all.insert(all.end(), hypothesis.tokens.begin(), hypothesis.tokens.end());
  settings.rules.addBiases(all, scores);
  if (settings.repetitionPenalty != 1) {
    std::vector<int32_t> seen = all;
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (int32_t id : seen)
      if (id >= 0 && size_t(id) < scores.size())
        scores[id] = scores[id] < 0 ? scores[id] * settings.repetitionPenalty : scores[id] / settings.repetitionPenalty;
  }
  settings.rules.forbid(all, prompt.size(), scores);
  if (settings.rules.renormalizes)
    normalize(scores);
}

/// Better first; the first row, then the lowest id among equals.
static constexpr auto better = [](const auto &a, const auto &b) {
  return a.score != b.score ? a.score > b.score : a.row != b.row ? a.row < b.row : a.token < b.token;
};

Status BeamSearch::appendCandidates(size_t row, std::span<const float> logits, std::vector<Candidate> &all) const {
  float largest = -INFINITY;
  for (size_t id = 0; id < logits.size(); ++id) {
    if (std::isnan(logits[id]) || logits[id] == INFINITY)
      return Error{"the logit of token " + std::to_string(id) + " is " +
                   (std::isnan(logits[id]) ? "not a number" : "infinite")};
    largest = std::max(largest, logits[id]);
  }
  if (largest == -INFINITY)
    return Error{"all " + std::to_string(logits.size()) + " logits are -infinity"};
  std::vector<double> scores(logits.begin(), logits.end());
  normalize(scores);
  applyRules(live[row], scores);
  for (size_t id = 0; id < scores.size(); ++id)
    if (scores[id] != -INFINITY)
      all.push_back({live[row].score + scores[id], int64_t(row), int32_t(id)});
  return {};
}

Status BeamSearch::advance(std::span<const float> logits) {
  if (done)
    return Error{"the beam search is done"};
  size_t vocabulary = logits.size() / live.size();
  if (vocabulary == 0 || logits.size() % live.size() || vocabulary > size_t(INT32_MAX))
    return Error{"there are " + std::to_string(logits.size()) + " logits for " + std::to_string(live.size()) +
                 " hypotheses"};
  // Each end could take a place of the beams: so many candidates leave as many hypotheses as beams.
  size_t wanted = std::max<size_t>(2, 1 + settings.ends.size()) * size_t(settings.beams);
  std::vector<Candidate> all;
  for (size_t row = 0; row < live.size(); ++row) {
    size_t before = all.size();
    RAPT_RETURN_IF_ERROR(appendCandidates(row, logits.subspan(row * vocabulary, vocabulary), all));
    if (all.size() - before > wanted) {
      std::nth_element(all.begin() + before, all.begin() + before + wanted, all.end(), better);
      all.resize(before + wanted);
    }
  }
  if (all.empty())
    return Error{"the rules leave no token"};
  std::sort(all.begin(), all.end(), better);
  all.resize(std::min(all.size(), wanted));
  choose(all);
  return {};
}

void BeamSearch::finish(BeamResult result) {
  auto place = std::find_if(finished.begin(), finished.end(),
                            [&](const BeamResult &other) { return result.score > other.score; });
  finished.insert(place, std::move(result));
  if (finished.size() > size_t(settings.beams))
    finished.pop_back();
}

void BeamSearch::choose(const std::vector<Candidate> &best) {
  ++length;
  bool last = length >= settings.maxNewTokens;
  std::vector<Hypothesis> chosen;
  next.clear();
  for (size_t rank = 0; rank < best.size(); ++rank) {
    const Candidate &candidate = best[rank];
    bool ended = isEnd(candidate.token);
    bool goesOn = !ended && !last;
    if (goesOn ? chosen.size() >= size_t(settings.beams) : rank >= size_t(settings.beams))
      continue;
    std::vector<int32_t> tokens = live[candidate.row].tokens;
    tokens.push_back(candidate.token);
    if (goesOn) {
      next.push_back({candidate.row, candidate.token});
      chosen.push_back({std::move(tokens), candidate.score});
    } else {
      finish({std::move(tokens), normalized(candidate.score, length), ended});
    }
  }
  live = std::move(chosen);
  done = live.empty() || !canImprove();
  if (done) {
    live.clear();
    next.clear();
  }
}

/// Whether going on could change the finished sequences.
bool BeamSearch::canImprove() const {
  if (finished.size() < size_t(settings.beams))
    return true;
  if (settings.earlyStopping == EarlyStopping::Yes)
    return false;
  bool anyLength = settings.earlyStopping == EarlyStopping::Never && settings.lengthPenalty > 0;
  return normalized(live.front().score, anyLength ? settings.maxNewTokens : length) > finished.back().score;
}

std::vector<BeamResult> BeamSearch::results() const {
  return {finished.begin(), finished.begin() + ptrdiff_t(std::min(finished.size(), size_t(settings.returned)))};
}

} // namespace rapt
