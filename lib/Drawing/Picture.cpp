#include "lib/Drawing/Picture.h"
#include <algorithm>
#include <png.h>

namespace rapt::drawing {

void Picture::fill(size_t left, size_t top, size_t columns, size_t rows, Color color) {
  for (size_t y = top; y < top + rows; ++y)
    for (uint8_t *pixel = &pixels[(y * width + left) * 3], *end = pixel + columns * 3; pixel < end; pixel += 3)
      pixel[0] = color.red, pixel[1] = color.green, pixel[2] = color.blue;
}

Expected<std::string> encodePng(const Picture &picture) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = uint32_t(picture.width);
  image.height = uint32_t(picture.height);
  image.format = PNG_FORMAT_RGB;
  image.flags = PNG_IMAGE_FLAG_FAST; // areas of one color compress well in any way
  size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(size, '\0');
  const bool isWritten = png_image_write_to_memory(&image, file.data(), &size, 0, picture.pixels.data(), 0, nullptr);
  const std::string message = image.message;
  png_image_free(&image);
  if (!isWritten)
    return Error{message};
  file.resize(size);
  return file;
}

} // namespace rapt::drawing
