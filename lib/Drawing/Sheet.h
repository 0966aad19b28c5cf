//===- Sheet.h - Many maps on one picture, and a map on an image ----------------===//
#pragma once
#include "lib/Drawing/HeatMap.h"

namespace rapt::drawing {

struct CaptionedMap {
  std::string caption;
  std::vector<float> weights; ///< [rows, columns]
};

/// All maps side by side, each within 256 pixels: one color scale for all, and a caption above each. A pixel of a map
/// with more rows or columns is the largest of the weights that it stands for. Errors: more pixels than `mostPixels`.
Expected<Picture> drawSheet(const std::string &title, size_t rows, size_t columns,
                            const std::vector<CaptionedMap> &maps);

/// An image in gray, [height, width] from 0 to 1.
struct GrayImage {
  size_t height = 0, width = 0;
  std::vector<float> pixels;
};

/// The image with `weights` [high, wide] of its patches of `patch` pixels over it: a third of a pixel is its gray, so
/// that in print, too, the weights stand out. Small images are enlarged.
Expected<Picture> drawOverlay(const std::string &title, const GrayImage &image, size_t patchHeight, size_t patchWidth,
                              size_t wide, std::span<const float> weights);

/// The image once for each map, whose weights [high, wide] are of a grid over it, side by side as in drawSheet.
Expected<Picture> drawOverlays(const std::string &title, const GrayImage &image, size_t high, size_t wide,
                               const std::vector<CaptionedMap> &maps);

} // namespace rapt::drawing
