#include "lib/Drawing/HeatMap.h"
#include "lib/Drawing/ColorScale.h"
#include "lib/Drawing/Label.h"
#include <algorithm>
#include <cstdio>

namespace rapt::drawing {
namespace {

constexpr size_t defaultCell = 24, defaultText = 14; // pixels, and units of an SVG
constexpr size_t leastCellWithText = 10;
constexpr size_t mapSide = 4096;                  // pixels at most, where there are not more cells
constexpr size_t gap = 6;                         // between text and map, and around the title
constexpr size_t margin = 12;                     // right of the map and below
constexpr size_t barLength = 128, barHeight = 12; // pixels, and units of an SVG
constexpr size_t svgBarRoom = 230;                // of a bar and its numbers
constexpr Color frameColor = {128, 128, 128};

std::string shownWeight(float weight) {
  char text[32];
  snprintf(text, sizeof text, "%.3g", double(weight));
  return text;
}

std::string number(size_t n) { return std::to_string(n); }

std::vector<std::string> labels(const std::vector<std::string> &texts) {
  std::vector<std::string> result;
  for (const std::string &text : texts)
    result.push_back(label(text));
  return result;
}

std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
  return result;
}

/// Units that the longest text takes, with letters of one width.
size_t svgWidthOf(const std::vector<std::string> &texts) {
  size_t most = 1;
  for (const std::string &text : texts)
    most = std::max(most, countCharacters(text));
  return most * 9;
}

void appendCell(std::string &svg, size_t x, size_t y, float weight, float top) {
  char cell[192];
  const Color color = colorOf(weight / top);
  snprintf(cell, sizeof cell,
           "<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\" fill=\"rgb(%u,%u,%u)\"><title>%.4f</title></rect>\n",
           x, y, defaultCell, defaultCell, color.red, color.green, color.blue, double(weight));
  svg += cell;
}

/// The bar, below the title.
std::string svgBar(float top) {
  constexpr int stops = 16;
  std::string svg = "<defs><linearGradient id=\"scale\">";
  for (int i = 0; i <= stops; ++i) {
    char stop[96];
    const Color color = colorOf(float(i) / stops);
    snprintf(stop, sizeof stop, "<stop offset=\"%g\" stop-color=\"#%02x%02x%02x\"/>", double(i) / stops, color.red,
             color.green, color.blue);
    svg += stop;
  }
  return svg + "</linearGradient></defs>\n<text x=\"6\" y=\"38\">0</text><rect x=\"20\" y=\"27\" width=\"" +
         number(barLength) + "\" height=\"" + number(barHeight) +
         "\" fill=\"url(#scale)\" stroke=\"gray\"/><text x=\"" + number(20 + barLength + gap) + "\" y=\"38\">" +
         shownWeight(top) + "</text>\n";
}

/// Where things are in a raster with text.
struct Layout {
  size_t side, left, top, width, height;

  size_t baseline(size_t i, size_t text) const { return i * side + side / 2 + text * 3 / 8; }
};

size_t widest(Font &font, const std::vector<std::string> &texts) {
  size_t most = 0;
  for (const std::string &text : texts)
    most = std::max(most, font.widthOf(text));
  return most;
}

void drawAxes(Picture &picture, Font &font, const Layout &layout, const std::vector<std::string> &rows,
              const std::vector<std::string> &columns) {
  for (size_t i = 0; i < rows.size(); ++i)
    font.write(picture, layout.left - gap - font.widthOf(rows[i]), layout.top + layout.baseline(i, font.pixels()),
               rows[i], Direction::Right);
  for (size_t i = 0; i < columns.size(); ++i)
    font.write(picture, layout.left + layout.baseline(i, font.pixels()), layout.top - gap, columns[i], Direction::Up);
  picture.fill(layout.left - 1, layout.top - 1, columns.size() * layout.side + 2, rows.size() * layout.side + 2,
               frameColor);
}

} // namespace

size_t barWidth(Font &font) { return barLength + 4 * gap + font.widthOf("0") + font.widthOf("0.000e-00"); }

void drawBar(Picture &picture, Font &font, size_t x, size_t y, float top) {
  const size_t baseline = y + barHeight / 2 + font.pixels() * 3 / 8;
  font.write(picture, x, baseline, "0", Direction::Right);
  x += font.widthOf("0") + gap;
  picture.fill(x - 1, y - 1, barLength + 2, barHeight + 2, frameColor);
  for (size_t i = 0; i < barLength; ++i)
    picture.fill(x + i, y, 1, barHeight, colorOf(float(i) / float(barLength - 1)));
  font.write(picture, x + barLength + gap, baseline, shownWeight(top), Direction::Right);
}

