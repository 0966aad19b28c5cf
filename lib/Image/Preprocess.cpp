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

/// The squares nearest to the sides. Where they make too many pixels, the most squares of about the image's proportions
/// that do not; where too few, the fewest that make enough.
static Expected<std::pair<int64_t, int64_t>> sizeByPixels(int64_t width, int64_t height, int64_t side,
                                                          const PixelBudget &budget) {
  if (double(std::max(width, height)) / double(std::min(width, height)) > double(mostProportion))
    return Error{"an image of " + shownSize(width, height) + " pixels is more than " + std::to_string(mostProportion) +
                 " times as long as wide, which the model's processor refuses"};
  auto resized = [&](auto count) { return std::pair(count(width) * side, count(height) * side); };
  const std::pair<int64_t, int64_t> nearest =
      resized([&](int64_t length) { return int64_t(std::nearbyint(double(length) / double(side))); });
  const double pixels = double(width * height);
  if (nearest.first * nearest.second > budget.most) {
    const double factor = std::sqrt(pixels / double(budget.most));
    return resized([&](int64_t length) {
      return std::max<int64_t>(1, int64_t(std::floor(double(length) / factor / double(side))));
    });
  }
  if (nearest.first * nearest.second >= budget.least)
    return nearest;
  const double factor = std::sqrt(double(budget.least) / pixels);
  return resized([&](int64_t length) { return int64_t(std::ceil(double(length) * factor / double(side))); });
}

/// The most squares with about the image's proportions.
static std::pair<int64_t, int64_t> sizeByCount(int64_t width, int64_t height, int64_t side, int64_t most) {
  const double factor = std::sqrt(double(most * side * side) / double(width * height));
  auto whole = [&](int64_t length) { return int64_t(std::floor(factor * double(length) / double(side))); };
  auto alone = [&](int64_t longer, int64_t shorter) { return std::min(longer / shorter, most); };
  int64_t columns = whole(width), rows = whole(height);
  if (rows == 0)
    rows = 1, columns = alone(width, height);
  else if (columns == 0)
    columns = 1, rows = alone(height, width);
  return {columns * side, rows * side};
}

Expected<std::pair<int64_t, int64_t>> sizeInSquares(int64_t width, int64_t height, const Squares &squares) {
  if (const auto *most = std::get_if<int64_t>(&squares.budget))
    return sizeByCount(width, height, squares.side(), *most);
  return sizeByPixels(width, height, squares.side(), std::get<PixelBudget>(squares.budget));
}

/// The sides after resizing to another size than squares; the longer one is cut to a whole number.
static std::pair<int64_t, int64_t> sizeAfter(const Image &image, const Preprocessing &how) {
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
  if (!how.resizes && how.squares) {
    RAPT_RETURN_IF_ERROR(requireSquares(image, how.squares->side()));
  } else if (how.squares) {
    RAPT_ASSIGN_OR_RETURN(auto sides, sizeInSquares(image.width, image.height, *how.squares));
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
