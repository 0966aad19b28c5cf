#include "lib/Drawing/Sheet.h"
#include "lib/Drawing/ColorScale.h"
#include <algorithm>
#include <cmath>

namespace rapt::drawing {
namespace {

constexpr size_t mapSide = 256, imageSide = 384, smallSide = 128; // pixels
constexpr size_t textSize = 14, gap = 6, margin = 12;
constexpr size_t headHeight = textSize + 12 + 6 * gap; // of title and bar

/// Title and bar on white, above `width` x `height` pixels.
Expected<Picture> begin(Font &font, const std::string &title, size_t width, size_t height, float top) {
  width = std::max({width + 2 * margin, font.widthOf(title) + 2 * gap, barWidth(font) + 2 * gap});
  height += headHeight + margin;
  if (width > mostPixels / height)
    return Error{"a picture of " + std::to_string(width) + " x " + std::to_string(height) + " pixels is more than " +
                 std::to_string(mostPixels)};
  Picture picture(width, height);
  font.write(picture, gap, gap + textSize, title, Direction::Right);
  drawBar(picture, font, gap, 3 * gap + textSize, top);
  return picture;
}

float largest(std::span<const float> weights) {
  float most = 0;
  for (float weight : weights)
    if (std::isfinite(weight)) // as topOf
      most = std::max(most, weight);
  return most;
}

/// The largest weight of the rows and columns that pixel (x, y) stands for.
float largest(const CaptionedMap &map, size_t columns, size_t y, size_t endRow, size_t x, size_t endColumn) {
  float most = 0;
  for (size_t row = y; row < endRow; ++row)
    for (size_t column = x; column < endColumn; ++column)
      most = std::max(most, map.weights[row * columns + column]);
  return most;
}

/// Maps of `width` x `height` pixels side by side, with a frame around each and a caption above it.
class Layout {
public:
  Layout(Font &font, const std::vector<CaptionedMap> &maps, size_t width, size_t height)
      : font(font), maps(maps), width(width), height(height),
        perLine(size_t(std::ceil(std::sqrt(double(maps.size()))))) {
    size_t captionWidth = 0;
    std::vector<float> peaks;
    for (const CaptionedMap &map : maps) {
      captionWidth = std::max(captionWidth, font.widthOf(map.caption));
      peaks.push_back(largest(map.weights));
    }
    top = topOf(peaks);
    stepX = std::max(width, captionWidth) + margin;
    stepY = height + textSize + 3 * gap;
  }

  /// `draw(picture, map, left, first)` fills the rectangle of a map, whose colors end at the weight `top`.
  template <typename Draw> Expected<Picture> draw(const std::string &title, Draw drawMap) {
    const size_t lines = (maps.size() + perLine - 1) / perLine;
    Expected<Picture> picture = begin(font, title, perLine * stepX, lines * stepY, top);
    for (size_t i = 0; picture && i < maps.size(); ++i) {
      const size_t left = margin + i % perLine * stepX, under = headHeight + i / perLine * stepY;
      font.write(*picture, left, under + textSize, maps[i].caption, Direction::Right);
      const size_t first = under + textSize + gap;
      picture->fill(left - 1, first - 1, width + 2, height + 2, {128, 128, 128});
      drawMap(*picture, maps[i], left, first);
    }
    return picture;
  }

  float top = 0;

private:
  Font &font;
  const std::vector<CaptionedMap> &maps;
  size_t width, height, perLine, stepX = 0, stepY = 0;
};

/// A third of an image's gray, from 0 to 1, and the color of a weight.
Color mixed(float gray, Color color) {
  const float own = 255 * std::clamp(gray, 0.0f, 1.0f);
  auto part = [&](uint8_t other) { return uint8_t(std::lround((own + 2 * float(other)) / 3)); };
  return {part(color.red), part(color.green), part(color.blue)};
}

} // namespace

Expected<Picture> drawSheet(const std::string &title, size_t rows, size_t columns,
                            const std::vector<CaptionedMap> &maps) {
  RAPT_ASSIGN_OR_RETURN(Font font, Font::open(textSize));
  const size_t longest = std::max(rows, columns);
  const size_t side = std::max<size_t>(mapSide / longest, 1), fold = (longest + mapSide - 1) / mapSide;
  const size_t high = (rows + fold - 1) / fold, wide = (columns + fold - 1) / fold;
  Layout layout(font, maps, wide * side, high * side);
  return layout.draw(title, [&](Picture &picture, const CaptionedMap &map, size_t left, size_t first) {
    for (size_t y = 0; y < high; ++y)
      for (size_t x = 0; x < wide; ++x)
        picture.fill(left + x * side, first + y * side, side, side,
                     colorOf(largest(map, columns, y * fold, std::min(rows, (y + 1) * fold), x * fold,
                                     std::min(columns, (x + 1) * fold)) /
                             layout.top));
  });
}

Expected<Picture> drawOverlays(const std::string &title, const GrayImage &image, size_t high, size_t wide,
                               const std::vector<CaptionedMap> &maps) {
  RAPT_ASSIGN_OR_RETURN(Font font, Font::open(textSize));
  const size_t scale = std::max<size_t>(smallSide / std::max<size_t>({image.height, image.width, 1}), 1);
  Layout layout(font, maps, image.width * scale, image.height * scale);
  return layout.draw(title, [&](Picture &picture, const CaptionedMap &map, size_t left, size_t first) {
    for (size_t y = 0; y < image.height; ++y)
      for (size_t x = 0; x < image.width; ++x) {
        const float weight = map.weights[y * high / image.height * wide + x * wide / image.width];
        picture.fill(left + x * scale, first + y * scale, scale, scale,
                     mixed(image.pixels[y * image.width + x], colorOf(weight / layout.top)));
      }
  });
}

Expected<Picture> drawOverlay(const std::string &title, const GrayImage &image, size_t patchHeight, size_t patchWidth,
                              size_t wide, std::span<const float> weights) {
  RAPT_ASSIGN_OR_RETURN(Font font, Font::open(textSize));
  const float top = topOf(weights);
  const size_t scale = std::max<size_t>(imageSide / std::max<size_t>({image.height, image.width, 1}), 1);
  RAPT_ASSIGN_OR_RETURN(Picture picture, begin(font, title, image.width * scale, image.height * scale, top));
  for (size_t y = 0; y < image.height; ++y)
    for (size_t x = 0; x < image.width; ++x) {
      const size_t patch = y / patchHeight * wide + x / patchWidth;
      const bool isSeen = x / patchWidth < wide && patch < weights.size(); // a rest of the image is in no patch
      const Color color = isSeen ? colorOf(weights[patch] / top) : Color{255, 255, 255};
      picture.fill(margin + x * scale, headHeight + y * scale, scale, scale,
                   mixed(image.pixels[y * image.width + x], color));
    }
  return picture;
}

} // namespace rapt::drawing
