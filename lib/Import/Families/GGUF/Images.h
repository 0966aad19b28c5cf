//===- Images.h - A tower of images in a file of its own ------------*- C++ -*-===//
#pragma once
#include "lib/Formats/GGUF/File.h"
#include "lib/Formats/HuggingFace/ModelDescription.h"

namespace rapt::importing {

/// Makes a language model one that reads images: llava of a llama and the tower and the projector of `images`, a file
/// of architecture "clip"; `language` is the model's file. Errors name the file, and key or tensor: of another
/// projector, of images that are cut into several, of a language model of another architecture.
Status addImages(huggingface::ModelParts &parts, const gguf::File &language, const gguf::File &images);

} // namespace rapt::importing
