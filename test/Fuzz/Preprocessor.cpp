// preprocessor_config.json, and a small image through what it says.
#include "lib/Image/Preprocess.h"
#include "test/Fuzz/Fuzz.h"

using namespace rapt;
using namespace rapt::fuzz;

/// PNG of 5 x 3 gray pixels, 1 to 15.
static const unsigned char picture[] = {
    0x89, 'P',  'N',  'G',  0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 'I',  'H',  'D',  'R',  0x00,
    0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x03, 0x08, 0x00, 0x00, 0x00, 0x00, 0x7e, 0x5d, 0x9a, 0x24, 0x00,
    0x00, 0x00, 0x1a, 'I',  'D',  'A',  'T',  0x78, 0xda, 0x63, 0x60, 0x64, 0x62, 0x66, 0x61, 0x65, 0x60,
    0x63, 0xe7, 0xe0, 0xe4, 0x62, 0xe0, 0xe6, 0xe1, 0xe5, 0xe3, 0x07, 0x00, 0x03, 0x00, 0x00, 0x79, 0x3e,
    0x21, 0x55, 0xf5, 0x00, 0x00, 0x00, 0x00, 'I',  'E',  'N',  'D',  0xae, 0x42, 0x60, 0x82};

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto how = image::readPreprocessing(std::string_view(reinterpret_cast<const char *>(data), size));
  if (!how) {
    requireMessage(how.error());
    return 0;
  }
  const auto &to = how->size;
  if (how->resizes && (to.width > 256 || to.height > 256 || to.shortestEdge.value_or(0) > 256))
    return 0; // valid, and slow
  if (how->crops && (how->crop.width > 256 || how->crop.height > 256))
    return 0;
  auto values = image::preprocess({reinterpret_cast<const char *>(picture), sizeof picture}, *how);
  if (!values) {
    requireMessage(values.error());
    return 0;
  }
  require(values->values.size() == size_t(values->channels * values->height * values->width), "all values are there");
  return 0;
}
