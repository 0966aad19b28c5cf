#include "lib/Bench/Statistics.h"
#include <algorithm>
#include <cmath>

namespace rapt::bench {

static constexpr double leastShare = 0.95, mostForeign = 0.15, mostDisagreement = 0.1;

double percentile(std::vector<double> values, double share) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  const double position = std::clamp(share, 0.0, 1.0) * double(values.size() - 1);
  const size_t below = size_t(position), above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - double(below)) * (values[above] - values[below]);
}

double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

std::vector<double> undisturbed(const std::vector<Sample> &samples, int threads) {
  double best = 1, fastest = 0;
  for (const Sample &sample : samples)
    fastest = std::max(fastest, sample.speed);
  if (threads > 1) {
    best = 0;
    for (const Sample &sample : samples)
      best = std::max(best, std::min(sample.processors, 1.0));
  }
  std::vector<double> seconds;
  for (const Sample &sample : samples)
    if (sample.processors >= leastShare * best && sample.speed >= leastShare * fastest &&
        (threads == 1 || sample.foreign <= mostForeign))
      seconds.push_back(sample.seconds);
  return seconds;
}

Counted count(const std::vector<Sample> &samples, int threads, bool acceptDisturbed) {
  Counted counted{undisturbed(samples, threads), 0};
  counted.undisturbed = counted.seconds.size();
  if (acceptDisturbed || counted.seconds.empty()) {
    counted.seconds.clear();
    for (const Sample &sample : samples)
      counted.seconds.push_back(sample.seconds);
  }
  return counted;
}

bool isResolved(const std::vector<double> &values) {
  const size_t half = values.size() / 2;
  if (half < 2)
    return false;
  const double first = median({values.begin(), values.begin() + long(half)}),
               second = median({values.end() - long(half), values.end()});
  return std::abs(first - second) <= mostDisagreement * std::min(first, second);
}

} // namespace rapt::bench
