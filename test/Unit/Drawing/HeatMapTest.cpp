#include "lib/Drawing/ColorScale.h"
#include "lib/Drawing/Sheet.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <png.h>

using namespace rapt;
using namespace rapt::drawing;

namespace {

/// As rows and columns of 24 pixels, between the axes and the margin.
constexpr size_t margin = 12, cell = 24;

size_t inkOf(const Picture &picture, size_t left, size_t top, size_t right, size_t bottom) {
  size_t dark = 0;
  for (size_t y = top; y < bottom; ++y)
    for (size_t x = left; x < right; ++x)
      dark += lightness(picture.at(x, y)) < 100 && picture.at(x, y).red == picture.at(x, y).blue;
  return dark;
}

Picture drawn(const Axes &axes, const std::vector<float> &weights, const std::string &title = "") {
  Expected<Raster> raster = Raster::make(axes, title);
  EXPECT_TRUE(raster) << raster.error().message;
  return raster->draw(title, weights);
}

std::vector<std::string> many(size_t count, const char *text) { return std::vector<std::string>(count, text); }

} // namespace

TEST(Font, KnowsItsGlyphs) {
  Expected<Font> font = Font::open(14);
  ASSERT_TRUE(font);
  EXPECT_EQ(font->widthOf(""), 0u);
  EXPECT_EQ(font->widthOf("ab"), font->widthOf("a") + font->widthOf("b"));
  EXPECT_GT(font->widthOf("W"), font->widthOf("i"));
  for (const char *text : {"\u2423", "\u21E5", "\u21B5", "\u2026", "\u2581", "\u00E9", "\uFFFD"}) {
    Picture picture(40, 40), missing(40, 40);
    font->write(picture, 10, 25, text, Direction::Right);
    font->write(missing, 10, 25, "\U0001F9FF", Direction::Right); // an amulet, which the font does not have
    EXPECT_GT(inkOf(missing, 0, 0, 40, 40), 0u) << "a box stands for it";
    EXPECT_GT(inkOf(picture, 0, 0, 40, 40), 0u) << text;
    EXPECT_NE(picture.pixels, missing.pixels) << text;
  }
}

TEST(Font, TextUpIsTextTurned) {
  Expected<Font> font = Font::open(14);
  ASSERT_TRUE(font);
  Picture right(101, 41), up(41, 101);
  font->write(right, 20, 30, "Rapt, gj", Direction::Right);
  font->write(up, 30, 80, "Rapt, gj", Direction::Up);
  for (size_t y = 0; y < right.height; ++y)
    for (size_t x = 0; x < right.width; ++x)
      ASSERT_EQ(right.at(x, y), up.at(y, 100 - x)) << x << ", " << y;
}

TEST(Font, WhatIsOutsideIsLeftOut) {
  Expected<Font> font = Font::open(14);
  ASSERT_TRUE(font);
  Picture picture(8, 8), empty(8, 8);
  for (size_t x : {size_t(0), size_t(7), size_t(1000)})
    for (size_t y : {size_t(0), size_t(7), size_t(1000)})
      for (Direction direction : {Direction::Right, Direction::Up})
        font->write(picture, x, y, "Ag\u0301Ag", direction);
  EXPECT_NE(picture.pixels, empty.pixels);
}

TEST(ColorScale, GetsLighterWithEveryStep) {
  EXPECT_LT(lightness(colorOf(0)), 35);
  EXPECT_GT(lightness(colorOf(1)), 210);
  for (int i = 0; i < 64; ++i) {
    const double before = lightness(colorOf(float(i) / 64)), after = lightness(colorOf(float(i + 1) / 64));
    EXPECT_GT(after, before + 1) << i;
    EXPECT_LT(after, before + 5) << i; // no step is much larger than another
  }
  EXPECT_EQ(colorOf(-1), colorOf(0));
  EXPECT_EQ(colorOf(std::nanf("")), colorOf(0));
  EXPECT_EQ(colorOf(7), colorOf(1));
}

TEST(ColorScale, TheTopIsTheLargestNumber) {
  EXPECT_EQ(topOf(std::vector<float>{0.25f, std::nanf(""), 0.5f, INFINITY}), 0.5f);
  EXPECT_EQ(topOf(std::vector<float>{0, -1}), 1);
}

TEST(HeatMap, CellsHaveTheirColor) {
  const Axes axes{{"a", "b"}, {"c", "d", "e"}};
  const std::vector<float> weights = {0, 0.25f, 0.5f, 0.125f, -1, std::nanf("")};
  const Picture picture = drawn(axes, weights, "name layer0-head0");
  const float shares[] = {0, 0.5f, 1, 0.25f, 0, 0};
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 3; ++j)
      for (size_t p = 0; p < cell * cell; ++p) {
        const size_t y = picture.height - margin - (2 - i) * cell + p / cell;
        const size_t x = picture.width - margin - (3 - j) * cell + p % cell;
        ASSERT_EQ(picture.at(x, y), colorOf(shares[i * 3 + j])) << i << ", " << j;
      }
  // The bar below the title has all colors, from left to right.
  size_t steps = 0;
  for (size_t x = 1; x < picture.width; ++x)
    steps +=
        lightness(picture.at(x, 38)) > lightness(picture.at(x - 1, 38)) && picture.at(x, 38) != Color{255, 255, 255};
  EXPECT_GE(steps, 100u);
}

