//===- Blocks.cpp - Blocks of quantized tensors in a GGUF file --------------===//
//
// Where blocks have codes and scales. "Halves" of 16 bytes have element j in the low and element
// j + 16 in the high half of byte j. Source: the format's description in ggml's documentation and
// what its dequantization gives (test/Perf/gguf-blocks).
//
//===----------------------------------------------------------------------===//
#include "lib/Formats/GGUF/Blocks.h"
#include "lib/Formats/GGUF/Types.h"
#include <cstring>

using namespace rapt;
using artifact::BlockSource;
using artifact::CodeBlock;

namespace {

const uint8_t *bytesOf(const std::byte *stored) { return reinterpret_cast<const uint8_t *>(stored); }

uint16_t numberAt(const uint8_t *bytes) {
  uint16_t number;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

/// `count` bytes: their low halves, and behind those their high halves.
void readHalves(const uint8_t *bytes, int64_t count, uint8_t *codes) {
  for (int64_t j = 0; j < count; ++j) {
    codes[j] = bytes[j] & 15;
    codes[j + count] = bytes[j] >> 4;
  }
}

/// Bit 4 of 32 codes from the bits of a word.
void addFifthBits(const uint8_t *bytes, uint8_t *codes) {
  uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  for (int64_t j = 0; j < 32; ++j)
    codes[j] |= uint8_t((word >> j & 1) << 4);
}

void readQ4_0(const std::byte *stored, CodeBlock &block) {
  const uint8_t *bytes = bytesOf(stored);
  block.scale = numberAt(bytes);
  readHalves(bytes + 2, 16, block.codes);
}

void readQ4_1(const std::byte *stored, CodeBlock &block) {
  const uint8_t *bytes = bytesOf(stored);
  block.scale = numberAt(bytes);
  block.offset = numberAt(bytes + 2);
  readHalves(bytes + 4, 16, block.codes);
}

void readQ5_0(const std::byte *stored, CodeBlock &block) {
  const uint8_t *bytes = bytesOf(stored);
  block.scale = numberAt(bytes);
  readHalves(bytes + 6, 16, block.codes);
  addFifthBits(bytes + 2, block.codes);
}

void readQ5_1(const std::byte *stored, CodeBlock &block) {
  const uint8_t *bytes = bytesOf(stored);
  block.scale = numberAt(bytes);
  block.offset = numberAt(bytes + 2);
  readHalves(bytes + 8, 16, block.codes);
  addFifthBits(bytes + 4, block.codes);
}

void readQ8_0(const std::byte *stored, CodeBlock &block) {
  const uint8_t *bytes = bytesOf(stored);
  block.scale = numberAt(bytes);
  for (int64_t j = 0; j < 32; ++j)
    block.codes[j] = bytes[2 + j] ^ 0x80; // signed there, from 128 on here
}

/// Two bits of each code: each 32 bytes are 128 elements, bits 2 k of byte j that of number 32 k + j.
void readPairs(const uint8_t *bytes, uint8_t *codes) {
  for (int64_t half = 0; half < 2; ++half)
    for (int64_t k = 0; k < 4; ++k)
      for (int64_t j = 0; j < 32; ++j)
        codes[128 * half + 32 * k + j] = bytes[32 * half + j] >> (2 * k) & 3;
}

void readQ2_K(const std::byte *stored, CodeBlock &block) {
  const uint8_t *bytes = bytesOf(stored);
  std::memcpy(block.scales, bytes, 16);
  readPairs(bytes + 16, block.codes);
  block.scale = numberAt(bytes + 80);
  block.offset = numberAt(bytes + 82);
}

void readQ3_K(const std::byte *stored, CodeBlock &block) {
  const uint8_t *bytes = bytesOf(stored), *scales = bytes + 96;
  readPairs(bytes + 32, block.codes);
  for (int64_t k = 0; k < 8; ++k)
    for (int64_t j = 0; j < 32; ++j)
      block.codes[32 * k + j] |= uint8_t((bytes[j] >> k & 1) << 2);
  for (int64_t j = 0; j < 16; ++j) {
    const unsigned low = j < 8 ? scales[j] & 15 : scales[j - 8] >> 4, high = scales[8 + j % 4] >> (j / 4 * 2) & 3;
    block.scales[j] = uint8_t((low | high << 4) - 32);
  }
  block.scale = numberAt(bytes + 108);
}

/// Scales and offsets of 6 bits, 8 of each in 12 bytes.
void readSixBits(const uint8_t *bytes, CodeBlock &block) {
  for (int64_t j = 0; j < 4; ++j) {
    block.scales[j] = bytes[j] & 63;
    block.offsets[j] = bytes[j + 4] & 63;
    block.scales[j + 4] = uint8_t((bytes[j + 8] & 15) | bytes[j] >> 6 << 4);
    block.offsets[j + 4] = uint8_t(bytes[j + 8] >> 4 | bytes[j + 4] >> 6 << 4);
  }
}

void readQ4_K(const std::byte *stored, CodeBlock &block) {
  const uint8_t *bytes = bytesOf(stored);
  block.scale = numberAt(bytes);
  block.offset = numberAt(bytes + 2);
  readSixBits(bytes + 4, block);
  for (int64_t k = 0; k < 4; ++k)
    readHalves(bytes + 16 + 32 * k, 32, block.codes + 64 * k);
}

void readQ5_K(const std::byte *stored, CodeBlock &block) {
  const uint8_t *bytes = bytesOf(stored);
  block.scale = numberAt(bytes);
  block.offset = numberAt(bytes + 2);
  readSixBits(bytes + 4, block);
  for (int64_t k = 0; k < 4; ++k)
    readHalves(bytes + 48 + 32 * k, 32, block.codes + 64 * k);
  for (int64_t k = 0; k < 8; ++k)
    for (int64_t j = 0; j < 32; ++j)
      block.codes[32 * k + j] |= uint8_t((bytes[16 + j] >> k & 1) << 4);
}

void readQ6_K(const std::byte *stored, CodeBlock &block) {
  const uint8_t *bytes = bytesOf(stored);
  for (int64_t half = 0; half < 2; ++half) {
    const uint8_t *low = bytes + 64 * half, *high = bytes + 128 + 32 * half;
    uint8_t *codes = block.codes + 128 * half;
    readHalves(low, 64, codes);
    for (int64_t k = 0; k < 4; ++k)
      for (int64_t j = 0; j < 32; ++j)
        codes[32 * k + j] |= uint8_t((high[j] >> (2 * k) & 3) << 4);
  }
  std::memcpy(block.scales, bytes + 192, 16);
  block.scale = numberAt(bytes + 208);
}

void readIQ4_XS(const std::byte *stored, CodeBlock &block) {
  const uint8_t *bytes = bytesOf(stored);
  block.scale = numberAt(bytes);
  const uint16_t high = numberAt(bytes + 2);
  for (int64_t k = 0; k < 8; ++k) {
    const unsigned low = bytes[4 + k / 2] >> (k % 2 * 4) & 15;
    block.scales[k] = uint8_t((low | (high >> (2 * k) & 3u) << 4) - 32);
    readHalves(bytes + 8 + 16 * k, 16, block.codes + 32 * k);
  }
}

/// `count` trits of each of some bytes, which are fractions of 256 in base 3: first those of the highest place.
void readTrits(const uint8_t *bytes, int64_t size, int64_t count, uint8_t *codes) {
  uint8_t power = 1;
  for (int64_t place = 0; place < count; ++place, power = uint8_t(power * 3))
    for (int64_t j = 0; j < size; ++j)
      codes[place * size + j] = uint8_t(unsigned(uint8_t(bytes[j] * power)) * 3 >> 8);
}

void readTQ1_0(const std::byte *stored, CodeBlock &block) {
  const uint8_t *bytes = bytesOf(stored);
  readTrits(bytes, 32, 5, block.codes);
  readTrits(bytes + 32, 16, 5, block.codes + 160);
  readTrits(bytes + 48, 4, 4, block.codes + 240);
  block.scale = numberAt(bytes + 52);
}

void readTQ2_0(const std::byte *stored, CodeBlock &block) {
  const uint8_t *bytes = bytesOf(stored);
  readPairs(bytes, block.codes);
  block.scale = numberAt(bytes + 64);
}

void readMXFP4(const std::byte *stored, CodeBlock &block) {
  const uint8_t *bytes = bytesOf(stored);
  block.scale = bytes[0];
  readHalves(bytes + 1, 16, block.codes);
}

using Read = void (*)(const std::byte *, CodeBlock &);
struct Reader {
  std::string_view type;
  Read read;
};
constexpr Reader readers[] = {{"Q4_0", readQ4_0},   {"Q4_1", readQ4_1},   {"Q5_0", readQ5_0},   {"Q5_1", readQ5_1},
                              {"Q8_0", readQ8_0},   {"Q2_K", readQ2_K},   {"Q3_K", readQ3_K},   {"Q4_K", readQ4_K},
                              {"Q5_K", readQ5_K},   {"Q6_K", readQ6_K},   {"IQ4_NL", readQ4_0}, {"IQ4_XS", readIQ4_XS},
                              {"TQ1_0", readTQ1_0}, {"TQ2_0", readTQ2_0}, {"MXFP4", readMXFP4}};
static_assert(std::size(readers) == std::size(blockFormats));

constexpr BlockSource sourceOf(const Reader &reader) {
  uint64_t bytes = 0;
#define RAPT_GGML_TYPE(NUMBER, NAME, ELEMENTS, BYTES, USE, REASON)                                                     \
  if (reader.type == NAME)                                                                                             \
    bytes = BYTES;
#include "lib/Formats/GGUF/Types.def"
  return {findBlockFormat(reader.type), bytes, reader.read};
}

constexpr auto sources = [] {
  std::array<BlockSource, std::size(readers)> all = {};
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = sourceOf(readers[i]);
  return all;
}();
static_assert([] {
  for (const BlockSource &source : sources)
    if (!source.format || source.bytes == 0)
      return false;
  // Each type of blocks that is read has a format with blocks of its size.
#define RAPT_GGML_TYPE(NUMBER, NAME, ELEMENTS, BYTES, USE, REASON)                                                     \
  if (const BlockFormat *format = findBlockFormat(NAME);                                                               \
      (ELEMENTS) > 1 && gguf::TypeUse::USE == gguf::TypeUse::Read && (!format || format->block != (ELEMENTS)))         \
    return false;
#include "lib/Formats/GGUF/Types.def"
  return true;
}());

} // namespace

const BlockSource *gguf::findBlockSource(std::string_view type) {
  for (const BlockSource &source : sources)
    if (source.format->inFile == type)
      return &source;
  return nullptr;
}
