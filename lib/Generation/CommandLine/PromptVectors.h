//===- PromptVectors.h - Images and sounds in the prompt of a model that reads them -===//
#pragma once
#include "lib/Generation/CommandLine/Text.h"
#include <optional>

namespace rapt::run {

/// The vectors of a prompt's images and sounds, each of which has one token in the prompt as it is written.
class PromptVectors {
public:
  /// Reads the files of --image and --audio and runs the model's encode_image and encode_audio, in a context of its
  /// own.
  Outcome read(const Options &options, Model &model);
  /// Puts as many tokens as an image or sound has vectors in place of each one of the prompt, and gives it the vectors.
  /// Errors: not as many of them as there are images, or sounds.
  Outcome place(const Model &model, const Text &text, Prompt &prompt) const;

private:
  /// Those of an image or a sound, one behind another, each with all of its parts.
  struct Vectors {
    size_t count;
    std::vector<float> numbers;
  };
  using List = std::vector<Vectors>;
  struct Kind;
  static Outcome encode(const Model &model, const char *entry, const char *input, const char *output,
                        const std::string &path, const std::vector<int64_t> &extents, std::vector<float> &values,
                        List &list);
  Outcome readImages(const Options &options, Model &model);
  Outcome readSounds(const Options &options, Model &model);
  Outcome chooseStep(Model &model) const;

  List images, sounds;
  Ids grids; ///< see Prompt::grids
};

} // namespace rapt::run
