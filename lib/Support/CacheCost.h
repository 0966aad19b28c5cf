//===- CacheCost.h - Bytes that a sequence takes in the cache of a model -----------*- C++ -*-===//
#pragma once
#include "lib/Support/Units.h"
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace rapt {

/// Tokens of a step where the context's options name no other number.
inline constexpr int64_t defaultStepTokens = 512;

/// Bytes of keys and values for a token: of layers that keep all tokens, and of those that keep a window of them.
struct CacheCost {
  int64_t bytes = 0, windowBytes = 0;
  int64_t window = 0; ///< 0: no layer has one

  /// Bytes for a sequence. Layers of a window keep the tokens of a step besides.
  uint64_t ofSequence(int64_t tokens) const {
    return uint64_t(bytes) * uint64_t(tokens) +
           uint64_t(windowBytes) * uint64_t(std::min(tokens, window + defaultStepTokens));
  }
};

/// "8,192 bytes per token, 40,960 of a window of 512".
inline std::string cacheCost(const CacheCost &cost) {
  const std::string all = grouped(uint64_t(cost.bytes)) + " bytes per token";
  if (!cost.window)
    return all;
  return (cost.bytes ? all + ", " : "") + grouped(uint64_t(cost.windowBytes)) + (cost.bytes ? "" : " bytes per token") +
         " of a window of " + grouped(uint64_t(cost.window));
}

/// The types in which some layers store keys and values.
struct CacheTypes {
  std::string keys, values;
};

/// "bf16"; "int8 keys, bf16 values" where these are the types of all `parts` of a cache whose type is "mixed"; "mixed"
/// where layers differ.
inline std::string cacheTypes(const std::string &type, const std::vector<CacheTypes> &parts) {
  const bool same = std::all_of(parts.begin(), parts.end(), [&](const CacheTypes &part) {
    return part.keys == parts[0].keys && part.values == parts[0].values;
  });
  return type != "mixed" || parts.empty() || !same ? type : parts[0].keys + " keys, " + parts[0].values + " values";
}

/// "; states: 8,192 bytes per sequence"; empty where there are none.
inline std::string stateCost(int64_t bytes) {
  return bytes ? "; states: " + grouped(uint64_t(bytes)) + " bytes per sequence" : "";
}

} // namespace rapt
