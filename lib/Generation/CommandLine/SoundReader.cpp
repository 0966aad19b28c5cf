#include "lib/Generation/CommandLine/SoundReader.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Support/DirectoryKeys.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cstdio>

namespace rapt::run {

constexpr uint64_t mostFileBytes = uint64_t(1) << 30;

/// Refuses a processor that makes other features than the model reads.
Outcome SoundReader::check(const Model &model) const {
  const auto differs = [](const std::string &what, int64_t mine, int64_t its) {
    return Outcome{RAPT_MISMATCH, "preprocessor_config.json makes features of " + std::to_string(mine) + " " + what +
                                      ", but the model reads " + std::to_string(its)};
  };
  if (info.bins != model.info.feature_channels)
    return differs("bins", info.bins, model.info.feature_channels);
  if (info.window_frames != model.info.feature_frames)
    return differs("frames", info.window_frames, model.info.feature_frames);
  return {};
}

Outcome SoundReader::open(const Model &model) {
  const bool isOfPrompts = model.readsSounds();
  const char *const name = isOfPrompts ? extractorFile : "preprocessor_config.json";
  size_t bytes = 0;
  const void *json = rapt_module_section(model.module.get(), name, &bytes);
  if (!json)
    return {RAPT_UNSUPPORTED, std::string(model.info.name) + " was compiled without a " +
                                  (isOfPrompts ? "feature_extractor of processor_config.json" : name) +
                                  ", which says how sound becomes features"};
  rapt_audio_processor *opened = nullptr;
  Outcome outcome = Outcome::of([&](char *message, size_t size) {
    return rapt_audio_processor_open(static_cast<const char *>(json), bytes, &opened, message, size);
  });
  processor.reset(opened);
  RAPT_RETURN_IF_ERROR(outcome);
  if (const rapt_status status = rapt_audio_processor_get_info(opened, &info); status != RAPT_OK)
    return {status, std::string(name) + ": the processor says nothing about its features"};
  return isOfPrompts ? Outcome{} : check(model);
}

/// Computes the features of `count` samples.
Outcome SoundReader::compute(const float *samples, size_t count, int64_t (&shape)[2],
                             std::vector<float> &values) const {
  auto call = [&](char *message, size_t size) {
    return rapt_audio_processor_run(processor.get(), samples, count, values.data(), values.size(), shape, message,
                                    size);
  };
  values.resize(size_t(info.bins * info.window_frames)); // of a short sound
  Outcome outcome = Outcome::of(call);
  if (outcome.status == RAPT_FULL) {
    values.resize(size_t(shape[0] * shape[1]));
    outcome = Outcome::of(call);
  }
  if (outcome)
    values.resize(size_t(shape[0] * shape[1]));
  return outcome;
}

template <typename Use> Outcome SoundReader::decode(const std::string &path, Use use) const {
  Expected<std::string> file = readFile(path, mostFileBytes);
  if (!file)
    return {RAPT_IO, file.error().message};
  rapt_audio *opened = nullptr;
  Outcome outcome = Outcome::of([&](char *message, size_t size) {
    return rapt_audio_decode(processor.get(), file->data(), file->size(), &opened, message, size);
  });
  const std::unique_ptr<rapt_audio, Free> audio(opened);
  size_t count = 0;
  const float *const samples = rapt_audio_samples(opened, &count);
  if (outcome)
    outcome = use(samples, count);
  return outcome ? outcome : Outcome{outcome.status, json::printable(path) + ": " + outcome.message};
}

Outcome SoundReader::read(const std::string &path, Sound &sound) const {
  return decode(path, [&](const float *samples, size_t count) -> Outcome {
    int64_t shape[2] = {};
    RAPT_RETURN_IF_ERROR(compute(samples, count, shape, sound.features));
    sound.frames = std::max<int64_t>(int64_t(count) / info.hop, 1);
    sound.columns = shape[1];
    return {};
  });
}

Outcome SoundReader::read(const std::string &path, int64_t (&shape)[2], std::vector<float> &values) const {
  return decode(path, [&](const float *samples, size_t count) {
    if (info.longest && count > size_t(info.longest)) {
      char line[128];
      snprintf(line, sizeof line, ": the sound takes %.1f s, of which the first %.1f s are read",
               double(count) / double(info.sampling_rate), double(info.longest) / double(info.sampling_rate));
      note(json::printable(path) + line);
      count = size_t(info.longest);
    }
    return compute(samples, count, shape, values);
  });
}

std::vector<float> SoundReader::cut(const Sound &sound, int64_t begin) const {
  std::vector<float> window(size_t(info.bins * info.window_frames));
  const int64_t count = std::clamp<int64_t>(sound.columns - begin, 0, info.window_frames);
  for (int64_t bin = 0; bin < info.bins; ++bin)
    std::copy_n(sound.features.begin() + bin * sound.columns + begin, count, window.begin() + bin * info.window_frames);
  return window;
}

} // namespace rapt::run
