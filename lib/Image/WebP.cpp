//===- WebP.cpp - WebP through libwebp -------------------------------------===//
#include "lib/Image/Decode.h"
#include <webp/decode.h>

namespace rapt::image {

static std::string describe(VP8StatusCode status) {
  switch (status) {
  case VP8_STATUS_OUT_OF_MEMORY:
    return "out of memory";
  case VP8_STATUS_NOT_ENOUGH_DATA:
    return "it is truncated";
  default:
    return "it is damaged";
  }
}

constexpr size_t chunkHead = 8; // a name and the size of what follows, which is padded to an even one

static uint64_t chunkBytes(std::string_view chunk) {
  uint64_t bytes = 0;
  for (int i = 0; i < 4; ++i)
    bytes |= uint64_t(uint8_t(chunk[4 + i])) << 8 * i;
  return bytes;
}

/// The content of the first chunk of a name behind "RIFF", the size and "WEBP"; empty where there is none.
static std::string_view findChunk(std::string_view file, std::string_view name) {
  for (size_t at = chunkHead + 4; at + chunkHead <= file.size();) {
    const uint64_t bytes = chunkBytes(file.substr(at));
    if (file.substr(at, 4) == name)
      return file.substr(at + chunkHead, bytes);
    at += chunkHead + bytes + bytes % 2;
  }
  return {};
}

Expected<Stored> decodeWebP(std::string_view file) {
  const uint8_t *bytes = reinterpret_cast<const uint8_t *>(file.data());
  auto fail = [](const std::string &why) { return Error{"the WebP image cannot be decoded: " + why}; };
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config))
    return fail("the library has another version");
  if (chunkBytes(file) > file.size() - chunkHead)
    return fail(describe(VP8_STATUS_NOT_ENOUGH_DATA));
  if (VP8StatusCode status = WebPGetFeatures(bytes, file.size(), &config.input); status != VP8_STATUS_OK)
    return fail(describe(status));
  RAPT_RETURN_IF_ERROR(checkSize(uint64_t(config.input.width), uint64_t(config.input.height)));
  if (config.input.has_animation)
    return fail("it is animated; save one of its frames as an image");
  Stored stored;
  Image &image = stored.image;
  image.width = config.input.width, image.height = config.input.height;
  image.pixels.resize(size_t(image.width * image.height) * 3);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {image.pixels.data(), int(image.width * 3), image.pixels.size()};
  const VP8StatusCode status = WebPDecode(bytes, file.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK)
    return fail(describe(status));
  constexpr std::string_view mark("Exif\0\0", 6); // some programs write it as JPEG files have it
  std::string_view exif = findChunk(file, "EXIF");
  exif.remove_prefix(exif.starts_with(mark) ? mark.size() : 0);
  stored.exif = exif;
  return stored;
}

} // namespace rapt::image
