//===- TensorNames.h - Tensors of a GGUF file by a directory's names -*- C++ -*-===//
#pragma once
#include "lib/Formats/HuggingFace/TensorTable.h"
#include "lib/Import/Families/GGUF/Architectures.h"

namespace rapt::importing {

/// The tensors of a file whose types are all read, but those that `t` took. One that the architecture does not name
/// keeps its name, which no family asks for.
Expected<huggingface::TensorTable> nameTensors(const Architecture &architecture, const Translation &t);

} // namespace rapt::importing
