//===- Types.cpp - Types of tensors in a GGUF file --------------------------===//
#include "lib/Formats/GGUF/Types.h"

using namespace rapt;

static constexpr gguf::TensorType types[] = {
#define RAPT_GGML_TYPE(NUMBER, NAME, ELEMENTS, BYTES, USE, REASON)                                                     \
  {NUMBER, NAME, ELEMENTS, BYTES, gguf::TypeUse::USE, REASON},
#include "lib/Formats/GGUF/Types.def"
};

const gguf::TensorType *gguf::findType(uint32_t number) {
  for (const TensorType &type : types)
    if (type.number == number)
      return &type;
  return nullptr;
}
