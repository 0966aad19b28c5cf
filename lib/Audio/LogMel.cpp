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

/// The periodic Hann window.
std::vector<double> hannWindow(int64_t size) {
  std::vector<double> window;
  for (int64_t i = 0; i < size; ++i)
    window.push_back(0.5 - 0.5 * std::cos(2 * std::numbers::pi * double(i) / double(size)));
  return window;
}

double filtered(const MelFilter &filter, const std::vector<double> &spectrum) {
  double sum = 0;
  const double *from = &spectrum[size_t(filter.first)];
  for (size_t i = 0; i < filter.weights.size(); ++i)
    sum += filter.weights[i] * from[i];
  return sum;
}

/// Most frames of a result with so many numbers each.
int64_t mostFrames(int64_t bins) { return mostValues / bins; }

Error tooLong(size_t count, int64_t most) {
  return Error{"the sound of " + std::to_string(count) + " samples is too long for one run: at most " +
               std::to_string(most) + " samples"};
}

/// Frames that begin half of one before the sound, where zeros are; the last one ends ahead of its last sample.
class MelFrames final : public Extractor {
public:
  explicit MelFrames(const Extraction &how)
      : Extractor(how), hann(hannWindow(how.frame)),
        filters(makeHtkFilters(how.bins, how.fftSize, how.rate, how.leastHertz, how.mostHertz)) {
    for (double &factor : hann)
      factor = float(factor); // as transformers keeps it
  }

  Expected<std::array<int64_t, 2>> shape(size_t count) const override {
    const int64_t most = std::min(how.longest, mostFrames(how.bins) * how.hop), behind = how.frame - how.frame / 2;
    if (count > size_t(most))
      return tooLong(count, most);
    if (int64_t(count) <= behind)
      return Error{"the sound has " + std::to_string(count) + (count == 1 ? " sample" : " samples") +
                   ", but a frame of it needs " + std::to_string(behind + 1)};
    return std::array{(int64_t(count) - behind - 1) / how.hop + 1, how.bins};
  }

private:
  void write(std::span<const float> samples, std::array<int64_t, 2> shape, float *values) const override {
    PowerSpectrum spectrum(how.fftSize);
    for (int64_t frame = 0; frame < shape[0]; ++frame) {
      const int64_t begin = frame * how.hop - how.frame / 2;
      for (int64_t i = 0; i < how.frame; ++i)
        spectrum.frame[size_t(i)] = begin + i < 0 ? 0 : hann[size_t(i)] * double(samples[size_t(begin + i)]);
      std::fill(spectrum.frame.begin() + how.frame, spectrum.frame.end(), 0);
      spectrum.run();
      for (double &power : spectrum.power)
        power = std::sqrt(power);
      for (size_t bin = 0; bin < filters.size(); ++bin) {
        double value = std::log(filtered(filters[bin], spectrum.power) + how.floor);
        value -= how.mean.empty() ? 0 : how.mean[bin];
        *values++ = float(how.deviation.empty() ? value : value / how.deviation[bin]);
      }
    }
  }

  std::vector<double> hann;
  std::vector<MelFilter> filters;
};

class SampleFrames final : public Extractor {
public:
  explicit SampleFrames(const Extraction &how) : Extractor(how) {}

  Expected<std::array<int64_t, 2>> shape(size_t count) const override {
    if (count > size_t(mostSamples))
      return tooLong(count, mostSamples);
    if (count == 0)
      return Error{"the sound has no samples"};
    return std::array{(int64_t(count) - 1) / how.bins + 1, how.bins};
  }

private:
  void write(std::span<const float> samples, std::array<int64_t, 2> shape, float *values) const override {
    std::fill(std::copy(samples.begin(), samples.end(), values), values + shape[0] * shape[1], 0.0f);
  }
};

} // namespace

Status Extractor::run(std::span<const float> samples, float *values) const {
  RAPT_ASSIGN_OR_RETURN(auto shape, this->shape(samples.size()));
  auto wrong = std::find_if(samples.begin(), samples.end(), [](float sample) { return !std::isfinite(sample); });
  if (wrong != samples.end())
    return Error{"sample " + std::to_string(wrong - samples.begin()) + " is not finite"};
  write(samples, shape, values);
  return {};
}

std::unique_ptr<Extractor> makeExtractor(const Extraction &how) {
  switch (how.kind) {
  case Extraction::Whisper:
    return std::make_unique<LogMel>(how);
  case Extraction::Gemma4:
    return std::make_unique<MelFrames>(how);
  case Extraction::Samples:
    return std::make_unique<SampleFrames>(how);
  }
  __builtin_unreachable();
}

LogMel::LogMel(const Extraction &how)
    : Extractor(how), hann(hannWindow(how.fftSize)), filters(makeMelFilters(how.bins, how.fftSize, how.rate)) {}

Expected<std::array<int64_t, 2>> LogMel::shape(size_t count) const {
  int64_t length = std::max(int64_t(std::min(count, size_t(mostSamples) + 1)), how.windowSamples());
  if (count > size_t(mostSamples) || length / how.hop > mostFrames(how.bins))
    return tooLong(count, std::min(mostSamples, mostFrames(how.bins) * how.hop));
  return std::array{how.bins, length / how.hop};
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
      *to = float(std::log10(std::max(filtered(filter, spectrum.power), 1e-10)));
      to += frames;
    }
  }
}

void LogMel::write(std::span<const float> samples, std::array<int64_t, 2> shape, float *values) const {
  writeLogarithms(samples, shape[1], values);
  float *end = values + how.bins * shape[1];
  const float least = *std::max_element(values, end) - 8;
  std::transform(values, end, values, [least](float value) { return (std::max(value, least) + 4) / 4; });
}

} // namespace rapt::audio
