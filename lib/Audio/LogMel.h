//===- LogMel.h - Log-mel features of Whisper ------------------------------===//
//
// Hugging Face's WhisperFeatureExtractor: a spectrogram of short-time Fourier
// transforms through Slaney's mel filters, as decades below the loudest.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Audio/MelFilters.h"
#include "lib/Support/Expected.h"
#include <span>
#include <string_view>

namespace rapt::audio {

/// preprocessor_config.json of a WhisperFeatureExtractor.
struct Extraction {
  int64_t bins = 80;          ///< feature_size
  int64_t rate = 16000;       ///< sampling_rate
  int64_t hop = 160;          ///< hop_length: samples from one frame to the next
  int64_t fftSize = 400;      ///< n_fft, even
  int64_t windowSeconds = 30; ///< chunk_length

  /// Samples and frames of one window, to which shorter sound is padded with zeros.
  int64_t windowSamples() const { return windowSeconds * rate; }
  int64_t windowFrames() const { return windowSamples() / hop; }
};

/// Reads the file's content; absent members have WhisperFeatureExtractor's defaults, but feature_extractor_type must be
/// there. `mel_filters` of older files are ignored: the filters are computed, as transformers does. Errors: another
/// extractor, a member of the wrong kind or range, and one that is not known and not null or false.
Expected<Extraction> readExtraction(std::string_view json);

/// Computes features. Immutable: any number of threads may use one at once.
class LogMel {
public:
  /// `how` is from readExtraction.
  explicit LogMel(const Extraction &how);
  const Extraction &extraction() const { return how; }

  /// Frames of `count` samples: those of a window at least; longer sound is not cut. Error: too many.
  Expected<int64_t> frames(size_t count) const;

  /// Writes f32 [bins, frames] to `values`. Spectrum, filters and logarithm are computed in double and rounded to
  /// single; the clamp at 8 below the maximum and the scale are computed in single, as transformers does with NumPy.
  /// Errors: as `frames`, and a sample that is not finite.
  Status run(std::span<const float> samples, float *values) const;

private:
  void readFrame(std::span<const float> samples, int64_t begin, double *frame) const;
  void writeLogarithms(std::span<const float> samples, int64_t frames, float *values) const;

  Extraction how;
  std::vector<double> hann; ///< the periodic window
  std::vector<MelFilter> filters;
};

} // namespace rapt::audio
