//===- Decode.h - JPEG, PNG and WebP files to pixels -----------------------===//
//
// The pixels are those of Pillow's Image.open(file).convert("RGB") after
// ImageOps.exif_transpose, byte for byte: JPEG with the accurate integer
// transform and smooth upsampling, color profiles ignored, alpha dropped, gray
// of 16 bits cut at 255 (not scaled), color of 16 bits by its high byte.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Image/Image.h"
#include "lib/Support/Expected.h"
#include <string_view>

namespace rapt::image {

/// Decodes the content of a file. Errors: neither JPEG, PNG nor WebP, animated, truncated or damaged, sides above
/// mostSide or more than mostPixels (seen in the header, before anything is decoded).
Expected<Image> decode(std::string_view file);

/// One format's part of `decode`: the pixels as stored, and the EXIF block beside them, empty where there is none.
struct Stored {
  Image image;
  std::string exif;
};
Expected<Stored> decodeJpeg(std::string_view file);
Expected<Stored> decodePng(std::string_view file);
Expected<Stored> decodeWebP(std::string_view file);

/// An error that names both sizes when a picture of this size is not decoded.
Status checkSize(uint64_t width, uint64_t height);

/// The orientation (1 to 8) in an EXIF block, which begins with its byte order; 1 where there is none or it is damaged.
int exifOrientation(std::string_view exif);

/// Turns and mirrors `image` so that it stands upright.
Image applyOrientation(Image image, int orientation);

} // namespace rapt::image
