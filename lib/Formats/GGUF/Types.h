//===- Types.h - Types of tensors in a GGUF file ----------------------------===//
#pragma once
#include <cstdint>
#include <string_view>

namespace rapt::gguf {

/// What Rapt does with tensors of a type.
enum class TypeUse : uint8_t {
  Read,    ///< computes with their numbers
  Later,   ///< knows how many bytes they take, and refuses models of them
  Integer, ///< knows them as no weights
  Refused, ///< refuses files that have them
};

/// A type of tensors: blocks of numbers along the first dim, which is a row's.
struct TensorType {
  uint32_t number;
  std::string_view name;
  uint64_t elements; ///< of a block; 0 of refused types
  uint64_t bytes;    ///< of a block
  TypeUse use;
  std::string_view reason; ///< why a type is refused
};

/// The type of that number in a file, null when there is none.
const TensorType *findType(uint32_t number);

} // namespace rapt::gguf
