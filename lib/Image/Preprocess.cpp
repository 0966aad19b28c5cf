//===- Preprocess.cpp ------------------------------------------------------===//
#include "lib/Image/Preprocess.h"
#include "lib/Image/Decode.h"
#include <algorithm>
#include <cmath>

namespace rapt::image {

constexpr int64_t mostProportion = 200; // of the longer side to the shorter one

/// Fails unless an image that is not resized consists of whole squares.
static Status requireSquares(const Image &image, int64_t side) {
  if (image.width % side == 0 && image.height % side == 0)
    return {};
  return Error{"an image of " + shownSize(image.width, image.height) +
               " pixels is not resized (do_resize), but its sides must be multiples of " + std::to_string(side)};
}

/// The multiples nearest to the sides. Where they make too many pixels, the largest multiples of about the image's
/// proportions that do not; where too few, the smallest that make enough.
static Expected<std::pair<int64_t, int64_t>> sizeInMultiples(const Image &image, const Preprocessing &how) {
  const Preprocessing::Multiples &multiples = *how.multiples;
  const int64_t side = multiples.side(), longer = std::max(image.width, image.height),
                shorter = std::min(image.width, image.height);
  if (double(longer) / double(shorter) > double(mostProportion))
    return Error{"an image of " + shownSize(image.width, image.height) + " pixels is more than " +
                 std::to_string(mostProportion) + " times as long as wide, which the model's processor refuses"};
  auto nearest = [&](int64_t length) { return int64_t(std::nearbyint(double(length) / double(side))) * side; };
  int64_t width = nearest(image.width), height = nearest(image.height);
  const double pixels = double(image.width * image.height);
  if (width * height > multiples.most) {
    const double factor = std::sqrt(pixels / double(multiples.most));
    auto below = [&](int64_t length) {
      return std::max(side, int64_t(std::floor(double(length) / factor / double(side))) * side);
    };
    width = below(image.width), height = below(image.height);
  } else if (width * height < multiples.least) {
    const double factor = std::sqrt(double(multiples.least) / pixels);
    auto above = [&](int64_t length) { return int64_t(std::ceil(double(length) * factor / double(side))) * side; };
    width = above(image.width), height = above(image.height);
  }
  return std::pair(width, height);
}

std::pair<int64_t, int64_t> sizeInSquares(int64_t width, int64_t height, const Preprocessing::Squares &squares) {
  const int64_t side = squares.side();
  const double factor = std::sqrt(double(squares.most * side * side) / double(width * height));
  auto whole = [&](int64_t length) { return int64_t(std::floor(factor * double(length) / double(side))); };
  auto alone = [&](int64_t longer, int64_t shorter) { return std::min(longer / shorter, squares.most); };
  int64_t columns = whole(width), rows = whole(height);
  if (rows == 0)
    rows = 1, columns = alone(width, height);
  else if (columns == 0)
    columns = 1, rows = alone(height, width);
  return {columns * side, rows * side};
}

/// The sides after resizing; the longer one is cut to a whole number.
static std::pair<int64_t, int64_t> sizeAfter(const Image &image, const Preprocessing &how) {
  if (how.squares)
    return sizeInSquares(image.width, image.height, *how.squares);
  const Preprocessing::Size &size = how.size;
  if (!size.shortestEdge)
    return {size.width, size.height};
  int64_t edge = *size.shortestEdge, shorter = std::min(image.width, image.height);
  int64_t longer = int64_t(double(edge * std::max(image.width, image.height)) / double(shorter));
  return image.width <= image.height ? std::pair(edge, longer) : std::pair(longer, edge);
}

/// One axis of a crop about the center: where it begins in the image, or (negative) how much black comes before it.
static int64_t cropBegin(int64_t length, int64_t crop) {
  return length >= crop ? (length - crop) / 2 : -((crop - length + 1) / 2);
}

/// Numbers [height, width, 3] cropped about the center; `width` and `height` become those of the crop.
template <typename T>
static std::vector<T> cropCenter(const std::vector<T> &from, int64_t &width, int64_t &height,
                                 const Preprocessing::Size &crop) {
  std::vector<T> result(size_t(crop.width * crop.height) * 3);
  int64_t left = cropBegin(width, crop.width), top = cropBegin(height, crop.height);
  int64_t begin = std::max<int64_t>(0, -left), end = std::min(crop.width, width - left);
  for (int64_t y = std::max<int64_t>(0, -top); y < std::min(crop.height, height - top); ++y)
    std::copy_n(&from[size_t((y + top) * width + begin + left) * 3], (end - begin) * 3,
                &result[size_t(y * crop.width + begin) * 3]);
  width = crop.width, height = crop.height;
  return result;
}

/// The number that each of the 256 values of one channel becomes.
static void fillTable(const Preprocessing &how, int channel, float (&table)[256]) {
  float mean = float(how.mean[channel]), deviation = float(how.deviation[channel]);
  for (int value = 0; value < 256; ++value) {
    float number = how.rescales ? float(value * how.rescaleFactor) : float(value);
    table[value] = how.normalizes ? (number - mean) / deviation : number;
  }
}

/// Rescales, resizes, crops and normalizes in single.
static Expected<PixelValues> preprocessRescaled(const Image &image, const Preprocessing &how) {
  auto [width, height] = how.resizes ? sizeAfter(image, how) : std::pair(image.width, image.height);
  RAPT_ASSIGN_OR_RETURN(std::vector<float> numbers,
                        resizeRescaled(image, how.rescales ? how.rescaleFactor : 1, width, height, how.filter));
  if (how.crops)
    numbers = cropCenter(numbers, width, height, how.crop);
  PixelValues result{3, height, width, std::vector<float>(numbers.size())};
  float *to = result.values.data();
  for (size_t channel = 0; channel < 3; ++channel)
    for (size_t at = channel; at < numbers.size(); at += 3) {
      const float number = numbers[at];
      *to++ = how.normalizes ? (number - float(how.mean[channel])) / float(how.deviation[channel]) : number;
    }
  return result;
}

Expected<PixelValues> preprocess(std::string_view file, const Preprocessing &how) {
  RAPT_ASSIGN_OR_RETURN(Image image, decode(file));
  if (how.rescalesFirst)
    return preprocessRescaled(image, how);
  if (!how.resizes && (how.multiples || how.squares)) {
    RAPT_RETURN_IF_ERROR(requireSquares(image, how.multiples ? how.multiples->side() : how.squares->side()));
  } else if (how.multiples) {
    RAPT_ASSIGN_OR_RETURN(auto sides, sizeInMultiples(image, how));
    RAPT_ASSIGN_OR_RETURN(image, resize(image, sides.first, sides.second, how.filter));
  } else if (how.resizes) {
    auto [width, height] = sizeAfter(image, how);
    RAPT_ASSIGN_OR_RETURN(image, resize(image, width, height, how.filter));
  }
  if (how.crops)
    image.pixels = cropCenter(image.pixels, image.width, image.height, how.crop);
  PixelValues result{3, image.height, image.width, std::vector<float>(image.pixels.size())};
  float *to = result.values.data();
  for (int channel = 0; channel < 3; ++channel) {
    float table[256];
    fillTable(how, channel, table);
    for (size_t at = size_t(channel); at < image.pixels.size(); at += 3)
      *to++ = table[image.pixels[at]];
  }
  return result;
}

} // namespace rapt::image
