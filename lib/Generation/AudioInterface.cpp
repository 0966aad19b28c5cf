//===- AudioInterface.cpp - rapt_audio_... ---------------------------------===//
#include "lib/Audio/Decode.h"
#include "lib/Audio/LogMel.h"
#include "lib/Audio/Resample.h"
#include "lib/Generation/TextInterface.h"
#include "rapt/rapt_audio.h"

using namespace rapt;
using namespace rapt::text;

struct rapt_audio_processor {
  std::unique_ptr<audio::Extractor> features;
};

struct rapt_audio {
  audio::Sound sound;
};

rapt_status rapt_audio_processor_open(const char *json, size_t json_size, rapt_audio_processor **result, char *message,
                                      size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!json || !result)
      return invalid("rapt_audio_processor_open: json or result is NULL");
    *result = nullptr;
    Expected<audio::Extraction> how = audio::readExtraction({json, json_size});
    if (!how)
      return {RAPT_BAD_FILE, how.error().message};
    *result = new rapt_audio_processor{audio::makeExtractor(*how)};
    return {};
  });
}

void rapt_audio_processor_free(rapt_audio_processor *processor) { delete processor; }

rapt_status rapt_audio_processor_get_info(const rapt_audio_processor *processor, rapt_audio_info *info) {
  if (!processor || !info)
    return RAPT_INVALID;
  size_t size = info->size;
  if (size < sizeof size || size > mostStructBytes || size % sizeof(size_t))
    return RAPT_INVALID;
  const audio::Extraction &how = processor->features->extraction();
  const int64_t window = how.kind == audio::Extraction::Whisper ? how.windowFrames() : 0;
  rapt_audio_info all = {size, how.rate, how.bins, how.hop, window, how.longest};
  std::memcpy(info, &all, size < sizeof all ? size : sizeof all);
  return RAPT_OK;
}

/// The outcome of a sound that could not be had: a library that is not there is no fault of the file's.
static Outcome soundFailure(const Status &library, const Error &error) {
  return {library ? RAPT_BAD_FILE : RAPT_UNSUPPORTED, error.message};
}

rapt_status rapt_audio_decode(const rapt_audio_processor *processor, const void *file, size_t file_size,
                              rapt_audio **result, char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!processor || !result || (!file && file_size > 0))
      return invalid("rapt_audio_decode: processor, file or result is NULL");
    *result = nullptr;
    Expected<audio::Sound> sound = audio::decode({static_cast<const char *>(file), file_size});
    if (!sound)
      return soundFailure(file_size > 0 ? audio::checkDecoder() : Status(), sound.error());
    sound = audio::resample(std::move(*sound), processor->features->extraction().rate);
    if (!sound)
      return soundFailure(audio::checkResampler(), sound.error());
    *result = new rapt_audio{std::move(*sound)};
    return {};
  });
}

const float *rapt_audio_samples(const rapt_audio *audio, size_t *count) {
  if (count)
    *count = audio ? audio->sound.samples.size() : 0;
  return audio ? audio->sound.samples.data() : nullptr;
}

void rapt_audio_free(rapt_audio *audio) { delete audio; }

rapt_status rapt_audio_processor_run(const rapt_audio_processor *processor, const float *samples, size_t count,
                                     float *values, size_t capacity, int64_t shape[2], char *message,
                                     size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!processor || !shape || (!samples && count > 0))
      return invalid("rapt_audio_processor_run: processor, samples or shape is NULL");
    const audio::Extractor &features = *processor->features;
    auto extents = features.shape(count);
    if (!extents)
      return invalid(extents.error().message);
    shape[0] = (*extents)[0], shape[1] = (*extents)[1];
    size_t length = 0, needed = size_t(shape[0] * shape[1]);
    if (!values || capacity < needed)
      return give<float>(nullptr, needed, values, capacity, &length, "numbers");
    if (Status status = features.run({samples, count}, values); !status)
      return invalid(status.error().message);
    return {};
  });
}
