//===- Png.cpp - Pictures of numbers -----------------------------------------===//
#include "lib/Support/Png.h"
#include "lib/Support/File.h"
#include <algorithm>
#include <array>

namespace rapt {

namespace {

void appendBig(std::string &out, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out += char(number >> shift & 0xFF);
}

/// CRC-32 of ISO 3309, as PNG's chunks have it.
uint32_t crcOf(std::string_view bytes) {
  static constexpr auto table = [] {
    std::array<uint32_t, 256> result{};
    for (uint32_t n = 0; n < 256; ++n) {
      uint32_t c = n;
      for (int k = 0; k < 8; ++k)
        c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
      result[n] = c;
    }
    return result;
  }();
  uint32_t crc = 0xFFFFFFFFu;
  for (char byte : bytes)
    crc = table[(crc ^ uint8_t(byte)) & 0xFF] ^ crc >> 8;
  return ~crc;
}

uint32_t adlerOf(std::string_view bytes) {
  uint32_t a = 1, b = 0;
  for (char byte : bytes) {
    a = (a + uint8_t(byte)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

void appendChunk(std::string &out, const std::string &type, const std::string &data) {
  appendBig(out, uint32_t(data.size()));
  const std::string body = type + data;
  out += body;
  appendBig(out, crcOf(body));
}

/// A zlib stream of stored blocks.
std::string stored(std::string_view bytes) {
  constexpr size_t most = 65535;
  std::string out = "\x78\x01";
  for (size_t at = 0; at == 0 || at < bytes.size(); at += most) {
    const size_t size = std::min(most, bytes.size() - at);
    out += char(at + size == bytes.size());
    for (uint32_t length : {uint32_t(size), ~uint32_t(size)}) {
      out += char(length & 0xFF);
      out += char(length >> 8 & 0xFF);
    }
    out += bytes.substr(at, size);
  }
  appendBig(out, adlerOf(bytes));
  return out;
}

} // namespace

Status writePng(const std::string &path, uint32_t width, uint32_t height, std::span<const uint8_t> pixels) {
  std::string header, lines;
  appendBig(header, width);
  appendBig(header, height);
  header += std::string("\x08\0\0\0\0", 5); // 8 bits, grey, the only compression and filters, not interlaced
  for (uint32_t y = 0; y < height; ++y) {
    lines += '\0'; // no filter
    lines.append(reinterpret_cast<const char *>(pixels.data()) + size_t(y) * width, width);
  }
  std::string file("\x89PNG\r\n\x1A\n");
  appendChunk(file, "IHDR", header);
  appendChunk(file, "IDAT", stored(lines));
  appendChunk(file, "IEND", "");
  Expected<std::unique_ptr<OutputFile>> out = OutputFile::create(path);
  if (!out)
    return out.error();
  if (Status status = (*out)->write(std::as_bytes(std::span(file))); !status)
    return status;
  return (*out)->commit();
}

} // namespace rapt
