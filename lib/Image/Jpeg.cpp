//===- Jpeg.cpp - JPEG through libjpeg-turbo -------------------------------===//
//
// The library leaves by longjmp when it fails. So nothing with a destructor lives
// in a function that it jumps over: the results are members.
//
//===----------------------------------------------------------------------===//
#include "lib/Image/Decode.h"
#include <csetjmp>
#include <cstdio>
// After <cstdio>: the header needs FILE.
#include <jerror.h>
#include <jpeglib.h>

namespace rapt::image {
namespace {

/// Scans of a progressive file; each costs a pass over all coefficients.
constexpr int mostScans = 100;

class JpegDecoder {
public:
  explicit JpegDecoder(std::string_view file) : file(file) {}
  ~JpegDecoder() { jpeg_destroy_decompress(&info); }
  /// False: `problem` says why.
  bool run();

  std::string_view file;
  Stored result;
  Status size;
  char problem[JMSG_LENGTH_MAX] = "";

private:
  void start();
  void readRows();
  void convertRow(const uint8_t *row, uint8_t *out) const;
  [[noreturn]] void stop(const char *text) {
    snprintf(problem, sizeof problem, "%s", text);
    longjmp(back, 1);
  }
  static JpegDecoder &of(j_common_ptr info) { return *static_cast<JpegDecoder *>(info->client_data); }

  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  jmp_buf back;
  std::vector<uint8_t> row;
};

void JpegDecoder::start() {
  info.err = jpeg_std_error(&errors);
  info.client_data = this;
  errors.error_exit = [](j_common_ptr info) {
    JpegDecoder &decoder = of(info);
    info->err->format_message(info, decoder.problem);
    longjmp(decoder.back, 1);
  };
  errors.output_message = [](j_common_ptr) {};
  errors.emit_message = [](j_common_ptr info, int level) {
    if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF)
      of(info).stop("it is truncated");
  };
  progress.progress_monitor = [](j_common_ptr info) {
    if (j_decompress_ptr(info)->input_scan_number > mostScans)
      of(info).stop("it has too many scans");
  };
  jpeg_create_decompress(&info);
  info.client_data = this;
  info.progress = &progress;
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char *>(file.data()), file.size());
  jpeg_save_markers(&info, JPEG_APP0 + 1, 0xFFFF);
  jpeg_read_header(&info, TRUE);
}

/// Pillow takes four components for the inverted CMYK of Adobe's programs, whether they say so or not.
void JpegDecoder::convertRow(const uint8_t *row, uint8_t *out) const {
  for (JDIMENSION x = 0; x < info.output_width; ++x, row += info.output_components, out += 3)
    for (int channel = 0; channel < 3; ++channel) {
      if (info.output_components < 4) {
        out[channel] = row[info.output_components == 1 ? 0 : channel];
        continue;
      }
      int black = row[3], product = (255 - row[channel]) * black + 128;
      out[channel] = uint8_t(std::max(0, black - (((product >> 8) + product) >> 8)));
    }
}

void JpegDecoder::readRows() {
  info.out_color_space = info.num_components == 1 ? JCS_GRAYSCALE : info.num_components == 3 ? JCS_RGB : JCS_CMYK;
  info.dct_method = JDCT_ISLOW;
  info.do_fancy_upsampling = TRUE;
  jpeg_start_decompress(&info);
  Image &image = result.image;
  image.width = info.output_width, image.height = info.output_height;
  image.pixels.resize(size_t(image.width * image.height) * 3);
  row.resize(size_t(info.output_width) * info.output_components);
  for (size_t y = 0; info.output_scanline < info.output_height; ++y) {
    JSAMPROW rows[] = {row.data()};
    jpeg_read_scanlines(&info, rows, 1);
    convertRow(row.data(), &image.pixels[y * image.width * 3]);
  }
  jpeg_finish_decompress(&info);
}

bool JpegDecoder::run() {
  if (setjmp(back))
    return false;
  start();
  size = checkSize(info.image_width, info.image_height);
  if (!size)
    return false;
  if (info.num_components != 1 && info.num_components != 3 && info.num_components != 4)
    stop("it has neither 1, 3 nor 4 color components");
  constexpr std::string_view exif("Exif\0\0", 6);
  for (jpeg_saved_marker_ptr marker = info.marker_list; marker && result.exif.empty(); marker = marker->next) {
    std::string_view content(reinterpret_cast<const char *>(marker->data), marker->data_length);
    if (content.starts_with(exif))
      result.exif = content.substr(exif.size());
  }
  readRows();
  return true;
}

} // namespace

Expected<Stored> decodeJpeg(std::string_view file) {
  JpegDecoder decoder(file);
  if (decoder.run())
    return std::move(decoder.result);
  return decoder.size ? Error{std::string("the JPEG image cannot be decoded: ") + decoder.problem}
                      : decoder.size.error();
}

} // namespace rapt::image
