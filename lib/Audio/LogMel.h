//===- LogMel.h - Features of sounds ---------------------------------------===//
//
// Hugging Face's WhisperFeatureExtractor: a spectrogram of short-time Fourier
// transforms through Slaney's mel filters, as decades below the loudest.
// Gemma4AudioFeatureExtractor (Zhang et al. 2023, "Google USM"): logarithms of
// magnitudes through HTK's mel filters, frame by frame. For
// Gemma4UnifiedAudioFeatureExtractor features are the samples.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Audio/MelFilters.h"
#include "lib/Support/Expected.h"
#include <array>
#include <memory>
#include <span>
#include <string_view>

namespace rapt::audio {

/// The settings of an extractor of features, which preprocessor_config.json has, or feature_extractor of
/// processor_config.json.
struct Extraction {
  enum Kind : uint8_t {
    Whisper, ///< features are [bins, frames], of whole windows
    Gemma4,  ///< [frames, bins]
    Samples  ///< [frames, bins], where bins are the samples of a frame; zeros fill up the last one
  };
  Kind kind = Whisper;
  int64_t bins = 80;          ///< feature_size
  int64_t rate = 16000;       ///< sampling_rate
  int64_t hop = 160;          ///< hop_length: samples from one frame to the next
  int64_t fftSize = 400;      ///< n_fft, even
  int64_t windowSeconds = 30; ///< chunk_length, of Whisper

  // Of Gemma4:
  int64_t frame = 0; ///< samples of a frame
  double leastHertz = 0, mostHertz = 8000, floor = 1e-3;
  std::vector<double> mean, deviation; ///< of each bin's logarithms; empty: 0 and 1
  int64_t longest = 0;                 ///< samples that are read of a sound; 0: all

  /// Samples and frames of one window, to which shorter sound is padded with zeros.
  int64_t windowSamples() const { return windowSeconds * rate; }
  int64_t windowFrames() const { return windowSamples() / hop; }
};

/// Reads the settings; absent members have the class's defaults, but feature_extractor_type must be there.
/// `mel_filters` of older files are ignored: the filters are computed, as transformers does. Errors: another
/// extractor, a member of the wrong kind or range, and one that is not known and not null or false.
Expected<Extraction> readExtraction(std::string_view json);

/// Computes features. Immutable: any number of threads may use one at once.
class Extractor {
public:
  virtual ~Extractor() = default;
  const Extraction &extraction() const { return how; }
  /// The extents of the features of `count` samples. Error: too many, or fewer than a frame needs.
  virtual Expected<std::array<int64_t, 2>> shape(size_t count) const = 0;
  /// Writes them in f32 to `values`. Errors: as `shape`, and a sample that is not finite.
  Status run(std::span<const float> samples, float *values) const;

protected:
  explicit Extractor(const Extraction &how) : how(how) {}
  /// The same of finite samples whose number has a shape.
  virtual void write(std::span<const float> samples, std::array<int64_t, 2> shape, float *values) const = 0;

  Extraction how;
};

/// `how` is from readExtraction.
std::unique_ptr<Extractor> makeExtractor(const Extraction &how);

/// Features of Whisper.
class LogMel : public Extractor {
public:
  explicit LogMel(const Extraction &how);

  /// Frames are those of a window at least; longer sound is not cut.
  Expected<std::array<int64_t, 2>> shape(size_t count) const override;

private:
  /// Spectrum, filters and logarithm are computed in double and rounded to single; the clamp at 8 below the maximum and
  /// the scale are computed in single, as transformers does with NumPy.
  void write(std::span<const float> samples, std::array<int64_t, 2> shape, float *values) const override;
  void readFrame(std::span<const float> samples, int64_t begin, double *frame) const;
  void writeLogarithms(std::span<const float> samples, int64_t frames, float *values) const;

  std::vector<double> hann; ///< the periodic window
  std::vector<MelFilter> filters;
};

} // namespace rapt::audio
