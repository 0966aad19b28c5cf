//===- Filters.h - The weights of Pillow's filters ------------------------===//
#pragma once
#include "lib/Image/Resize.h"

namespace rapt::image {

/// For each output position of one axis the input positions it is made of, and their weights, which add up to 1. The
/// filter's support grows when shrinking. Any filter but the nearest position's.
struct FilterWeights {
  struct Range {
    int64_t begin, count;
  };
  std::vector<Range> ranges;
  std::vector<double> values; ///< [output, most]
  int64_t most;

  FilterWeights(int64_t input, int64_t output, Filter filter);
};

} // namespace rapt::image
