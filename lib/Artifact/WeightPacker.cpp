//===- WeightPacker.cpp - From source tensors to a weight file -----------------===//
//
// The unit of work is one 4 MiB piece of the content id: a thread fills it from the
// tensors, hashes it while it is in the cache, and writes it at its offset.
//
//===----------------------------------------------------------------------===//
#include "lib/Artifact/WeightPacker.h"
#include "lib/Artifact/BlockWriter.h"
#include "lib/Artifact/QuantizedWriter.h"
#include "lib/Artifact/Threads.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/File.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unistd.h>
#include <variant>

namespace rapt::artifact {

namespace {

/// One layer of one parameter in the section.
struct Slot {
  uint64_t begin, end; ///< bytes in the section
  uint32_t parameter;
  int64_t layer;
};

/// The first error of several threads, in the order of the work and not of time.
class FirstError {
public:
  void report(uint64_t position, Error error) {
    std::lock_guard lock(mutex);
    if (position < at) {
      at = position;
      first = std::move(error);
    }
    failed = true;
  }
  bool any() const { return failed; }
  Status status() const { return failed ? Status(first) : Status(); }

private:
  std::mutex mutex;
  std::atomic<bool> failed = false;
  uint64_t at = UINT64_MAX;
  Error first;
};

Expected<std::vector<Slot>> placeSlots(const std::vector<Parameter> &parameters) {
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < parameters.size(); ++i) {
    const Parameter &parameter = parameters[i];
    const uint64_t bytes = packedExtents(parameter).bytes;
    const uint64_t most = uint64_t(1) << 50;
    auto span = checkedMul<uint64_t>(parameter.layerStride, uint64_t(parameter.layers));
    if (parameter.offset % 64 || parameter.layerStride % 64 || !span || *span > most || parameter.offset > most ||
        (parameter.layers > 1 && parameter.layerStride < bytes))
      return Error{"parameter '" + parameter.name + "': offset " + std::to_string(parameter.offset) + " and stride " +
                   std::to_string(parameter.layerStride) + " do not place " + std::to_string(parameter.layers) +
                   " layers of " + std::to_string(bytes) + " bytes"};
    for (int64_t layer = 0; layer < parameter.layers; ++layer) {
      const uint64_t begin = parameter.offset + uint64_t(layer) * parameter.layerStride;
      slots.push_back({begin, begin + bytes, i, layer});
    }
  }
  std::sort(slots.begin(), slots.end(), [](const Slot &a, const Slot &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < slots.size(); ++i)
    if (slots[i].begin < slots[i - 1].end)
      return Error{"parameters '" + parameters[slots[i - 1].parameter].name + "' and '" +
                   parameters[slots[i].parameter].name + "' overlap at byte " + std::to_string(slots[i].begin)};
  return slots;
}

using Writer = std::variant<ParameterWriter, QuantizedWriter, BlockWriter>;

Expected<std::vector<Writer>> createWriters(const std::vector<Parameter> &parameters, const TensorReader &reader) {
  std::vector<Writer> writers;
  for (const Parameter &parameter : parameters) {
    if (parameter.quantization.blocks) {
      RAPT_ASSIGN_OR_RETURN(BlockWriter writer, BlockWriter::create(parameter, reader));
      writers.push_back(std::move(writer));
      continue;
    }
    if (parameter.quantization) {
      RAPT_ASSIGN_OR_RETURN(QuantizedWriter writer, QuantizedWriter::create(parameter, reader));
      writers.push_back(std::move(writer));
      continue;
    }
    RAPT_ASSIGN_OR_RETURN(ParameterWriter writer, ParameterWriter::create(parameter, reader));
    writers.push_back(std::move(writer));
  }
  return writers;
}

/// A large page. Files with at least `largeFrom` bytes of weights begin them at one.
constexpr uint64_t largePage = uint64_t(2) << 20, largeFrom = uint64_t(64) << 20;

/// The errors of the slots that a piece has a part of, from `first` on.
struct PieceErrors {
  size_t first = 0;
  std::vector<QuantizationError> slots;
};

/// State shared by the packing threads.
struct Packing {
  const std::vector<Writer> &writers;
  const std::vector<Slot> &slots;
  StagedFile &file;
  uint64_t sectionOffset, sectionBytes;
  const ProgressCallback &onBytes;
  std::vector<Id> digests{};         ///< one per piece
  std::vector<PieceErrors> errors{}; ///< alike
  std::atomic<uint64_t> next = 0;
  FirstError error{};