std::string drawSvg(const Axes &axes, const std::string &title, std::span<const float> weights) {
  if (weights.size() > mostSvgCells)
    return {};
  const std::vector<std::string> rows = labels(axes.rows), columns = labels(axes.columns);
  const size_t mapWidth = columns.size() * defaultCell, mapHeight = rows.size() * defaultCell;
  const size_t titleWidth = svgWidthOf({title});
  const size_t head = std::max(titleWidth, svgBarRoom);
  const size_t left = std::max(svgWidthOf(rows) + margin, head > mapWidth ? head - mapWidth : 0);
  const size_t top = svgWidthOf(columns) + 5 * margin;
  const float most = topOf(weights);
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(left + mapWidth + margin) +
                    "\" height=\"" + number(top + mapHeight + margin) +
                    "\" font-family=\"monospace\" font-size=\"14\">\n<title>" + escaped(title) +
                    "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"6\" y=\"18\">" +
                    escaped(title) + "</text>\n" + svgBar(most);
  for (size_t i = 0; i < columns.size(); ++i)
    svg += "<text transform=\"translate(" + number(left + i * defaultCell + 17) + " " + number(top - gap) +
           ") rotate(-90)\">" + escaped(columns[i]) + "</text>\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    svg += "<text x=\"" + number(left - gap) + "\" y=\"" + number(top + i * defaultCell + 17) +
           "\" text-anchor=\"end\">" + escaped(rows[i]) + "</text>\n";
    for (size_t j = 0; j < columns.size(); ++j)
      appendCell(svg, left + j * defaultCell, top + i * defaultCell, weights[i * columns.size() + j], most);
  }
  return svg + "<rect x=\"" + number(left) + "\" y=\"" + number(top) + "\" width=\"" + number(mapWidth) +
         "\" height=\"" + number(mapHeight) + "\" fill=\"none\" stroke=\"gray\"/>\n</svg>\n";
}

Expected<Raster> Raster::make(const Axes &axes, const std::string &longestTitle) {
  const size_t rows = axes.rows.size(), columns = axes.columns.size();
  const size_t side = std::clamp<size_t>(mapSide / std::max(rows, columns), 1, defaultCell);
  auto tooLarge = [&](size_t pixels) {
    return Error{number(rows) + " x " + number(columns) + " tokens take " + number(pixels) +
                 " pixels; a picture has at most " + number(mostPixels)};
  };
  if (rows > mostPixels || columns > mostPixels / rows)
    return tooLarge(rows * columns);
  if (side < leastCellWithText)
    return Raster(side, rows, columns, Picture(columns * side, rows * side));
  RAPT_ASSIGN_OR_RETURN(Font font, Font::open(std::min(defaultText, side - 2)));
  const std::vector<std::string> down = labels(axes.rows), right = labels(axes.columns);
  const size_t mapWidth = columns * side, titleWidth = std::max(font.widthOf(longestTitle), barWidth(font));
  const size_t titled = titleWidth > mapWidth ? titleWidth - mapWidth : 0;
  Layout layout{side, std::max(widest(font, down) + 2 * gap, titled),
                widest(font, right) + font.pixels() + barHeight + 6 * gap, 0, 0};
  layout.width = layout.left + mapWidth + margin;
  layout.height = layout.top + rows * side + margin;
  if (layout.width * layout.height > mostPixels)
    return tooLarge(layout.width * layout.height);
  Raster raster(side, rows, columns, Picture(layout.width, layout.height));
  drawAxes(raster.empty, font, layout, down, right);
  raster.font = std::move(font);
  return raster;
}

Picture Raster::draw(const std::string &title, std::span<const float> weights) {
  Picture picture = empty;
  const float most = topOf(weights);
  const size_t end = font ? margin : 0;
  const size_t left = picture.width - end - columns * side, top = picture.height - end - rows * side;
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j)
      picture.fill(left + j * side, top + i * side, side, side, colorOf(weights[i * columns + j] / most));
  if (font) {
    font->write(picture, gap, gap + font->pixels(), title, Direction::Right);
    drawBar(picture, *font, gap, 3 * gap + font->pixels(), most);
  }
  return picture;
}

} // namespace rapt::drawing
