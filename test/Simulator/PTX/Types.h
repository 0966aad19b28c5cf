//===- Types.h - Types and lanes of the PTX simulator ----------------------===//
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rapt::ptx {

inline constexpr unsigned warpSize = 32;

/// One bit per lane of a warp.
using LaneMask = uint32_t;
inline constexpr LaneMask allLanes = 0xffffffff;

/// A value per lane.
template <typename T> using Lanes = std::array<T, warpSize>;

/// The type suffixes of PTX instructions and declarations.
enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F64,
  E4M3,
  E5M2,
  E4M3x2,
  E5M2x2
};

/// The type that a suffix without its dot names.
std::optional<Type> parseType(std::string_view suffix);
std::string_view nameOf(Type type);
/// Bytes of a value; 0 for a predicate.
unsigned sizeOf(Type type);
bool isSigned(Type type);
bool isFloat(Type type);

/// State spaces. Generic addresses name memory of any of them.
enum class Space : uint8_t { Generic, Global, Shared, Local, Param, Const };
std::string_view nameOf(Space space);

/// Calls `function(lane)` for each lane of `mask`.
template <typename Function> void forEachLane(LaneMask mask, Function function) {
  for (LaneMask rest = mask; rest; rest &= rest - 1)
    function(unsigned(__builtin_ctz(rest)));
}

} // namespace rapt::ptx
