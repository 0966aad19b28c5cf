//===- SafeTensorsWriter.h - Writing tensors as one safetensors file --------===//
#pragma once
#include "lib/Artifact/TensorReader.h"
#include "lib/Support/Expected.h"
#include "lib/Support/Progress.h"
#include <span>
#include <string>

namespace rapt::huggingface {

/// Streams the tensors `names` of `reader` into `path`, in that order. The file appears only when complete. Errors name
/// the file or the tensor. `onBytes` is called with the number of bytes of tensors as they are written.
Status writeSafeTensors(const std::string &path, const artifact::TensorReader &reader,
                        std::span<const std::string> names, const ProgressCallback &onBytes = {});

} // namespace rapt::huggingface
