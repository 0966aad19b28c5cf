//===- Segments.h - Parts of a sound's text by their timestamps -------------===//
//
// Long sounds are read in windows. The timestamps in a window's text say where its
// parts begin and end, and where the next window begins (Whisper's transcribe.py).
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace rapt {

/// Frames of the sound that the model reads at once.
struct SoundWindow {
  int64_t begin = 0;
  int64_t frames = 0; ///< without padding, at least 1
};

struct SpeechSegment {
  int64_t begin = 0, end = 0; ///< frames of the sound
  std::vector<int32_t> ids;   ///< without timestamps

  bool operator==(const SpeechSegment &) const = default;
};

struct CutWindow {
  std::vector<SpeechSegment> segments;
  std::vector<std::span<const int32_t>> parts; ///< of the ids that were cut, one a segment, with timestamps
  int64_t advance = 0;                         ///< frames from this window's begin to that of the next one; at least 1
};

/// The timestamps of a model.
struct TimestampUnit {
  int64_t begin = INT64_MAX; ///< the first id; by default no id is a timestamp
  int64_t frames = 1;        ///< between two timestamps
};

/// Cuts the new tokens of a window, without the one that ended them. Two timestamps together end a part and begin the
/// next one. The tokens behind the last pair are a part only if they end with a timestamp alone. Otherwise the next
/// window begins where the last part ended, or behind this window where that would be no progress. Parts that take no
/// time are left out.
CutWindow cutWindow(std::span<const int32_t> ids, const TimestampUnit &unit, const SoundWindow &window);

} // namespace rapt
