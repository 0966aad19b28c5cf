// JPEG, PNG and WebP files.
#include "lib/Image/Decode.h"
#include "test/Fuzz/Fuzz.h"

using namespace rapt;
using namespace rapt::fuzz;

/// A header's extents must not cost more memory than the rest of the run: pictures above this are not decoded here.
static bool isLarge(const uint8_t *data, size_t size) {
  auto at = [&](size_t i, int bytes) {
    uint32_t value = 0;
    for (int k = 0; k < bytes && i + size_t(k) < size; ++k)
      value = value << 8 | data[i + size_t(k)];
    return uint64_t(value);
  };
  if (size > 24 && data[0] == 0x89)
    return at(16, 4) * at(20, 4) > 1 << 18;
  for (size_t i = 0; i + 9 < size; ++i) // of any frame header
    if (data[i] == 0xFF && data[i + 1] >= 0xC0 && data[i + 1] <= 0xCF && at(i + 5, 2) * at(i + 7, 2) > 1 << 18)
      return true;
  return false;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (isLarge(data, size))
    return 0;
  ExactBytes bytes(std::string_view(reinterpret_cast<const char *>(data), size), 1);
  std::string_view view(bytes.data(), bytes.size);
  int orientation = image::exifOrientation(view);
  require(orientation >= 1 && orientation <= 8, "an orientation is 1 to 8");
  auto picture = image::decode(view);
  if (!picture) {
    requireMessage(picture.error());
    return 0;
  }
  require(picture->width >= 1 && picture->height >= 1, "a picture has pixels");
  require(picture->pixels.size() == size_t(picture->width * picture->height * 3), "a picture has all its pixels");
  return 0;
}
