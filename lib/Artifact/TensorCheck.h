//===- TensorCheck.h - Looking for NaN and infinity in a model's tensors --------===//
#pragma once
#include "lib/Artifact/TensorReader.h"

namespace rapt::artifact {

/// Names of all source tensors of `parameters`, layers expanded, each once, sorted.
std::vector<std::string> sourceTensors(const std::vector<Parameter> &parameters);

/// Reads every source tensor and gives one line for each that holds NaN or infinite values ("tensor 'x': 3 of 64 values
/// are NaN or infinite"), in the order of their names. Reading errors are errors.
Expected<std::vector<std::string>> checkTensors(const std::vector<Parameter> &parameters, const TensorReader &reader,
                                                unsigned threads = 0);

} // namespace rapt::artifact
