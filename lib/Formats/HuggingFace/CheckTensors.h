//===- CheckTensors.h - Looking for NaN and infinity in weights -------------===//
#pragma once
#include "lib/Artifact/TensorReader.h"
#include "lib/Support/Expected.h"
#include "lib/Support/Progress.h"
#include <span>
#include <string>

namespace rapt::huggingface {

/// Reads every value of the tensors `names`. An error names each tensor that holds NaN or infinity, the index of its
/// first such value, that value and their number.
/// `onBytes` is called with the number of bytes of each as they are read.
Status checkTensors(const artifact::TensorReader &reader, std::span<const std::string> names,
                    const ProgressCallback &onBytes = {});

} // namespace rapt::huggingface
