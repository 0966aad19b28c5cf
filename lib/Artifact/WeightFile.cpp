//===- WeightFile.cpp - Ids and header of a weight file ------------------------===//
#include "lib/Artifact/WeightFile.h"
#include "lib/Artifact/Conversion.h"
#include "lib/Support/File.h"
#include <algorithm>
#include <cstring>
#define XXH_INLINE_ALL
#include <xxhash.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "weight files are little-endian and written as they lie");
static_assert(sizeof(rapt_weights_header) == 56 + 80 * RAPT_WEIGHTS_MAX_SECTIONS);
static_assert(sizeof(rapt_weights_header) <= RAPT_WEIGHTS_ALIGNMENT);

namespace rapt::artifact {

std::string Id::hex() const {
  std::string text;
  for (uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

Id hash(std::span<const std::byte> data) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(data.data(), data.size()));
  Id id;
  std::memcpy(id.bytes.data(), canonical.digest, sizeof canonical.digest);
  return id;
}

std::string nameOf(const Layout &layout) {
  return layout.kind == Layout::RowMajor ? "row-major" : "panels32x" + std::to_string(layout.k);
}

std::string elementOf(const Parameter &parameter) {
  const Quantization &how = parameter.quantization;
  if (!how)
    return nameOf(parameter.storage);
  if (how.blocks)
    return std::string(how.blocks->name);
  return "u" + std::to_string(how.bits) + (how.group ? "g" + std::to_string(how.group) : "") +
         (how.zeroPoints ? "z" : "");
}

Id interfaceId(const std::vector<Parameter> &parameters, uint64_t weightsBytes) {
  // One line a parameter, its name first with its length so that no name can imitate another field.
  std::string text = "rapt weights 1 " + std::to_string(weightsBytes) + "\n";
  for (const Parameter &parameter : parameters) {
    text += std::to_string(parameter.name.size()) + ":" + parameter.name + " " + elementOf(parameter) + " [";
    for (int64_t extent : parameter.shape)
      text += std::to_string(extent) + ",";
    text += "] layers " + std::to_string(parameter.layers) + " " + nameOf(parameter.layout) + " groups " +
            std::to_string(parameter.layout.columnGroup) + " " + std::to_string(parameter.layout.rowGroup) + " at " +
            std::to_string(parameter.offset) + " + " + std::to_string(parameter.layerStride) + "\n";
  }
  return hash(std::as_bytes(std::span(text)));
}

uint64_t weightsBytes(const std::vector<Parameter> &parameters) {
  uint64_t end = 0;
  for (const Parameter &parameter : parameters) {
    const uint64_t layers = uint64_t(std::max<int64_t>(parameter.layers, 1));
    const uint64_t last = parameter.offset + (layers - 1) * parameter.layerStride + packedExtents(parameter).bytes;
    end = std::max(end, (last + 63) / 64 * 64);
  }
  return end;
}

std::string weightFileName(const std::string &base, const Id &contentId) {
  return base + "-" + contentId.hex().substr(0, 8) + ".weights";
}

Expected<rapt_weights_header> readWeightHeader(const std::string &path) {
  RAPT_ASSIGN_OR_RETURN(auto file, InputFile::open(path));
  const std::string shown = shownPath(path);
  rapt_weights_header header{};
  if (file->size() < sizeof header)
    return Error{shown + ": " + std::to_string(file->size()) + " bytes are too few for a weight file's header of " +
                 std::to_string(sizeof header)};
  RAPT_RETURN_IF_ERROR(file->read(0, std::as_writable_bytes(std::span(&header, 1))));
  if (header.magic != RAPT_WEIGHTS_MAGIC)
    return Error{shown + ": not a weight file of Rapt (no RAPTWGT at its start)"};
  if (header.version != 1)
    return Error{shown + ": weight file version " + std::to_string(header.version) + ", this Rapt reads version 1"};
  if (header.file_bytes != file->size())
    return Error{shown + ": the file has " + std::to_string(file->size()) + " bytes, its header says " +
                 std::to_string(header.file_bytes)};
  if (header.section_count < 1 || header.section_count > RAPT_WEIGHTS_MAX_SECTIONS)
    return Error{shown + ": " + std::to_string(header.section_count) + " sections, not 1 to " +
                 std::to_string(RAPT_WEIGHTS_MAX_SECTIONS)};
  for (uint32_t i = 0; i < header.section_count; ++i) {
    const rapt_weights_section &section = header.sections[i];
    if (section.name[sizeof section.name - 1] != 0 || section.offset % RAPT_WEIGHTS_ALIGNMENT ||
        section.offset > header.file_bytes || section.bytes > header.file_bytes - section.offset)
      return Error{shown + ": section " + std::to_string(i) + " lies at " + std::to_string(section.offset) + " with " +
                   std::to_string(section.bytes) + " bytes in a file of " + std::to_string(header.file_bytes)};
  }
  return header;
}

} // namespace rapt::artifact
