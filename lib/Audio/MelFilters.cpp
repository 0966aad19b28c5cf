//===- MelFilters.cpp ------------------------------------------------------===//
#include "lib/Audio/MelFilters.h"
#include <algorithm>
#include <cmath>

namespace rapt::audio {
namespace {

// Slaney's scale is linear up to 1000 Hz and logarithmic from there: 27 mels for a factor of 6.4.
constexpr double hertzOfMel = 200.0 / 3, borderHertz = 1000, borderMel = 15;
constexpr double highestHertz = 8000; // above the border

double logStep() { return std::log(6.4) / 27; }

double hertzOf(double mel) {
  return mel < borderMel ? mel * hertzOfMel : borderHertz * std::exp(logStep() * (mel - borderMel));
}

} // namespace

std::vector<MelFilter> makeMelFilters(int64_t bins, int64_t fftSize, int64_t rate) {
  const double highestMel = borderMel + std::log(highestHertz / borderHertz) / logStep();
  std::vector<double> corners;
  for (int64_t i = 0; i < bins + 2; ++i)
    corners.push_back(hertzOf(highestMel * double(i) / double(bins + 1)));
  // transformers halves the rate in integers.
  const double step = double(rate / 2) / double(fftSize / 2);
  std::vector<MelFilter> filters(static_cast<size_t>(bins));
  for (int64_t bin = 0; bin < bins; ++bin) {
    const double left = corners[bin], center = corners[bin + 1], right = corners[bin + 2];
    MelFilter &filter = filters[bin];
    for (int64_t i = 0; i <= fftSize / 2; ++i) {
      double hertz = double(i) * step;
      double weight = std::min((hertz - left) / (center - left), (right - hertz) / (right - center));
      if (weight <= 0)
        continue;
      if (filter.weights.empty())
        filter.first = i;
      filter.weights.push_back(weight * 2 / (right - left)); // equal energy per filter
    }
  }
  return filters;
}

} // namespace rapt::audio
