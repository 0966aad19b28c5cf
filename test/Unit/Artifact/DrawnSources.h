//===- DrawnSources.h - Random chains of transforms, for tests of the packer ----===//
#pragma once
#include "lib/Artifact/Source.h"
#include <algorithm>
#include <random>

namespace rapt::artifact {

/// A step after which a tensor has `shape`; that becomes the shape before it. Moves alone where `keepsValues`.
inline Transform drawStep(std::mt19937 &random, Shape &shape, bool keepsValues) {
  auto below = [&](size_t n) { return int64_t(random() % n); };
  const int64_t kind = below(keepsValues ? 3 : 5);
  if (kind == 0 && !shape.empty()) {
    Slice slice{below(shape.size()), below(3), 0};
    slice.end = slice.begin + shape[slice.dim];
    shape[slice.dim] = slice.end + below(3);
    return slice;
  }
  if (kind == 1 && !shape.empty()) {
    Transpose transpose;
    for (size_t i = 0; i < shape.size(); ++i)
      transpose.order.push_back(int64_t(i));
    std::shuffle(transpose.order.begin(), transpose.order.end(), random);
    Shape before(shape.size());
    for (size_t i = 0; i < shape.size(); ++i)
      before[transpose.order[i]] = shape[i];
    shape = before;
    return transpose;
  }
  if (kind < 3) { // some neighbors as one dim, which is then cut anew, or a dim of 1 more
    Reshape reshape{shape};
    for (int64_t times = below(3); times > 0 && shape.size() > 1; --times) {
      const int64_t dim = below(shape.size() - 1);
      shape[dim] *= shape[dim + 1];
      shape.erase(shape.begin() + dim + 1);
    }
    for (int64_t times = below(3); times > 0; --times) {
      const int64_t dim = below(shape.size() + 1);
      int64_t inner = 1;
      if (dim < int64_t(shape.size()))
        for (int64_t factor : {7, 5, 3, 2})
          if (shape[dim] % factor == 0 && below(2))
            inner *= factor, shape[dim] /= factor;
      shape.insert(shape.begin() + std::min<int64_t>(dim + 1, int64_t(shape.size())), inner);
    }
    return reshape;
  }
  if (kind == 3)
    return Cast{DType(below(3))};
  constexpr float factors[] = {0.125f, -1.0f, 3.14159274f, 1e-3f};
  return Scale{factors[below(4)]};
}

/// A source whose chain of `steps` transforms gives `shape`.
inline Source drawSource(std::mt19937 &random, const std::string &name, Shape shape, size_t steps, bool keepsValues) {
  Source source{name, {}};
  for (size_t i = 0; i < steps; ++i)
    source.transforms.insert(source.transforms.begin(), drawStep(random, shape, keepsValues));
  source.shape = std::move(shape);
  return source;
}

} // namespace rapt::artifact
