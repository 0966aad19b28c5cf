//===- Decode.h - Sound files to samples -----------------------------------===//
//
// libsndfile reads WAV, FLAC, Ogg (Vorbis, Opus), MP3, AIFF, CAF, AU and more;
// MIDI sample dumps are refused.
// Integers are scaled to [-1, 1); a sample of several channels is their mean.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Audio/Sound.h"
#include "lib/Support/Expected.h"
#include <string_view>

namespace rapt::audio {

/// Most channels of a file.
inline constexpr int64_t mostChannels = 64;

/// Decodes the content of a file, of 24 hours and `most` samples at most. Errors: no libsndfile, no known format,
/// damaged, fewer frames than a compressed file's header says, no samples, a sample that is not finite. The number of
/// channels, the rate and the length are checked before anything is decoded. Files without compression that end early
/// have the samples that are there.
Expected<Sound> decode(std::string_view file, int64_t most = mostSamples);

/// Opens libsndfile. An error says what to install.
Status checkDecoder();

} // namespace rapt::audio
