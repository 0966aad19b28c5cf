//===- Decode.cpp ----------------------------------------------------------===//
#include "lib/Audio/Decode.h"
#include "lib/Audio/Libraries.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace rapt::audio {
namespace {

constexpr int64_t chunkFrames = 4096;

/// The file that libsndfile reads through its callbacks.
struct MemoryFile {
  std::string_view content;
  int64_t position = 0;

  static MemoryFile &of(void *user) { return *static_cast<MemoryFile *>(user); }
  static sf_count_t size(void *user) { return sf_count_t(of(user).content.size()); }
  static sf_count_t tell(void *user) { return of(user).position; }
  static sf_count_t write(const void *, sf_count_t, void *) { return 0; }

  /// As lseek: a position that a header gives may be anywhere behind the end.
  static sf_count_t seek(sf_count_t offset, int whence, void *user) {
    MemoryFile &file = of(user);
    int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file.position : size(user), target;
    if (__builtin_add_overflow(base, offset, &target) || target < 0)
      return -1;
    return file.position = target;
  }

  static sf_count_t read(void *out, sf_count_t bytes, void *user) {
    MemoryFile &file = of(user);
    int64_t count = std::min<int64_t>(size(user) - file.position, bytes);
    if (count <= 0)
      return 0;
    std::memcpy(out, file.content.data() + file.position, size_t(count));
    file.position += count;
    return count;
  }
};

/// An open file of libsndfile.
class Decoder {
public:
  Decoder(const SoundFileLibrary &library, std::string_view content, int64_t most)
      : library(library), memory{content}, most(most) {}
  ~Decoder() {
    if (file)
      library.close(file);
  }
  Decoder(const Decoder &) = delete;
  Decoder &operator=(const Decoder &) = delete;
  Status open();
  Status readAll(Sound &sound);

private:
  Error failure(SNDFILE *source) const;
  Error tooLong(const std::string &frames) const;
  int64_t mostFrames() const { return std::min(most, mostSeconds * info.samplerate); }
  Status checkHeader() const;
  Status appendMeans(const std::vector<float> &chunk, int64_t frames, std::vector<float> &samples) const;

  const SoundFileLibrary &library;
  MemoryFile memory;
  const int64_t most; // samples
  SNDFILE *file = nullptr;
  SF_INFO info = {};
};

/// The library's reason without what it puts around some.
Error Decoder::failure(SNDFILE *source) const {
  const char *text = library.text(source);
  std::string reason = json::printable(text ? text : "");
  constexpr std::string_view before = "Error : ";
  if (reason.starts_with(before))
    reason.erase(0, before.size());
  while (reason.ends_with('.') || reason.ends_with(' '))
    reason.pop_back();
  return Error{"the sound file cannot be decoded: " + reason};
}

Error Decoder::tooLong(const std::string &frames) const {
  return Error{"the sound file of " + frames + " samples at " + std::to_string(info.samplerate) +
               " Hz is too long: at most 24 hours and " + std::to_string(most) + " samples"};
}

/// A length of SF_COUNT_MAX is unknown.
Status Decoder::checkHeader() const {
  if ((info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_SDS) // its reader writes to stdout
    return Error{"the sound file is a MIDI sample dump, which is not supported"};
  if (info.channels < 1 || info.channels > mostChannels)
    return Error{"the sound file has " + std::to_string(info.channels) + " channels, but must have 1 to " +
                 std::to_string(mostChannels)};
  if (info.samplerate < leastRate || info.samplerate > mostRate)
    return Error{"the sound file has a rate of " + std::to_string(info.samplerate) + " Hz, but must have " +
                 std::to_string(leastRate) + " to " + std::to_string(mostRate)};
  if (info.frames != SF_COUNT_MAX && info.frames > mostFrames())
    return tooLong(std::to_string(info.frames));
  return {};
}

Status Decoder::open() {
  SF_VIRTUAL_IO calls = {MemoryFile::size, MemoryFile::seek, MemoryFile::read, MemoryFile::write, MemoryFile::tell};
  {
    static std::mutex mutex; // the library keeps the reason of a failed opening in variables of the process
    std::lock_guard lock(mutex);
    file = library.open(&calls, SFM_READ, &info, &memory);
    if (!file)
      return failure(nullptr);
  }
  return checkHeader();
}

/// Appends the mean of each frame's channels.
Status Decoder::appendMeans(const std::vector<float> &chunk, int64_t frames, std::vector<float> &samples) const {
  const float *at = chunk.data();
  for (int64_t frame = 0; frame < frames; ++frame, at += info.channels) {
    double sum = 0;
    for (int channel = 0; channel < info.channels; ++channel)
      sum += double(at[channel]);
    float mean = float(sum / info.channels);
    if (!std::isfinite(mean))
      return Error{"sample " + std::to_string(samples.size()) + " of the sound file is not finite"};
    samples.push_back(mean);
  }
  return {};
}

/// The result grows by what comes, never by what the header says.
Status Decoder::readAll(Sound &sound) {
  sound.rate = info.samplerate;
  std::vector<float> chunk(size_t(chunkFrames * info.channels));
  for (sf_count_t came; (came = library.read(file, chunk.data(), chunkFrames)) > 0;) {
    if (int64_t(sound.samples.size()) + came > mostFrames())
      return tooLong("more than " + std::to_string(mostFrames()));
    RAPT_RETURN_IF_ERROR(appendMeans(chunk, came, sound.samples));
  }
  if (library.error(file) != SF_ERR_NO_ERROR)
    return failure(file);
  if (info.frames != SF_COUNT_MAX && int64_t(sound.samples.size()) < info.frames)
    return Error{"the sound file is truncated: " + std::to_string(sound.samples.size()) + " of " +
                 std::to_string(info.frames) + " samples can be decoded"};
  if (sound.samples.empty())
    return Error{"the sound file has no samples"};
  return {};
}

} // namespace

Status checkDecoder() {
  RAPT_RETURN_IF_ERROR(openSoundFile());
  return {};
}

Expected<Sound> decode(std::string_view file, int64_t most) {
  if (file.empty())
    return Error{"the sound file is empty"};
  RAPT_ASSIGN_OR_RETURN(const SoundFileLibrary *library, openSoundFile());
  Decoder decoder(*library, file, most);
  Sound sound;
  RAPT_RETURN_IF_ERROR(decoder.open());
  RAPT_RETURN_IF_ERROR(decoder.readAll(sound));
  return sound;
}

} // namespace rapt::audio
