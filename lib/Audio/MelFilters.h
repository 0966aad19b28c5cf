//===- MelFilters.h - Triangular filters of the mel scale ------------------===//
#pragma once
#include <cstdint>
#include <vector>

namespace rapt::audio {

/// Weights of consecutive frequencies; those outside are zero.
struct MelFilter {
  int64_t first = 0;
  std::vector<double> weights;
};

/// `bins` filters from 0 to 8000 Hz over the `fftSize` / 2 + 1 frequencies of a spectrum: Slaney's scale and norm
/// (Auditory Toolbox, 1998), as transformers' mel_filter_bank makes them for Whisper.
std::vector<MelFilter> makeMelFilters(int64_t bins, int64_t fftSize, int64_t rate);

/// The same between two frequencies in Hz, with the scale of HTK (Young et al., "The HTK Book") and without a norm.
std::vector<MelFilter> makeHtkFilters(int64_t bins, int64_t fftSize, int64_t rate, double leastHertz, double mostHertz);

} // namespace rapt::audio
