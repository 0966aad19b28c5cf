//===- Resize.cpp ----------------------------------------------------------===//
#include "lib/Image/Resize.h"
#include <algorithm>
#include <cmath>

namespace rapt::image {
namespace {

struct Kernel {
  double support;
  double (*weight)(double);
};

double sinc(double x) { return x == 0 ? 1 : std::sin(x * M_PI) / (x * M_PI); }

double lanczos(double x) { return -3 <= x && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

double bilinear(double x) { return std::fabs(x) < 1 ? 1 - std::fabs(x) : 0; }

double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::fabs(x);
  return x < 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

double box(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }

double hamming(double x) {
  x = std::fabs(x);
  if (x == 0)
    return 1;
  if (x >= 1)
    return 0;
  x *= M_PI;
  return std::sin(x) / x * (0.54f + 0.46f * std::cos(x)); // the constants are single in Pillow
}

Kernel kernelOf(Filter filter) {
  switch (filter) {
  case Filter::Lanczos:
    return {3, lanczos};
  case Filter::Bicubic:
    return {2, bicubic};
  case Filter::Box:
    return {0.5, box};
  case Filter::Hamming:
    return {1, hamming};
  case Filter::Nearest:
  case Filter::Bilinear:
    break;
  }
  return {1, bilinear};
}

constexpr int fractionBits = 32 - 8 - 2; // of a weight: 8 bits of pixel and 2 of overshoot remain

/// For each output position the input positions it is made of, and their weights as fixed-point numbers.
struct Weights {
  struct Range {
    int64_t begin, count;
  };
  std::vector<Range> ranges;
  std::vector<int32_t> values; // [output, most]
  int64_t most;

  Weights(int64_t input, int64_t output, const Kernel &kernel);
  const int32_t *of(int64_t position) const { return &values[size_t(position * most)]; }
};

Weights::Weights(int64_t input, int64_t output, const Kernel &kernel) : ranges(output) {
  double scale = double(input) / output, filterScale = std::max(scale, 1.0);
  double support = kernel.support * filterScale, inverse = 1 / filterScale;
  most = int64_t(std::ceil(support)) * 2 + 1;
  values.resize(size_t(output * most));
  std::vector<double> exact(most);
  for (int64_t position = 0; position < output; ++position) {
    double center = (position + 0.5) * scale, sum = 0;
    int64_t begin = std::max<int64_t>(0, int64_t(center - support + 0.5));
    int64_t count = std::min(input, int64_t(center + support + 0.5)) - begin;
    ranges[position] = {begin, count};
    for (int64_t i = 0; i < count; ++i)
      sum += exact[i] = kernel.weight((i + begin - center + 0.5) * inverse);
    for (int64_t i = 0; i < count; ++i) {
      double weight = sum != 0 ? exact[i] / sum : exact[i];
      values[position * most + i] = int32_t((weight < 0 ? -0.5 : 0.5) + weight * (1 << fractionBits));
    }
  }
}

uint8_t rounded(int32_t sum) { return uint8_t(std::clamp(sum >> fractionBits, 0, 255)); }

constexpr int32_t half = 1 << (fractionBits - 1);

Image resizeColumns(const Image &image, int64_t width, const Kernel &kernel) {
  Weights weights(image.width, width, kernel);
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

Image resizeRows(const Image &image, int64_t height, const Kernel &kernel) {
  Weights weights(image.height, height, kernel);
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

} // namespace

Expected<Image> resize(const Image &image, int64_t width, int64_t height, Filter filter) {
  if (width < 1 || height < 1)
    return Error{"an image of " + shownSize(image.width, image.height) + " pixels would be resized to " +
                 shownSize(width, height) + ", which has no pixels"};
  if (width > mostPixels || height > mostPixels || width * height > mostPixels ||
      width * image.height > 4 * mostPixels) // between the two passes
    return Error{"an image of " + shownSize(image.width, image.height) + " pixels would be resized to " +
                 shownSize(width, height) + ", which is too large: at most " + std::to_string(mostPixels) + " pixels"};
  if (width == image.width && height == image.height)
    return image;
  if (filter == Filter::Nearest)
    return resizeNearest(image, width, height);
  Kernel kernel = kernelOf(filter);
  if (width == image.width)
    return resizeRows(image, height, kernel);
  Image columns = resizeColumns(image, width, kernel);
  return height == image.height ? columns : resizeRows(columns, height, kernel);
}

} // namespace rapt::image
