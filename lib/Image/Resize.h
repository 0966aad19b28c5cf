//===- Resize.h - Resizing as Pillow does it -------------------------------===//
#pragma once
#include "lib/Image/Image.h"
#include "lib/Support/Expected.h"

namespace rapt::image {

/// Numbered as in Pillow and preprocessor_config.json ("resample").
enum class Filter { Nearest = 0, Lanczos = 1, Bilinear = 2, Bicubic = 3, Box = 4, Hamming = 5 };

/// Pillow's Image.resize, byte for byte: the filter's support grows when shrinking, bicubic has a = -0.5, columns are
/// resized first and rounded to 8 bits, then rows. Errors: a size that is not positive or too large to be made.
Expected<Image> resize(const Image &image, int64_t width, int64_t height, Filter filter);

/// Pixels times `factor`, then resized without rounding, as torchvision resizes tensors of f32: [height, width, 3]. The
/// filter is bilinear or bicubic. Errors: those of `resize`, and another filter.
Expected<std::vector<float>> resizeRescaled(const Image &image, double factor, int64_t width, int64_t height,
                                            Filter filter);

} // namespace rapt::image
