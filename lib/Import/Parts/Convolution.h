//===- Convolution.h - Convolutions of images, and their norm ---*- C++ -*-===//
//
// Convolutions that the attn dialect has no op for, by those of linalg and tensor. Pixels
// are rows, [images * height * width, channels], as other ops read them.
//
// Woo et al. 2023, "ConvNeXt V2": a channel of an image is as strong as its length over all
// pixels, in units of the mean of all channels.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Parts/Walk.h"

namespace rapt::importing {

/// Extents of images whose pixels are rows.
struct ImageSides {
  mlir::Value images, height, width;

  std::array<mlir::Value, 3> values() const { return {images, height, width}; }
};

/// Rows of pixels as [images, height, width, channels].
mlir::Value expandPixels(const Scope &scope, mlir::Location loc, mlir::Value x, const ImageSides &sides);

/// Convolves each channel of x alone by PART.weight [channels, 1, side, side], and adds PART.bias; `side` is odd, and
/// zeros around the images keep their size.
mlir::Value walkDepthwise(const Walk &walk, mlir::Value x, const ImageSides &sides, const std::string &part,
                          int64_t channels, int64_t side);

/// Windows of `side` x `side` pixels.
struct WindowCut {
  int64_t side;
  int64_t stride = 0;     ///< pixels from one to the next; 0: they are one beside another
  int64_t margin = 0;     ///< zeros around the images
  bool areByRows = false; ///< the order of a window's pixels
};

/// Windows of an image's pixels as rows: pixel by pixel, and these column by column, or row by row. `to` are the
/// extents of images of so many windows; pixels behind the last whole one are left out.
mlir::Value cutWindows(const Scope &scope, mlir::Location loc, mlir::Value x, const ImageSides &from,
                       const ImageSides &to, const WindowCut &cut);

/// Multiplies these windows by PART.weight [out, in, side, side], and adds PART.bias where there is one.
mlir::Value walkStrided(const Walk &walk, mlir::Value x, const ImageSides &from, const ImageSides &to,
                        const std::string &part, int64_t out, int64_t in, const WindowCut &cut, bool hasBias = true);

/// weight * x * l / (mean of l + 1e-6) + bias + x, where l are the lengths of the channels of an image. PART.weight and
/// PART.bias are [1, 1, 1, channels].
mlir::Value walkResponseNorm(const Walk &walk, mlir::Value x, const ImageSides &sides, const std::string &part,
                             int64_t channels);

} // namespace rapt::importing
