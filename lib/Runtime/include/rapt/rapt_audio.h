/*===- rapt_audio.h - Sound for compiled models ------------------------------===*\
|*
|* C99. Turns sound files and samples into the input_features of Whisper and Gemma 4. A part of
|* librapt_text; rapt_text.h has the rules for memory and results. Decoding opens
|* libsndfile.so.1, and resampling libsamplerate.so.0, when they are first needed.
|*
|*   rapt_audio_processor_open(json, json_size, &processor, message, sizeof message);
|*   rapt_audio_decode(processor, file, file_size, &audio, message, sizeof message);
|*   samples = rapt_audio_samples(audio, &count);
|*   rapt_audio_processor_run(processor, samples, count, values, capacity, shape, message, sizeof message);
|*
\*===----------------------------------------------------------------------===*/
#ifndef RAPT_RAPT_AUDIO_H
#define RAPT_RAPT_AUDIO_H
#include "rapt_text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How sound becomes the input_features of a model. Immutable: any number of threads may use one at once. */
typedef struct rapt_audio_processor rapt_audio_processor;
/** The samples of one file, which do not change. */
typedef struct rapt_audio rapt_audio;

/** Numbers of a processor. */
typedef struct rapt_audio_info {
  size_t size;
  int64_t sampling_rate; /**< Samples per second. */
  int64_t bins;          /**< Numbers of a frame: mel filters, or samples. */
  int64_t hop;           /**< Samples from one frame to the next. */
  int64_t window_frames; /**< Frames of one window, to which shorter sound is padded: 3,000 for 30 seconds; 0: sounds
                              have no windows. */
  int64_t longest;       /**< Samples that a sound may have; 0: any number. */
} rapt_audio_info;

/** Reads the content of preprocessor_config.json, or the object feature_extractor of processor_config.json, of a
 * WhisperFeatureExtractor, a Gemma4AudioFeatureExtractor or a Gemma4UnifiedAudioFeatureExtractor. BAD_FILE: not JSON,
 * or of a kind that is not supported; the message names the member and its value. */
RAPT_TEXT_API rapt_status rapt_audio_processor_open(const char *json, size_t json_size, rapt_audio_processor **result,
                                                    char *message, size_t message_size);
/** NULL is allowed. */
RAPT_TEXT_API void rapt_audio_processor_free(rapt_audio_processor *processor);
/** Fills the first info->size bytes of *info, which may be fewer than any version's. */
RAPT_TEXT_API rapt_status rapt_audio_processor_get_info(const rapt_audio_processor *processor, rapt_audio_info *info);

/** Decodes the content of a sound file of any format that libsndfile knows (WAV, FLAC, Ogg, MP3, ...) but MIDI sample
 * dumps, takes the mean of its channels and resamples it to the processor's rate. BAD_FILE: of no known format,
 * damaged, without samples, with samples that are not finite, or with more than 64 channels, 24 hours or 2^30 samples,
 * which is reported before anything is decoded if the header has it. UNSUPPORTED: a library is not there; the message
 * says what to install. libmpg123, through which libsndfile reads MP3, may write about damage to stderr. */
RAPT_TEXT_API rapt_status rapt_audio_decode(const rapt_audio_processor *processor, const void *file, size_t file_size,
                                            rapt_audio **result, char *message, size_t message_size);
/** Samples of one channel at the processor's rate and their number; they live as long as `audio`. */
RAPT_TEXT_API const float *rapt_audio_samples(const rapt_audio *audio, size_t *count);
/** NULL is allowed. */
RAPT_TEXT_API void rapt_audio_free(rapt_audio *audio);

/** Makes the features of samples at the processor's rate, with the numbers of Hugging Face's classes, and writes their
 * extents to `shape` (never NULL). `values` receives f32 [bins, frames] for Whisper: sound shorter than a window is
 * padded with zeros to one, longer sound is not cut and has count / hop frames. For Gemma 4 it receives f32 [frames,
 * bins]. Log-mel frames are those that end within the sound; frames of samples cover all of it, the last one with zeros
 * behind the samples. INVALID: a sample that is not finite, more samples than `longest` or than one call takes, or
 * fewer than a frame needs. */
RAPT_TEXT_API rapt_status rapt_audio_processor_run(const rapt_audio_processor *processor, const float *samples,
                                                   size_t count, float *values, size_t capacity, int64_t shape[2],
                                                   char *message, size_t message_size);

#ifdef __cplusplus
}
#endif

#endif /* RAPT_RAPT_AUDIO_H */
