//===- Preprocess.h - From an image file to a model's pixel_values ---------===//
#pragma once
#include "lib/Image/Resize.h"
#include "lib/Support/Expected.h"
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace rapt::image {

/// The squares nearest to an image's sides, which are scaled where these make fewer or more pixels (Qwen2-VL).
struct PixelBudget {
  int64_t least = 56 * 56, most = 28 * 28 * 1280;
};

/// Images keep about their proportions, and become whole squares of `inRow` x `inRow` patches of `patch` x `patch`
/// pixels.
struct Squares {
  int64_t patch = 14, inRow = 2;
  std::variant<PixelBudget, int64_t> budget = {}; ///< or the most squares that there may be (Gemma 4)

  int64_t side() const { return patch * inRow; }
};

/// preprocessor_config.json of Hugging Face's image processors that have these steps.
struct Preprocessing {
  /// Exact sides, or the shorter side to which the image is scaled with its proportions.
  struct Size {
    int64_t width = 224, height = 224;
    std::optional<int64_t> shortestEdge;
  };
  bool resizes = true, crops = false, rescales = true, normalizes = true;
  bool rescalesFirst = false; ///< and resizes numbers of f32, which are not rounded
  Size size, crop;
  std::optional<Squares> squares; ///< in place of `size`
  Filter filter = Filter::Bilinear;
  double rescaleFactor = 1.0 / 255;
  double mean[3] = {0.5, 0.5, 0.5}, deviation[3] = {0.5, 0.5, 0.5};
};

/// Reads the file's content; absent members have the defaults of the image processor that the file names (ViT's without
/// one). Errors: another image processor, a member of the wrong kind or range, and one that is not known and not null,
/// false or empty: it could change the numbers.
Expected<Preprocessing> readPreprocessing(std::string_view json);

/// Width and height of an image in whole squares. Where there is a largest number of them, an image that is too long
/// for its proportions has one row of them, or one column; where there are pixels, it is an error.
Expected<std::pair<int64_t, int64_t>> sizeInSquares(int64_t width, int64_t height, const Squares &squares);

/// A model's pixel_values of one image.
struct PixelValues {
  int64_t channels = 3, height = 0, width = 0;
  std::vector<float> values; ///< [channels, height, width]
};

/// Decodes, resizes, crops about the center, rescales (in double, rounded to single) and normalizes (in single), in
/// this order or, where `rescalesFirst`, rescales in single before it resizes, as the Hugging Face processors do.
/// Errors: as `decode` and `resize`, and an image whose sides cannot be such squares.
Expected<PixelValues> preprocess(std::string_view file, const Preprocessing &how);

} // namespace rapt::image
