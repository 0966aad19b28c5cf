//===- Source.h - Tensors of a checkpoint that become parameters ---------------===//
//
// The steps from a tensor to a parameter, for the packer, which knows no MLIR. The
// attributes of the dialect (#attn.source) say the same.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace rapt::artifact {

enum class DType : uint8_t { F32, BF16, F16 };
inline uint64_t sizeOf(DType t) { return t == DType::F32 ? 4 : 2; }

using Shape = std::vector<int64_t>;

/// Indices begin to end - 1 of a dim.
struct Slice {
  int64_t dim, begin, end;
};
/// Dim i becomes what dim order[i] was.
struct Transpose {
  std::vector<int64_t> order;
};
/// The same elements in the same row-major order.
struct Reshape {
  Shape shape;
};
/// To nearest, ties to even.
struct Cast {
  DType type;
};
/// A multiplication in binary32.
struct Scale {
  float factor;
};
/// An addition in binary32.
struct Add {
  float summand;
};
using Transform = std::variant<Slice, Transpose, Reshape, Cast, Scale, Add>;

/// One tensor of the checkpoint that becomes (part of) a parameter.
struct Source {
  /// Name in the checkpoint; "{layer}" stands for firstLayer + i of a stacked parameter.
  std::string name;
  Shape shape; ///< in the checkpoint
  /// Applied in order, to the tensor's values as f32.
  std::vector<Transform> transforms = {};
};

/// How several sources become one parameter.
struct Join {
  enum Kind : uint8_t {
    Concat, ///< along `dim`
    Stack   ///< along a new dim, `dim` of the parameter's
  };
  Kind kind = Concat;
  int64_t dim = 0;
};

/// Name of the source's tensor in layer number `layer`.
std::string sourceName(const Source &source, int64_t layer);

/// The shape that a transform gives; fails where it does not fit `shape`.
Expected<Shape> shapeAfter(const Transform &transform, Shape shape);
/// The shape that all of a source's transforms give.
Expected<Shape> shapeOf(const Source &source);

std::string textOf(const Shape &shape); ///< "[2, 3]"
/// "slice<dim = 0, 0 to 2>, transpose<1, 0>"; empty without transforms.
std::string textOf(const std::vector<Transform> &transforms);

} // namespace rapt::artifact
