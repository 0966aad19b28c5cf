//===- Limits.h - What a GGUF file may have ----------------------------------===//
//
// A file's numbers are hostile: each is compared with one of these, and with the bytes that are left in the file,
// before memory is taken for it. Real files are far below them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstdint>

namespace rapt::gguf {

inline constexpr uint64_t mostKeys = 100'000;
inline constexpr uint64_t mostTensors = 1'000'000;              ///< of all parts
inline constexpr uint64_t mostKeyBytes = 65'535;                ///< of a key, in ASCII
inline constexpr uint64_t mostStringBytes = uint64_t(64) << 20; ///< of a value
inline constexpr uint64_t mostArrayElements = uint64_t(1) << 22;
inline constexpr uint64_t mostNameBytes = 63; ///< of a tensor's name
inline constexpr uint64_t mostDims = 4;
inline constexpr uint64_t mostAlignment = 65'536;
inline constexpr uint64_t mostHeaderBytes = uint64_t(1) << 30; ///< before the data
inline constexpr uint64_t mostParts = 99'999;                  ///< five digits of a part's name

} // namespace rapt::gguf
