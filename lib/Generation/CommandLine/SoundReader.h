//===- SoundReader.h - Sound files as features ------------------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Model.h"
#include "rapt/rapt_audio.h"
#include <memory>
#include <vector>

namespace rapt::run {

/// A sound as a model reads it.
struct Sound {
  int64_t frames = 0;          ///< of the sound itself, at least 1
  int64_t columns = 0;         ///< of the features; more than frames where a window is longer than the sound
  std::vector<float> features; ///< f32 [bins, columns]
};

/// Reads sound files as the processor of the model's directory does: sources of a model, or sounds in its prompts.
class SoundReader {
public:
  /// Errors: a model without such a processor, or one with other features.
  Outcome open(const Model &model);
  /// The processor adds silence to a sound that is shorter than a window.
  Outcome read(const std::string &path, Sound &sound) const;
  /// The features [frames, bins] of a sound in a prompt. Says so where the processor reads only its beginning.
  Outcome read(const std::string &path, int64_t (&shape)[2], std::vector<float> &values) const;
  /// The features of a window, [bins, window], from frame `begin` on; 0 behind the last frame.
  std::vector<float> cut(const Sound &sound, int64_t begin) const;

  int64_t windowFrames() const { return info.window_frames; }
  double seconds(int64_t frames) const { return double(frames * info.hop) / double(info.sampling_rate); }

private:
  struct Free {
    void operator()(rapt_audio_processor *p) const { rapt_audio_processor_free(p); }
    void operator()(rapt_audio *p) const { rapt_audio_free(p); }
  };
  Outcome check(const Model &model) const;
  Outcome compute(const float *samples, size_t count, int64_t (&shape)[2], std::vector<float> &values) const;
  /// Gives use(samples, count) those of a file.
  template <typename Use> Outcome decode(const std::string &path, Use use) const;

  std::unique_ptr<rapt_audio_processor, Free> processor;
  rapt_audio_info info = sized<rapt_audio_info>();
};

} // namespace rapt::run
