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

double htkMel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double htkHertz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

/// Triangles over each three of the corners, in Hz. `isNormed`: of equal area.
std::vector<MelFilter> makeTriangles(const std::vector<double> &corners, int64_t fftSize, int64_t rate, bool isNormed) {
  // transformers halves the rate in integers.
  const double step = double(rate / 2) / double(fftSize / 2);
  std::vector<MelFilter> filters(corners.size() - 2);
  for (size_t bin = 0; bin < filters.size(); ++bin) {
    const double left = corners[bin], center = corners[bin + 1], right = corners[bin + 2];
    MelFilter &filter = filters[bin];
    for (int64_t i = 0; i <= fftSize / 2; ++i) {
      double hertz = double(i) * step;
      double weight = std::min((hertz - left) / (center - left), (right - hertz) / (right - center));
      if (weight <= 0)
        continue;
      if (filter.weights.empty())
        filter.first = i;
      filter.weights.push_back(isNormed ? weight * 2 / (right - left) : weight);
    }
  }
  return filters;
}

} // namespace

std::vector<MelFilter> makeMelFilters(int64_t bins, int64_t fftSize, int64_t rate) {
  const double highestMel = borderMel + std::log(highestHertz / borderHertz) / logStep();
  std::vector<double> corners;
  for (int64_t i = 0; i < bins + 2; ++i)
    corners.push_back(hertzOf(highestMel * double(i) / double(bins + 1)));
  return makeTriangles(corners, fftSize, rate, /*isNormed=*/true);
}

std::vector<MelFilter> makeHtkFilters(int64_t bins, int64_t fftSize, int64_t rate, double leastHertz,
                                      double mostHertz) {
  const double least = htkMel(leastHertz), most = htkMel(mostHertz);
  std::vector<double> corners;
  for (int64_t i = 0; i < bins + 2; ++i)
    corners.push_back(htkHertz(least + (most - least) * double(i) / double(bins + 1)));
  return makeTriangles(corners, fftSize, rate, /*isNormed=*/false);
}

} // namespace rapt::audio
