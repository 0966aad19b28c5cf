//===- Png.cpp - PNG through libpng ----------------------------------------===//
//
// As in Jpeg.cpp, the library leaves by longjmp, so the results are members.
//
//===----------------------------------------------------------------------===//
#include "lib/Image/Decode.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <png.h>

namespace rapt::image {
namespace {

/// Most bytes of one chunk, and of one allocation of the library.
constexpr png_alloc_size_t mostMemory = 1 << 24;

class PngDecoder {
public:
  explicit PngDecoder(std::string_view file) : rest(file) {}
  ~PngDecoder() { png_destroy_read_struct(&png, &info, nullptr); }
  /// False: `problem` or `size` says why.
  bool run();

  Stored result;
  Status size;
  char problem[128] = "";

private:
  void start();
  void readRows();
  void keepExif();
  void convertRow(const uint8_t *row, uint8_t *out) const;

  std::string_view rest; // of the file
  png_structp png = nullptr;
  png_infop info = nullptr;
  int depth = 0, color = 0, channels = 0;
  png_colorp palette = nullptr;
  int colors = 0;
  std::vector<uint8_t> stored; // all rows: an interlaced file fills them in several passes
};

void PngDecoder::start() {
  auto read = [](png_structp png, png_bytep out, size_t count) {
    auto &rest = static_cast<PngDecoder *>(png_get_io_ptr(png))->rest;
    if (rest.size() < count)
      png_error(png, "it is truncated");
    std::memcpy(out, rest.data(), count);
    rest.remove_prefix(count);
  };
  png_set_read_fn(png, this, read);
  png_set_user_limits(png, 0x7FFFFFFF, 0x7FFFFFFF); // checkSize says it better
  png_set_chunk_malloc_max(png, mostMemory);
  png_set_chunk_cache_max(png, 256);
  png_read_info(png, info);
}

/// Samples of fewer than 8 bits come as one byte each.
void PngDecoder::convertRow(const uint8_t *row, uint8_t *out) const {
  bool wide = depth == 16, gray = channels < 3;
  for (int64_t x = 0; x < result.image.width; ++x, row += channels * (wide ? 2 : 1), out += 3)
    for (int channel = 0; channel < 3; ++channel) {
      const uint8_t *sample = row + (gray ? 0 : channel) * (wide ? 2 : 1);
      if (color == PNG_COLOR_TYPE_PALETTE) {
        const png_color known = *row < colors ? palette[*row] : png_color{0, 0, 0};
        out[channel] = channel == 0 ? known.red : channel == 1 ? known.green : known.blue;
      } else if (color == PNG_COLOR_TYPE_GRAY) {
        out[channel] = wide ? (sample[0] ? 255 : sample[1]) : uint8_t(*sample * (255 / ((1 << depth) - 1)));
      } else {
        out[channel] = *sample; // the high byte of 16 bits
      }
    }
}

void PngDecoder::keepExif() {
  png_bytep block = nullptr;
  png_uint_32 bytes = 0;
  if (png_get_eXIf_1(png, info, &bytes, &block) && block)
    result.exif.assign(reinterpret_cast<const char *>(block), bytes);
}

void PngDecoder::readRows() {
  depth = png_get_bit_depth(png, info), color = png_get_color_type(png, info);
  channels = png_get_channels(png, info);
  if (color == PNG_COLOR_TYPE_PALETTE)
    png_get_PLTE(png, info, &palette, &colors);
  png_set_packing(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  Image &image = result.image;
  size_t rowBytes = png_get_rowbytes(png, info);
  stored.resize(rowBytes * image.height);
  int passes = png_get_interlace_type(png, info) == PNG_INTERLACE_NONE ? 1 : PNG_INTERLACE_ADAM7_PASSES;
  for (int pass = 0; pass < passes; ++pass)
    for (int64_t y = 0; y < image.height; ++y)
      png_read_row(png, &stored[y * rowBytes], nullptr);
  png_read_end(png, info);
  image.pixels.resize(size_t(image.width * image.height) * 3);
  for (int64_t y = 0; y < image.height; ++y)
    convertRow(&stored[y * rowBytes], &image.pixels[size_t(y * image.width) * 3]);
}

bool PngDecoder::run() {
  png = png_create_read_struct_2(
      PNG_LIBPNG_VER_STRING, this,
      [](png_structp png, png_const_charp text) {
        auto *decoder = static_cast<PngDecoder *>(png_get_error_ptr(png));
        snprintf(decoder->problem, sizeof decoder->problem, "%s", text);
        png_longjmp(png, 1);
      },
      [](png_structp, png_const_charp) {}, nullptr,
      // A chunk's length is believed before its bytes are read: a few bytes must not ask for gigabytes.
      [](png_structp, png_alloc_size_t bytes) -> png_voidp { return bytes <= mostMemory ? malloc(bytes) : nullptr; },
      [](png_structp, png_voidp memory) { free(memory); });
  info = png ? png_create_info_struct(png) : nullptr;
  if (!info) {
    snprintf(problem, sizeof problem, "out of memory");
    return false;
  }
  if (setjmp(png_jmpbuf(png)))
    return false;
  start();
  result.image.width = png_get_image_width(png, info), result.image.height = png_get_image_height(png, info);
  size = checkSize(png_get_image_width(png, info), png_get_image_height(png, info));
  if (!size)
    return false;
  readRows();
  keepExif();
  return true;
}

} // namespace

Expected<Stored> decodePng(std::string_view file) {
  PngDecoder decoder(file);
  if (decoder.run())
    return std::move(decoder.result);
  return decoder.size ? Error{std::string("the PNG image cannot be decoded: ") + decoder.problem}
                      : decoder.size.error();
}

} // namespace rapt::image
