//===- Decode.cpp ----------------------------------------------------------===//
#include "lib/Image/Decode.h"
#include "lib/Support/Json.h"
#include <algorithm>

namespace rapt::image {

Status checkSize(uint64_t width, uint64_t height) {
  if (width == 0 || height == 0)
    return Error{"the image has no pixels (" + shownSize(int64_t(width), int64_t(height)) + ")"};
  if (width > uint64_t(mostSide) || height > uint64_t(mostSide) || width * height > uint64_t(mostPixels))
    return Error{"the image of " + shownSize(int64_t(width), int64_t(height)) + " pixels is too large: at most " +
                 std::to_string(mostSide) + " on a side and " + std::to_string(mostPixels) + " in all"};
  return {};
}

Expected<Image> decode(std::string_view file) {
  const bool jpeg = file.starts_with("\xFF\xD8\xFF"), png = file.starts_with("\x89PNG\r\n\x1A\n");
  const bool webp = file.starts_with("RIFF") && file.substr(std::min<size_t>(8, file.size())).starts_with("WEBP");
  if (!jpeg && !png && !webp)
    return Error{file.empty() ? "the image file is empty"
                              : "is neither a JPEG, a PNG nor a WebP image (it begins with \"" +
                                    json::printable(file.substr(0, 8)) + "\")"};
  RAPT_ASSIGN_OR_RETURN(Stored stored, jpeg ? decodeJpeg(file) : png ? decodePng(file) : decodeWebP(file));
  return applyOrientation(std::move(stored.image), exifOrientation(stored.exif));
}

/// A number of `bytes` bytes in the block's byte order.
static uint32_t readNumber(std::string_view exif, size_t offset, int bytes, bool littleEndian) {
  uint32_t number = 0;
  for (int i = 0; i < bytes; ++i)
    number |= uint32_t(uint8_t(exif[offset + i])) << 8 * (littleEndian ? i : bytes - 1 - i);
  return number;
}

int exifOrientation(std::string_view exif) {
  constexpr uint32_t orientationTag = 0x0112, shortType = 3, longType = 4; // TIFF 6.0, "Image File Directory"
  constexpr size_t entryBytes = 12;
  bool little = exif.starts_with(std::string_view("II*\0", 4));
  if (exif.size() < 8 || (!little && !exif.starts_with(std::string_view("MM\0*", 4))))
    return 1;
  size_t at = readNumber(exif, 4, 4, little);
  if (at > exif.size() - 2)
    return 1;
  size_t entries = readNumber(exif, at, 2, little);
  for (at += 2; entries > 0 && at + entryBytes <= exif.size(); --entries, at += entryBytes) {
    uint32_t type = readNumber(exif, at + 2, 2, little);
    if (readNumber(exif, at, 2, little) != orientationTag || (type != shortType && type != longType))
      continue;
    uint32_t value = readNumber(exif, at + 8, type == shortType ? 2 : 4, little);
    return value >= 1 && value <= 8 ? int(value) : 1;
  }
  return 1;
}

Image applyOrientation(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8)
    return image;
  // Bits of the eight cases: source column and row counted from the other end, and both exchanged.
  bool exchanged = orientation >= 5;
  bool fromRight = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  bool fromBottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image result;
  result.width = exchanged ? image.height : image.width;
  result.height = exchanged ? image.width : image.height;
  result.pixels.resize(image.pixels.size());
  uint8_t *to = result.pixels.data();
  for (int64_t y = 0; y < result.height; ++y)
    for (int64_t x = 0; x < result.width; ++x, to += 3) {
      int64_t column = exchanged ? y : x, row = exchanged ? x : y;
      column = fromRight ? image.width - 1 - column : column;
      row = fromBottom ? image.height - 1 - row : row;
      const uint8_t *from = &image.pixels[size_t(row * image.width + column) * 3];
      to[0] = from[0], to[1] = from[1], to[2] = from[2];
    }
  return result;
}

} // namespace rapt::image
