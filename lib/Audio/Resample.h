//===- Resample.h - Sound at another rate ----------------------------------===//
#pragma once
#include "lib/Audio/Sound.h"
#include "lib/Support/Expected.h"

namespace rapt::audio {

/// Resamples with libsamplerate's SRC_SINC_MEDIUM_QUALITY to ceil(samples * rate / sound.rate) samples; equal rates
/// change nothing. Errors: no libsamplerate, rates that differ by more than a factor of 256, a result that is too long
/// or not finite.
Expected<Sound> resample(Sound sound, int64_t rate);

/// Opens libsamplerate. An error says what to install.
Status checkResampler();

} // namespace rapt::audio
