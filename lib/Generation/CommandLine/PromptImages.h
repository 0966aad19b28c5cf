//===- PromptImages.h - Images in the prompt of a model that reads them ----------===//
#pragma once
#include "lib/Generation/CommandLine/Text.h"

namespace rapt::run {

/// The vectors of a prompt's images.
class PromptImages {
public:
  /// Reads the files of --image and runs the model's encode_image, in a context of its own.
  Outcome read(const Options &options, Model &model);
  /// Puts as many image tokens as an image has vectors in place of each one of the prompt, and gives it the vectors.
  /// Errors: not as many of them as there are images.
  Outcome place(const Model &model, const Text &text, Prompt &prompt) const;

private:
  std::vector<size_t> counts; ///< vectors of each image
  std::vector<float> vectors;
  Ids grids; ///< see Prompt::grids
};

} // namespace rapt::run