TEST(HeatMap, TextStandsBesideItsRowAndColumn) {
  const Axes axes{{"first", "", "third"}, {"", "column", ""}};
  const Picture picture = drawn(axes, std::vector<float>(9, 1));
  const size_t left = picture.width - margin - 3 * cell, top = picture.height - margin - 3 * cell;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(inkOf(picture, 0, top + i * cell, left - 2, top + (i + 1) * cell) > 0, i != 1) << "row " << i;
    // Title and bar are the first 44 lines.
    EXPECT_EQ(inkOf(picture, left + i * cell, 44, left + (i + 1) * cell, top - 2) > 0, i == 1) << "column " << i;
  }
  const Picture other = drawn({{"first", "", "other"}, {"", "column", ""}}, std::vector<float>(9, 1));
  EXPECT_NE(picture.pixels, other.pixels);
}

TEST(HeatMap, ATitleHasRoom) {
  const Axes axes{{"a"}, {"b"}};
  const std::string title = "encoder_attentions layer0-head0";
  const Picture with = drawn(axes, {1}, title), without = drawn(axes, {1});
  EXPECT_GT(with.width, without.width);
  EXPECT_GT(inkOf(with, with.width - 30, 0, with.width, 24), 0u) << "its last letters are there";
  Expected<Font> font = Font::open(14);
  EXPECT_GE(with.width, font->widthOf(title) + 6);
}

TEST(HeatMap, CellsShrinkAndThenLoseTheirText) {
  for (auto [tokens, side] : {std::pair(170, 24), std::pair(171, 23), std::pair(409, 10), std::pair(410, 9),
                              std::pair(4096, 1), std::pair(4097, 1)}) {
    Expected<Raster> raster = Raster::make({many(2, "a"), many(size_t(tokens), "token")}, "");
    ASSERT_TRUE(raster);
    EXPECT_EQ(raster->cell(), size_t(side)) << tokens;
    EXPECT_EQ(raster->hasText(), side >= 10) << tokens;
    const Picture picture = raster->draw("", std::vector<float>(size_t(2 * tokens)));
    if (raster->hasText()) {
      EXPECT_GT(inkOf(picture, 0, 0, picture.width, picture.height - margin - size_t(2 * side) - 1), 0u);
    } else {
      EXPECT_EQ(picture.width, size_t(tokens * side));
      EXPECT_EQ(picture.height, size_t(2 * side));
    }
  }
}

TEST(HeatMap, LargerPicturesAreRefused) {
  Expected<Raster> raster = Raster::make({many(8193, "a"), many(8192, "b")}, "");
  ASSERT_FALSE(raster);
  EXPECT_EQ(raster.error().message, "8193 x 8192 tokens take 67117056 pixels; a picture has at most 67108864");
  EXPECT_TRUE(Raster::make({many(8192, "a"), many(8192, "b")}, ""));
}

TEST(HeatMap, SvgSaysWhatItShows) {
  const std::string svg = drawSvg({{"<a>"}, {"\"b &", " "}}, "it's", std::vector<float>{0.25f, 0.75f});
  for (const char *part :
       {">&lt;a&gt;</text>", ">&quot;b\u2423&amp;</text>", ">\u2423</text>", "<title>it's</title>", "\"><title>0.2500<",
        "rgb(252,231,33)\"><title>0.7500<", "url(#scale)", "stop-color=\"#470155\"", ">0.75</text>"})
    EXPECT_NE(svg.find(part), svg.npos) << part << " in\n" << svg;
  EXPECT_EQ(drawSvg({many(513, "a"), many(512, "b")}, "", std::vector<float>(513 * 512)), "");
}

TEST(Sheet, AllMapsOnOneScale) {
  const std::vector<CaptionedMap> maps = {
      {"head 0", {0, 0.25f, 0, 0}}, {"head 1", {0, 0, 0.5f, 0}}, {"head 2", {0, 0, 0, 0}}};
  Expected<Picture> sheet = drawSheet("layer0", 2, 2, maps);
  ASSERT_TRUE(sheet);
  // Cells of 128 pixels; the first map's begin behind margin, title, bar and caption.
  const size_t left = 12, top = 62 + 20, stepX = 256 + 12, stepY = 256 + 14 + 18;
  EXPECT_EQ(sheet->at(left + 192, top + 64), colorOf(0.5f));
  EXPECT_EQ(sheet->at(left + 64, top + 64), colorOf(0));
  EXPECT_EQ(sheet->at(left + stepX + 64, top + 192), colorOf(1));
  EXPECT_EQ(sheet->at(left + 64, top + stepY + 64), colorOf(0));
  EXPECT_EQ(sheet->at(left + stepX + 64, top + stepY + 64), (Color{255, 255, 255}));
  EXPECT_GT(inkOf(*sheet, left, top - 20, left + 60, top - 4), 0u) << "a caption";
}

