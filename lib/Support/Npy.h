//===- Npy.h - NumPy's file format for dense tensors ---------------------------===//
//
// The files that rapt-run and rapt-reference read with --input and write with --output.
// Source: numpy.lib.format, versions 1.0 to 3.0; little-endian, C order only.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/File.h"
#include <cstdint>
#include <string>
#include <vector>

namespace rapt {

/// U16 has the bits of bf16 or f16, as kernels take them.
enum class NpyType : uint8_t { F32, F64, I32, I64, Bool, F16, U16, I8 };

/// Bytes of an element, and "f32", ... for messages.
size_t sizeOf(NpyType type);
bool isFloat(NpyType type);
bool isInteger(NpyType type); ///< or a truth value
const char *nameOf(NpyType type);

/// A dense tensor in C order.
struct NpyTensor {
  NpyType type = NpyType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
};

/// Reads a whole .npy file. Errors name the path and what is wrong: another type or order, or a size other than the
/// header's shape needs.
Expected<NpyTensor> readNpy(const std::string &path);

/// Writes version 1.0 under a temporary name and renames it. `data` is dense, in C order.
Status writeNpy(const std::string &path, NpyType type, std::span<const int64_t> shape, std::span<const std::byte> data);

} // namespace rapt
