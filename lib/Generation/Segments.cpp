//===- Segments.cpp --------------------------------------------------------===//
#include "lib/Generation/Segments.h"
#include <algorithm>

namespace rapt {
namespace {

using Ids = std::span<const int32_t>;

struct Cutter {
  const TimestampUnit &unit;
  const SoundWindow &window;
  CutWindow result = {};

  bool isTimestamp(int32_t id) const { return id >= unit.begin; }
  /// Frames of the window before a timestamp.
  int64_t offset(int32_t id) const { return (id - unit.begin) * unit.frames; }

  void add(int64_t begin, int64_t end, Ids ids) {
    if (end <= begin)
      return;
    SpeechSegment &segment = result.segments.emplace_back();
    segment.begin = window.begin + begin, segment.end = window.begin + end;
    std::ranges::copy_if(ids, std::back_inserter(segment.ids), [&](int32_t id) { return !isTimestamp(id); });
    result.parts.push_back(ids);
  }

  /// Adds ids that begin and end with a timestamp. The reference reads any token there as one.
  void addBetween(Ids ids) {
    if (isTimestamp(ids.front()))
      add(offset(ids.front()), offset(ids.back()), ids);
    else
      add(0, offset(ids.back()), ids);
  }
};

} // namespace

CutWindow cutWindow(Ids ids, const TimestampUnit &unit, const SoundWindow &window) {
  Cutter cutter{unit, window};
  std::vector<size_t> ends; // of parts, each with the first timestamp of a pair
  for (size_t i = 1; i < ids.size(); ++i)
    if (cutter.isTimestamp(ids[i - 1]) && cutter.isTimestamp(ids[i]))
      ends.push_back(i);
  cutter.result.advance = window.frames;
  if (ends.empty()) {
    const auto last = std::find_if(ids.rbegin(), ids.rend(), [&](int32_t id) { return cutter.isTimestamp(id); });
    const int64_t end = last == ids.rend() ? 0 : cutter.offset(*last);
    cutter.add(0, end ? end : window.frames, ids);
    return std::move(cutter.result);
  }
  const size_t count = ids.size();
  const bool endsAlone = cutter.isTimestamp(ids[count - 1]) && !cutter.isTimestamp(ids[count - 2]);
  if (endsAlone)
    ends.push_back(count); // there is no speech behind the last timestamp
  size_t begin = 0;
  for (const size_t end : ends) {
    cutter.addBetween(ids.subspan(begin, end - begin));
    begin = end;
  }
  if (!endsAlone)
    if (const int64_t end = cutter.offset(ids[begin - 1]); end > 0)
      cutter.result.advance = end;
  return std::move(cutter.result);
}

} // namespace rapt
