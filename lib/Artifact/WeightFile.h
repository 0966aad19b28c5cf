//===- WeightFile.h - Ids and header of a weight file --------------------------===//
//
// The format is that of rapt/artifact.h; here are the parts that the packer, the
// manifest and a packed file given on the command line have in common.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/Parameter.h"
#include "lib/Support/Expected.h"
#include <array>
#include <cstddef>
#include <rapt/artifact.h>
#include <span>
#include <string>

namespace rapt::artifact {

/// A 128-bit id in canonical (big-endian) byte order.
struct Id {
  std::array<uint8_t, 16> bytes{};
  bool operator==(const Id &) const = default;
  std::string hex() const; ///< 32 digits
};

/// XXH3-128 of `data`.
Id hash(std::span<const std::byte> data);

/// Bytes of one piece of the content id.
constexpr uint64_t pieceBytes = uint64_t(4) << 20;

/// The id of what code and weight file must agree on: names, shapes, types, layouts, offsets and the section's size.
Id interfaceId(const std::vector<Parameter> &parameters, uint64_t weightsBytes);

/// "panels32x1", "panels32x2" or "row-major".
std::string nameOf(const Layout &layout);
/// The element type of a parameter: "f32", "bf16", "f16", or bits and groups of a quantized one, "u4g32".
std::string elementOf(const Parameter &parameter);

/// Bytes of the section "weights" that holds all of `parameters`: a multiple of 64.
uint64_t weightsBytes(const std::vector<Parameter> &parameters);

/// Name of a weight file: BASE-<first 8 digits of the content id>.weights.
std::string weightFileName(const std::string &base, const Id &contentId);

/// The header of an existing weight file, checked against the file's size and the rules of rapt/artifact.h. Errors name
/// file and numbers.
Expected<rapt_weights_header> readWeightHeader(const std::string &path);

} // namespace rapt::artifact
