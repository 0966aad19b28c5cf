//===- DefaultClasses.h - Classes of tokenizers and processors by type -----------*- C++ -*-===//
#pragma once
#include "lib/Formats/HuggingFace/Precedence.h"

namespace rapt::importing {

/// The classes that AutoTokenizer, AutoImageProcessor and AutoFeatureExtractor of transformers 5 take for a model type;
/// empty where nothing here depends on the class.
huggingface::DefaultClasses defaultClassesOf(std::string_view modelType);

} // namespace rapt::importing