  void work();
  Status fill(uint64_t begin, std::span<std::byte> piece, Scratch &scratch, PieceErrors &found) const;
};

/// Fills the bytes [begin, begin + piece.size()) of the section; what no parameter covers is zero.
Status Packing::fill(uint64_t begin, std::span<std::byte> piece, Scratch &scratch, PieceErrors &found) const {
  const uint64_t end = begin + piece.size();
  auto slot = std::partition_point(slots.begin(), slots.end(), [&](const Slot &s) { return s.end <= begin; });
  uint64_t position = begin;
  found.first = size_t(slot - slots.begin());
  for (; slot != slots.end() && slot->begin < end; ++slot) {
    const uint64_t from = std::max(slot->begin, begin), to = std::min(slot->end, end);
    std::memset(piece.data() + (position - begin), 0, from - position);
    const std::span<std::byte> part = piece.subspan(from - begin, to - from);
    QuantizationError &error = found.slots.emplace_back();
    const Writer &writer = writers[slot->parameter];
    RAPT_RETURN_IF_ERROR(std::visit(
        [&](const auto &own) {
          if constexpr (std::is_same_v<decltype(own), const QuantizedWriter &>)
            return own.write(slot->layer, from - slot->begin, part, scratch, error);
          else
            return own.write(slot->layer, from - slot->begin, part, scratch);
        },
        writer));
    position = to;
  }
  std::memset(piece.data() + (position - begin), 0, end - position);
  return {};
}

void Packing::work() {
  Scratch scratch;
  auto memory = std::make_unique_for_overwrite<std::byte[]>(pieceBytes);
  for (uint64_t index; (index = next++) < digests.size() && !error.any();) {
    const uint64_t begin = index * pieceBytes;
    const std::span piece(memory.get(), size_t(std::min(pieceBytes, sectionBytes - begin)));
    Status status = fill(begin, piece, scratch, errors[index]);
    if (status) {
      digests[index] = hash(piece);
      status = file.writeAt(sectionOffset + begin, piece);
    }
    if (!status) {
      error.report(index, status.error());
      continue;
    }
    file.beginWriteback(sectionOffset + begin, piece.size());
    if (onBytes)
      onBytes(piece.size());
  }
}

/// The errors of each quantized slot. Pieces are added in their order, whichever thread made them.
std::vector<MatrixError> collectErrors(const std::vector<Parameter> &parameters, const std::vector<Slot> &slots,
                                       const std::vector<PieceErrors> &pieces) {
  std::vector<QuantizationError> sums(slots.size());
  for (const PieceErrors &piece : pieces)
    for (size_t i = 0; i < piece.slots.size(); ++i)
      sums[piece.first + i].add(piece.slots[i]);
  std::vector<MatrixError> errors;
  for (size_t i = 0; i < slots.size(); ++i) {
    const Parameter &parameter = parameters[slots[i].parameter];
    if (parameter.quantization && !parameter.quantization.blocks)
      errors.push_back({sourceName(parameter.sources[0], parameter.layerNumber(slots[i].layer)), sums[i]});
  }
  return errors;
}

} // namespace

Expected<rapt_weights_header> layOut(uint64_t bytesOfWeights, const std::vector<Section> &sections) {
  rapt_weights_header header{};
  header.magic = RAPT_WEIGHTS_MAGIC;
  header.version = 1;
  if (sections.size() + 1 > RAPT_WEIGHTS_MAX_SECTIONS)
    return Error{std::to_string(sections.size()) + " files beside the weights, at most " +
                 std::to_string(RAPT_WEIGHTS_MAX_SECTIONS - 1) + " fit a weight file"};
  // A file system caches what is written into a whole large page as one, and maps it as one:
  // docs/Experiments/runtime.md.
  uint64_t end = bytesOfWeights < largeFrom ? RAPT_WEIGHTS_ALIGNMENT : largePage;
  auto add = [&](const std::string &name, uint64_t bytes) {
    rapt_weights_section &section = header.sections[header.section_count++];
    std::memcpy(section.name, name.data(), name.size());
    section.offset = (end + RAPT_WEIGHTS_ALIGNMENT - 1) / RAPT_WEIGHTS_ALIGNMENT * RAPT_WEIGHTS_ALIGNMENT;
    section.bytes = bytes;
    end = section.offset + bytes;
  };
  add("weights", bytesOfWeights);
  for (const Section &section : sections) {
    if (section.name.empty() || section.name.size() >= sizeof(rapt_weights_section::name) ||
        section.name == "weights" || section.name.find('\0') != std::string::npos)
      return Error{"'" + shownPath(section.name) + "' cannot name a section of the weight file"};
    add(section.name, section.bytes.size());
  }
  header.file_bytes = end;
  return header;
}

Expected<uint64_t> predictFileBytes(const std::vector<Parameter> &parameters, const std::vector<Section> &sections) {
  RAPT_ASSIGN_OR_RETURN(rapt_weights_header header, layOut(weightsBytes(parameters), sections));
  return header.file_bytes;
}

Expected<PackedWeights> packWeights(const PackRequest &request) {
  RAPT_ASSIGN_OR_RETURN(std::vector<Writer> writers, createWriters(*request.parameters, *request.reader));
  RAPT_ASSIGN_OR_RETURN(std::vector<Slot> slots, placeSlots(*request.parameters));
  RAPT_ASSIGN_OR_RETURN(rapt_weights_header header, layOut(weightsBytes(*request.parameters), *request.sections));
  RAPT_ASSIGN_OR_RETURN(auto file, StagedFile::create(request.directory + "/" + request.base + ".weights"));
  RAPT_RETURN_IF_ERROR(file->reserve(header.file_bytes));

  const uint64_t bytes = header.sections[0].bytes;
  Packing packing{writers, slots, *file, header.sections[0].offset, bytes, request.onBytes};
  packing.digests.resize((bytes + pieceBytes - 1) / pieceBytes);
  packing.errors.resize(packing.digests.size());
  runOnThreads(threadCount(request.threads), [&](unsigned) { packing.work(); });
  RAPT_RETURN_IF_ERROR(packing.error.status());

  for (size_t i = 0; i < request.sections->size(); ++i) {
    const auto data = std::as_bytes(std::span((*request.sections)[i].bytes));
    for (uint64_t at = 0; at < data.size(); at += pieceBytes)
      packing.digests.push_back(hash(data.subspan(at, std::min<uint64_t>(pieceBytes, data.size() - at))));
    RAPT_RETURN_IF_ERROR(file->writeAt(header.sections[i + 1].offset, data));
  }

  PackedWeights packed;
  packed.interfaceId = interfaceId(*request.parameters, bytes);
  packed.contentId = hash(std::as_bytes(std::span(packing.digests)));
  packed.fileName = weightFileName(request.base, packed.contentId);
  packed.weightsBytes = bytes;
  packed.fileBytes = header.file_bytes;
  packed.errors = collectErrors(*request.parameters, slots, packing.errors);
  std::memcpy(header.interface_id, packed.interfaceId.bytes.data(), sizeof header.interface_id);
  std::memcpy(header.content_id, packed.contentId.bytes.data(), sizeof header.content_id);
  RAPT_RETURN_IF_ERROR(file->writeAt(0, std::as_bytes(std::span(&header, 1))));
  packed.directory = request.directory;
  packed.header = header;
  packed.staged = std::move(file);
  return packed;
}

/// Whether both files have the same sections, wherever these begin.
static bool haveSameContent(const rapt_weights_header &one, const rapt_weights_header &other) {
  bool isSame = one.section_count == other.section_count && one.section_count <= RAPT_WEIGHTS_MAX_SECTIONS &&
                std::memcmp(one.content_id, other.content_id, sizeof one.content_id) == 0;
  for (uint32_t i = 0; isSame && i < one.section_count; ++i)
    isSame = std::memcmp(one.sections[i].name, other.sections[i].name, sizeof one.sections[i].name) == 0 &&
             one.sections[i].bytes == other.sections[i].bytes;
  return isSame;
}

Status PackedWeights::commit() {
  const std::string path = directory + "/" + fileName;
  if (access(path.c_str(), F_OK) != 0)
    return staged->commit(path);
  Expected<rapt_weights_header> existing = readWeightHeader(path);
  // The same content under another interface (renamed parameters), or at other offsets: programs find it by the header.
  const bool isSame = existing && haveSameContent(*existing, header);
  if (isSame && std::memcmp(existing->interface_id, header.interface_id, sizeof header.interface_id) == 0) {
    staged.reset();
    return {};
  }
  if (isSame)
    return staged->commit(path);
  return Error{shownPath(path) + ": exists and holds other bytes than the model's" +
               (existing ? "" : " (" + existing.error().message + ")") + "; move it away or choose another -o"};
}

} // namespace rapt::artifact
