//===- MatmulTensors.h - Matmuls of two matrices of a checkpoint as tensors -===//
#pragma once
#include "lib/Artifact/TensorReader.h"
#include <memory>
#include <string>

namespace rapt::huggingface {

/// The name of `left` [m, k] times `right` [k, n].
std::string matmulName(std::string_view left, std::string_view right);
/// The two names of which matmulName made `name`; two empty ones where it made none.
std::pair<std::string_view, std::string_view> factorsOf(std::string_view name);

/// The tensors of `base`, and any matrix times another that fits it, by their matmulName: sums in
/// binary64, rounded to f32 once. A result is computed when it is first read, and kept.
std::unique_ptr<artifact::TensorReader> withMatmuls(std::unique_ptr<artifact::TensorReader> base);

} // namespace rapt::huggingface