TEST(Sheet, APixelOfALargeMapIsTheLargestOfItsWeights) {
  std::vector<float> weights(600 * 600);
  weights[301 * 600 + 5] = 1; // folded by three: line 100, column 1
  Expected<Picture> sheet = drawSheet("layer0", 600, 600, {{"head 0", weights}});
  ASSERT_TRUE(sheet);
  EXPECT_EQ(sheet->at(12 + 1, 62 + 20 + 100), colorOf(1));
  EXPECT_EQ(sheet->at(12 + 2, 62 + 20 + 100), colorOf(0));
}

TEST(Sheet, PatchesOverAnImage) {
  const GrayImage image{4, 5, std::vector<float>(20, 1)}; // the last column is in no patch
  Expected<Picture> picture = drawOverlay("cls", image, 2, 2, 2, std::vector<float>{0, 0.1f, 0.2f, 0});
  ASSERT_TRUE(picture);
  const size_t scale = 384 / 5;
  auto mixed = [](Color color) {
    auto one = [](uint8_t part) { return uint8_t(std::lround((255 + 2 * float(part)) / 3)); };
    return Color{one(color.red), one(color.green), one(color.blue)};
  };
  EXPECT_EQ(picture->at(12 + scale / 2, 62 + scale / 2), mixed(colorOf(0)));
  EXPECT_EQ(picture->at(12 + 3 * scale, 62 + scale / 2), mixed(colorOf(0.5f)));
  EXPECT_EQ(picture->at(12 + scale / 2, 62 + 3 * scale), mixed(colorOf(1)));
  EXPECT_EQ(picture->at(12 + 4 * scale + 2, 62 + scale / 2), (Color{255, 255, 255}));
}

TEST(Sheet, AnImageOnceForEachMap) {
  const GrayImage image{3, 5, std::vector<float>(15, 1)};
  const std::vector<CaptionedMap> maps = {{"a", {0, 0.25f, 0, 0, 0, 0}}, {"ring", {0, 0, 0, 0, 0, 0.5f}}};
  Expected<Picture> picture = drawOverlays("words", image, 2, 3, maps);
  ASSERT_TRUE(picture);
  const size_t scale = 128 / 5, left = 12, top = 62 + 20, stepX = 5 * scale + 12;
  auto mixed = [](Color color) {
    auto one = [](uint8_t part) { return uint8_t(std::lround((255 + 2 * float(part)) / 3)); };
    return Color{one(color.red), one(color.green), one(color.blue)};
  };
  // The grid's three columns have the first two of five, the next two and the last; its rows have two and one.
  auto at = [&](size_t map, size_t x, size_t y) {
    return picture->at(left + map * stepX + x * scale + scale / 2, top + y * scale + scale / 2);
  };
  EXPECT_EQ(at(0, 1, 0), mixed(colorOf(0)));
  EXPECT_EQ(at(0, 2, 0), mixed(colorOf(0.5f)));
  EXPECT_EQ(at(0, 3, 1), mixed(colorOf(0.5f)));
  EXPECT_EQ(at(0, 4, 1), mixed(colorOf(0)));
  EXPECT_EQ(at(1, 4, 2), mixed(colorOf(1)));
  EXPECT_EQ(at(1, 4, 1), mixed(colorOf(0)));
  EXPECT_GT(inkOf(*picture, left, top - 20, left + 60, top - 4), 0u) << "a caption";
}

TEST(Picture, IsItsPng) {
  Picture picture(301, 7);
  for (size_t i = 0; i < picture.pixels.size(); ++i)
    picture.pixels[i] = uint8_t(i * i);
  Expected<std::string> file = encodePng(picture);
  ASSERT_TRUE(file);
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(png_image_begin_read_from_memory(&image, file->data(), file->size()));
  EXPECT_EQ(image.format, uint32_t(PNG_FORMAT_RGB));
  std::vector<uint8_t> pixels(picture.pixels.size());
  ASSERT_EQ(PNG_IMAGE_SIZE(image), pixels.size());
  ASSERT_TRUE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr)) << image.message;
  EXPECT_EQ(pixels, picture.pixels);
}

TEST(Picture, AnImpossibleOneIsAnError) { EXPECT_FALSE(encodePng(Picture(0, 0))); }
