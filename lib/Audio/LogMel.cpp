//===- LogMel.cpp ----------------------------------------------------------===//
#include "lib/Audio/LogMel.h"
#include "lib/Audio/Sound.h"
#include <algorithm>
#include <cmath>
#include <kissfft.hh>
#include <numbers>

namespace rapt::audio {
namespace {

/// Most values of a result.
constexpr int64_t mostValues = int64_t(1) << 31;

/// |X|^2 of a real frame's frequencies 0 to size / 2. Has buffers: for one thread.
class PowerSpectrum {
public:
  explicit PowerSpectrum(int64_t size)
      : half(size_t(size / 2)), transform(half, false), frame(2 * half), spectrum(half), power(half + 1) {}

  void run() {
    transform.transform_real(frame.data(), spectrum.data());
    // Both are real and share an element.
    power[0] = spectrum[0].real() * spectrum[0].real();
    power[half] = spectrum[0].imag() * spectrum[0].imag();
    for (size_t i = 1; i < half; ++i)
      power[i] = std::norm(spectrum[i]);
  }

private:
  size_t half;
  kissfft<double> transform;

public:
  std::vector<double> frame; ///< in
  std::vector<std::complex<double>> spectrum;
  std::vector<double> power; ///< out
};

} // namespace

LogMel::LogMel(const Extraction &how) : how(how), filters(makeMelFilters(how.bins, how.fftSize, how.rate)) {
  for (int64_t i = 0; i < how.fftSize; ++i)
    hann.push_back(0.5 - 0.5 * std::cos(2 * std::numbers::pi * double(i) / double(how.fftSize)));
}

Expected<int64_t> LogMel::frames(size_t count) const {
  int64_t length = std::max(int64_t(std::min(count, size_t(mostSamples) + 1)), how.windowSamples());
  if (count > size_t(mostSamples) || length / how.hop > mostValues / how.bins)
    return Error{"the sound of " + std::to_string(count) + " samples is too long for one run: at most " +
                 std::to_string(std::min(mostSamples, mostValues / how.bins * how.hop)) + " samples"};
  return length / how.hop;
}

/// A frame begins before the sound or ends behind it: there the sound is reflected at its first and last sample.
void LogMel::readFrame(std::span<const float> samples, int64_t begin, double *frame) const {
  const int64_t count = int64_t(samples.size()), length = std::max(count, how.windowSamples());
  for (int64_t i = 0; i < how.fftSize; ++i) {
    int64_t at = begin + i;
    at = at < 0 ? -at : at;
    at = at >= length ? 2 * (length - 1) - at : at;
    frame[i] = at < count ? hann[i] * double(samples[at]) : 0;
  }
}

void LogMel::writeLogarithms(std::span<const float> samples, int64_t frames, float *values) const {
  PowerSpectrum spectrum(how.fftSize);
  for (int64_t frame = 0; frame < frames; ++frame) {
    readFrame(samples, frame * how.hop - how.fftSize / 2, spectrum.frame.data());
    spectrum.run();
    float *to = values + frame;
    for (const MelFilter &filter : filters) {
      double sum = 0;
      const double *power = &spectrum.power[size_t(filter.first)];
      for (size_t i = 0; i < filter.weights.size(); ++i)
        sum += filter.weights[i] * power[i];
      *to = float(std::log10(std::max(sum, 1e-10)));
      to += frames;
    }
  }
}

Status LogMel::run(std::span<const float> samples, float *values) const {
  RAPT_ASSIGN_OR_RETURN(int64_t frames, this->frames(samples.size()));
  auto wrong = std::find_if(samples.begin(), samples.end(), [](float sample) { return !std::isfinite(sample); });
  if (wrong != samples.end())
    return Error{"sample " + std::to_string(wrong - samples.begin()) + " is not finite"};
  writeLogarithms(samples, frames, values);
  float *end = values + how.bins * frames;
  const float least = *std::max_element(values, end) - 8;
  std::transform(values, end, values, [least](float value) { return (std::max(value, least) + 4) / 4; });
  return {};
}

} // namespace rapt::audio
