//===- Resize.cpp ----------------------------------------------------------===//
#include "lib/Image/Resize.h"
#include "lib/Image/Filters.h"
#include <algorithm>

namespace rapt::image {
namespace {

constexpr int fractionBits = 32 - 8 - 2; // of a weight: 8 bits of pixel and 2 of overshoot remain

/// Weights as fixed-point numbers.
struct Weights : FilterWeights {
  std::vector<int32_t> fixed; // [output, most]

  Weights(int64_t input, int64_t output, Filter filter);
  const int32_t *of(int64_t position) const { return &fixed[size_t(position * most)]; }
};

Weights::Weights(int64_t input, int64_t output, Filter filter) : FilterWeights(input, output, filter) {
  fixed.reserve(values.size());
  for (double weight : values)
    fixed.push_back(int32_t((weight < 0 ? -0.5 : 0.5) + weight * (1 << fractionBits)));
}

uint8_t rounded(int32_t sum) { return uint8_t(std::clamp(sum >> fractionBits, 0, 255)); }

constexpr int32_t half = 1 << (fractionBits - 1);

Image resizeColumns(const Image &image, int64_t width, Filter filter) {
  Weights weights(image.width, width, filter);
  Image result{width, image.height, std::vector<uint8_t>(size_t(width * image.height) * 3)};
  uint8_t *to = result.pixels.data();
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < width; ++x, to += 3) {
      auto [begin, count] = weights.ranges[x];
      const uint8_t *from = &image.pixels[size_t(y * image.width + begin) * 3];
      const int32_t *weight = weights.of(x);
      int32_t sums[3] = {half, half, half};
      for (int64_t i = 0; i < count; ++i, from += 3)
        for (int channel = 0; channel < 3; ++channel)
          sums[channel] += from[channel] * weight[i];
      for (int channel = 0; channel < 3; ++channel)
        to[channel] = rounded(sums[channel]);
    }
  return result;
}

Image resizeRows(const Image &image, int64_t height, Filter filter) {
  Weights weights(image.height, height, filter);
  int64_t rowBytes = image.width * 3;
  Image result{image.width, height, std::vector<uint8_t>(size_t(rowBytes * height))};
  std::vector<int32_t> sums(rowBytes);
  for (int64_t y = 0; y < height; ++y) {
    auto [begin, count] = weights.ranges[y];
    std::fill(sums.begin(), sums.end(), half);
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t *from = &image.pixels[size_t((begin + i) * rowBytes)];
      int32_t weight = weights.of(y)[i];
      for (int64_t x = 0; x < rowBytes; ++x)
        sums[x] += from[x] * weight;
    }
    std::transform(sums.begin(), sums.end(), &result.pixels[size_t(y * rowBytes)], rounded);
  }
  return result;
}

/// Positions are summed up, not multiplied, as in Pillow: on long sides the two differ.
std::vector<int64_t> nearestPositions(int64_t input, int64_t output) {
  std::vector<int64_t> positions(output);
  double step = double(input) / output, position = step * 0.5;
  for (int64_t i = 0; i < output; ++i, position += step)
    positions[i] = int64_t(position);
  return positions;
}

Image resizeNearest(const Image &image, int64_t width, int64_t height) {
  std::vector<int64_t> columns = nearestPositions(image.width, width), rows = nearestPositions(image.height, height);
  Image result{width, height, std::vector<uint8_t>(size_t(width * height) * 3)};
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      if (rows[y] < image.height && columns[x] < image.width) // else black
        std::copy_n(&image.pixels[size_t(rows[y] * image.width + columns[x]) * 3], 3,
                    &result.pixels[size_t(y * width + x) * 3]);
  return result;
}

/// Whether the image can be made.
Status checkSize(const Image &image, int64_t width, int64_t height) {
  if (width < 1 || height < 1)
    return Error{"an image of " + shownSize(image.width, image.height) + " pixels would be resized to " +
                 shownSize(width, height) + ", which has no pixels"};
  if (width > mostPixels || height > mostPixels || width * height > mostPixels ||
      width * image.height > 4 * mostPixels) // between the two passes
    return Error{"an image of " + shownSize(image.width, image.height) + " pixels would be resized to " +
                 shownSize(width, height) + ", which is too large: at most " + std::to_string(mostPixels) + " pixels"};
  return {};
}

/// One pass over an axis, whose positions are `inner` numbers apart.
void resizeAxis(const float *from, float *to, const FilterWeights &weights, int64_t inner) {
  for (size_t position = 0; position < weights.ranges.size(); ++position, to += inner) {
    auto [begin, count] = weights.ranges[position];
    std::fill_n(to, inner, 0.f);
    for (int64_t i = 0; i < count; ++i) {
      const float weight = float(weights.values[position * size_t(weights.most) + size_t(i)]);
      const float *at = from + (begin + i) * inner;
      for (int64_t x = 0; x < inner; ++x)
        to[x] += weight * at[x];
    }
  }
}

} // namespace

Expected<std::vector<float>> resizeRescaled(const Image &image, double factor, int64_t width, int64_t height,
                                            Filter filter) {
  if (filter != Filter::Bilinear && filter != Filter::Bicubic)
    return Error{"images that are rescaled first can be resized by the filters 2 (bilinear) and 3 (bicubic)"};
  RAPT_RETURN_IF_ERROR(checkSize(image, width, height));
  if (width * image.height > mostPixels) // between the two passes
    return Error{"an image of " + shownSize(image.width, image.height) + " pixels is too large to be resized to " +
                 shownSize(width, height)};
  const FilterWeights columns(image.width, width, filter), rows(image.height, height, filter);
  std::vector<float> row(size_t(image.width) * 3), narrow(size_t(width * image.height) * 3);
  for (int64_t y = 0; y < image.height; ++y) {
    const uint8_t *pixels = &image.pixels[size_t(y * image.width) * 3];
    std::transform(pixels, pixels + row.size(), row.begin(),
                   [&](uint8_t pixel) { return float(pixel) * float(factor); });
    resizeAxis(row.data(), &narrow[size_t(y * width) * 3], columns, 3);
  }
  std::vector<float> result(size_t(width * height) * 3);
  resizeAxis(narrow.data(), result.data(), rows, width * 3);
  return result;
}

Expected<Image> resize(const Image &image, int64_t width, int64_t height, Filter filter) {
  RAPT_RETURN_IF_ERROR(checkSize(image, width, height));
  if (width == image.width && height == image.height)
    return image;
  if (filter == Filter::Nearest)
    return resizeNearest(image, width, height);
  if (width == image.width)
    return resizeRows(image, height, filter);
  Image columns = resizeColumns(image, width, filter);
  return height == image.height ? columns : resizeRows(columns, height, filter);
}

} // namespace rapt::image
