//===- ModelTensors.h - Tensors of a model by the names of its program -----------*- C++ -*-===//
#pragma once
#include "lib/Artifact/TensorReader.h"
#include "lib/Formats/HuggingFace/ModelDescription.h"
#include <memory>

namespace rapt::driver {

/// Whether the file begins as a GGUF file does.
bool isGGUFFile(const std::string &path);

struct GGUFTensors {
  std::unique_ptr<artifact::TensorReader> reader;
  huggingface::SideFiles files; ///< those of a directory that the file has
};

/// Its tensors, by the names that the imported program has; by their own where the file names no architecture. Errors
/// are those of importing::describeGGUF.
Expected<GGUFTensors> openGGUFTensors(const std::string &path);

/// The tensors of a model directory. Errors are those of huggingface::TensorTable::load.
Expected<std::unique_ptr<artifact::TensorReader>> openDirectoryTensors(const std::string &path);

/// The tensors of a GGUF file or of a model directory, as the parameters of a program name them.
Expected<std::unique_ptr<artifact::TensorReader>> openTensors(const std::string &path);

} // namespace rapt::driver
