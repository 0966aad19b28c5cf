//===- ImageGrid.h - Sources that are a grid over an image ---------------*- C++ -*-===//
//
// Images of one size go through convolutions, each with ReLU and maximum pooling, to the
// grid of vectors that a decoder attends to (Xu et al. 2015).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Parts/Walk.h"

namespace rapt::importing {

/// relu(convolution), then the maximum of each window of `pool` x `pool` pixels, one beside another.
struct GridConvolution {
  int64_t channels, kernel, stride, padding, pool;
};

/// Pixels of an image, or vectors of a grid.
struct GridExtents {
  int64_t channels, height, width;

  int64_t pixels() const { return height * width; }
};

struct ImageGridSpec {
  GridExtents image;
  std::vector<GridConvolution> layers;
  std::string part = "convolutions"; ///< tensors PART.{k}.weight [out, in, kernel, kernel] and PART.{k}.bias

  /// Extents ahead of layer `layer`, and behind all of them.
  GridExtents before(size_t layer) const;
  GridExtents grid() const { return before(layers.size()); }
  /// Pixels that the convolution of a layer makes.
  GridExtents convolved(size_t layer) const;
};

/// The keys `image_size`, `num_channels` and `conv_*` of a config. Records errors.
ImageGridSpec readImageGrid(huggingface::ConfigReader &config);

/// The vectors of images [images, channels, height, width], row by row of a grid: [images * pixels, channels].
mlir::Value walkImageGrid(const Walk &walk, const ImageGridSpec &spec, mlir::Value images);

} // namespace rapt::importing
