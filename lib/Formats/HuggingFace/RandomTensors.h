//===- RandomTensors.h - Seeded weights of any shape ------------------------===//
//
// Value i of a tensor depends on seed, tensor name and i alone: a counter hash,
// integers and one float multiplication, so that anyone can recompute it.
// docs/RandomWeights.md is the specification.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/TensorReader.h"
#include "lib/Formats/HuggingFace/TensorRequest.h"
#include <memory>
#include <span>

namespace rapt::huggingface {

/// Values of `requests` in `dtype`, generated as they are read, from any number of threads.
std::unique_ptr<artifact::TensorReader> makeRandomTensors(uint64_t seed, artifact::DType dtype,
                                                          std::span<const TensorRequest> requests);

} // namespace rapt::huggingface
