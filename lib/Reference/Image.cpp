//===- Image.cpp - Images as rows of tokens -----------------------------------===//
#include "lib/Reference/Ops.h"
#include "lib/Support/CheckedMath.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
namespace rapt::reference {

template <typename S> Result<S> evaluate(attn::PatchesOp op, const Tensor<S> &pixels) {
  int64_t size = op.getSize(), channels = pixels.dim(1), height = pixels.dim(2), width = pixels.dim(3);
  int64_t rows = height / size, columns = width / size;
  Result<S> result = makeTensor<S>(op, {pixels.dim(0) * rows * columns, channels * size * size});
  if (failed(result))
    return failure();
  S *out = result->floats.data();
  for (int64_t b = 0; b < pixels.dim(0); ++b)
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x)
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t i = 0; i < size; ++i)
            for (int64_t j = 0; j < size; ++j)
              *out++ = pixels.floats[((b * channels + c) * height + y * size + i) * width + x * size + j];
  return result;
}

/// Keys' cubic convolution kernel.
template <typename S> static S cubic(S t) {
  constexpr S a = S(-0.75);
  t = std::abs(t);
  if (t <= 1)
    return (a + 2) * t * t * t - (a + 3) * t * t + 1;
  return t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a : S(0);
}

/// The rows of an axis of `extent` that patch `at` of `count` takes, and with which weights.
template <typename S> static std::array<std::pair<int64_t, S>, 4> taps(int64_t at, int64_t count, int64_t extent) {
  S center = (S(at) + S(0.5)) * (S(extent) / S(count)) - S(0.5), below = std::floor(center);
  std::array<std::pair<int64_t, S>, 4> result;
  for (int64_t m = -1; m <= 2; ++m)
    result[m + 1] = {std::clamp(int64_t(below) + m, int64_t(0), extent - 1), cubic(center - below - S(m))};
  return result;
}

template <typename S>
Result<S> evaluate(attn::ResizePositionsOp op, const Tensor<S> &table, int64_t height, int64_t width) {
  int64_t others = op.getOthers(), columns = table.dim(1), rows = op.getGrid()[0], across = op.getGrid()[1];
  std::optional<int64_t> count = height < 0 || width < 0 ? std::nullopt : checkedMul(height, width);
  if (!count || *count > maxElements)
    return op.emitOpError() << "makes positions for " << height << " x " << width << " patches";
  Result<S> result = makeTensor<S>(op, {others + *count, columns});
  if (failed(result))
    return failure();
  std::copy_n(table.floats.begin(), others * columns, result->floats.begin());
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (auto [row, down] : taps<S>(y, height, rows))
        for (auto [column, right] : taps<S>(x, width, across))
          for (int64_t c = 0; c < columns; ++c)
            result->floats[(others + y * width + x) * columns + c] +=
                down * right * table.floats[(others + row * across + column) * columns + c];
  return result;
}

template <typename S>
Result<S> evaluate(attn::ImageTokensOp op, const Tensor<S> &patches, const Tensor<S> &learned,
                   const Tensor<S> &positions) {
  int64_t first = learned.dim(0), tokens = positions.dim(0), each = tokens - first, columns = patches.dim(1);
  if (each < 1 || patches.dim(0) % each != 0)
    return op.emitOpError() << "has " << patches.dim(0) << " patches for images of " << tokens << " tokens, " << first
                            << " of them learned";
  int64_t images = patches.dim(0) / each;
  Result<S> result = makeTensor<S>(op, {images * tokens, columns});
  if (failed(result))
    return failure();
  for (int64_t t = 0; t < images * tokens; ++t)
    for (int64_t i = t % tokens, c = 0; c < columns; ++c)
      result->floats[t * columns + c] =
          positions.floats[i * columns + c] +
          (i < first ? learned.floats[i * columns + c] : patches.floats[(t / tokens * each + i - first) * columns + c]);
  return result;
}

template <typename S> Result<S> evaluate(attn::EqualRowsOp op, int64_t rows, int64_t length) {
  std::optional<int64_t> end = rows < 0 || length < 0 ? std::nullopt : checkedMul(rows, length);
  if (!end || *end > std::numeric_limits<int32_t>::max() || rows >= maxElements)
    return op.emitOpError() << "gives offsets of " << rows << " rows of " << length << " tokens";
  Tensor<S> result{{rows + 1}, {}, {}};
  for (int64_t r = 0; r <= rows; ++r)
    result.ints.push_back(r * length);
  return result;
}

template <typename S> Result<S> evaluate(attn::UnpackRowsOp op, const Tensor<S> &input, int64_t length) {
  if (length < 1 || input.dim(0) % length != 0)
    return op.emitOpError() << "has " << input.dim(0) << " tokens for rows of " << length;
  Tensor<S> result = input;
  result.shape[0] = length;
  result.shape.insert(result.shape.begin(), input.dim(0) / length);
  return result;
}

#define INSTANTIATE(S)                                                                                                 \
  template Result<S> evaluate(attn::PatchesOp, const Tensor<S> &);                                                     \
  template Result<S> evaluate(attn::ResizePositionsOp, const Tensor<S> &, int64_t, int64_t);                           \
  template Result<S> evaluate(attn::ImageTokensOp, const Tensor<S> &, const Tensor<S> &, const Tensor<S> &);           \
  template Result<S> evaluate(attn::EqualRowsOp, int64_t, int64_t);                                                    \
  template Result<S> evaluate(attn::UnpackRowsOp, const Tensor<S> &, int64_t);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
