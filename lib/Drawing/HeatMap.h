//===- HeatMap.h - A matrix of weights as a picture -----------------------------===//
//
// Colors are those of ColorScale.h, from 0 to the picture's largest weight, which a bar
// tells. Rows go down, columns to the right, each with its text on the axis, as
// alignments are drawn in Bahdanau et al. 2015.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Drawing/Font.h"
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rapt::drawing {

inline constexpr size_t mostSvgCells = size_t(1) << 18; ///< a cell is an element of its own, of some 130 bytes
inline constexpr size_t mostPixels = size_t(1) << 26;   ///< of a PNG

/// The texts on the axes, at least one each. Texts are shown as label() makes them.
struct Axes {
  std::vector<std::string> rows, columns;
};

/// A drawing of [rows, columns] weights as SVG, whose cells are 24 units wide and tell their weight. Empty where there
/// are more than `mostSvgCells`.
std::string drawSvg(const Axes &axes, const std::string &title, std::span<const float> weights);

/// Pictures of maps that have the same axes. Cells are squares of 24 pixels, or as many fewer as keep the map within
/// 4096; below 10 pixels text does not fit: then the picture has the cells alone. The map ends 12 pixels from
/// the right and from the bottom; title and bar stand at the top left.
class Raster {
public:
  /// `longestTitle` fits. Errors: more pixels than `mostPixels`, a font that does not open.
  static Expected<Raster> make(const Axes &axes, const std::string &longestTitle);

  Picture draw(const std::string &title, std::span<const float> weights);
  bool hasText() const { return font.has_value(); }
  size_t cell() const { return side; }

private:
  Raster(size_t side, size_t rows, size_t columns, Picture empty)
      : side(side), rows(rows), columns(columns), empty(std::move(empty)) {}

  size_t side, rows, columns;
  Picture empty; ///< everything but the title and the weights
  std::optional<Font> font;
};

/// The bar of a scale from 0 to `top`, at (x, y) a rectangle of 128 x 12 pixels between its ends' numbers.
void drawBar(Picture &picture, Font &font, size_t x, size_t y, float top);
/// Pixels that a bar takes at most from left to right.
size_t barWidth(Font &font);

} // namespace rapt::drawing
