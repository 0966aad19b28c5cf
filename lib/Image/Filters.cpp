//===- Filters.cpp ---------------------------------------------------------===//
#include "lib/Image/Filters.h"
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

} // namespace

FilterWeights::FilterWeights(int64_t input, int64_t output, Filter filter) : ranges(output) {
  const Kernel kernel = kernelOf(filter);
  double scale = double(input) / output, filterScale = std::max(scale, 1.0);
  double support = kernel.support * filterScale, inverse = 1 / filterScale;
  most = int64_t(std::ceil(support)) * 2 + 1;
  values.resize(size_t(output * most));
  for (int64_t position = 0; position < output; ++position) {
    double center = (position + 0.5) * scale, sum = 0, *own = &values[size_t(position * most)];
    int64_t begin = std::max<int64_t>(0, int64_t(center - support + 0.5));
    int64_t count = std::min(input, int64_t(center + support + 0.5)) - begin;
    ranges[position] = {begin, count};
    for (int64_t i = 0; i < count; ++i)
      sum += own[i] = kernel.weight((i + begin - center + 0.5) * inverse);
    for (int64_t i = 0; i < count && sum != 0; ++i)
      own[i] /= sum;
  }
}

} // namespace rapt::image
