//===- ImageReader.h - Image files as tensors ------------------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Model.h"
#include "rapt/rapt_image.h"
#include <algorithm>
#include <memory>
#include <vector>

namespace rapt::run {

/// Images of one size that run together.
struct ImageBatch {
  std::vector<int64_t> shape = {0, 0, 0, 0}; ///< images, channels, height, width
  std::vector<float> values;

  bool takes(const int64_t (&image)[3], size_t count) const {
    constexpr size_t numbersTogether = 16 << 20; // pixels' values that are held at a time
    return shape[0] == 0 ||
           (std::equal(image, image + 3, shape.begin() + 1) && values.size() + count <= numbersTogether);
  }
  void add(const int64_t (&image)[3], const std::vector<float> &more) {
    ++shape[0];
    std::copy_n(image, 3, shape.begin() + 1);
    values.insert(values.end(), more.begin(), more.end());
  }
};

/// Reads image files as the processor of the model's directory does.
class ImageReader {
public:
  Outcome open(const Model &model);
  /// `shape` is channels, height, width.
  Outcome read(const std::string &path, int64_t (&shape)[3], std::vector<float> &values) const;

private:
  struct Free {
    void operator()(rapt_image_processor *p) const { rapt_image_processor_free(p); }
  };
  std::unique_ptr<rapt_image_processor, Free> processor;
};

} // namespace rapt::run
