//===- SafeTensorsReader.cpp - Values of a checkpoint's tensors --------------===//
#include "lib/Artifact/Conversion.h"
#include "lib/Formats/HuggingFace/EightBitFloats.h"
#include "lib/Formats/HuggingFace/MicroscalingFloats.h"
#include "lib/Formats/HuggingFace/TensorRequest.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace rapt;
using namespace rapt::huggingface;
using artifact::DType;

static std::string quoted(std::string_view name) { return "\"" + json::printable(name) + "\""; }

static Status readRange(std::string_view name, const StoredTensor &tensor, uint64_t byteOffset,
                        std::span<std::byte> out) {
  // Packing reads hundreds of thousands of pieces of rows: no text is made for one that succeeds.
  auto where = [&] { return shownPath(tensor.file->path()) + ": tensor " + quoted(name) + ": "; };
  if (byteOffset > tensor.bytes || out.size() > tensor.bytes - byteOffset)
    return Error{where() + "bytes " + std::to_string(byteOffset) + " to " + std::to_string(byteOffset + out.size()) +
                 " asked for, it has " + std::to_string(tensor.bytes)};
  uint64_t begin = tensor.offset + byteOffset;
  RAPT_ASSIGN_OR_RETURN(size_t got, tensor.file->readSome(begin, out));
  if (got != out.size())
    return Error{where() + "needs the file's bytes " + std::to_string(begin) + " to " +
                 std::to_string(begin + out.size()) + ", the file now ends at byte " +
                 std::to_string(tensor.file->sizeNow()) + " (it had " + std::to_string(tensor.file->size()) +
                 " bytes when opened)"};
  return {};
}

/// Bytes of a tensor whose rows lie in the file in another order.
static Status readRows(const StoredTensor &tensor, uint64_t byteOffset, std::span<std::byte> out) {
  const std::vector<int64_t> &rows = *tensor.rows;
  const uint64_t bytes = tensor.bytes / rows.size();
  while (!out.empty()) {
    const uint64_t first = byteOffset / bytes, inRow = byteOffset % bytes;
    uint64_t count = 1; // of rows that follow one another in the file, too
    while (count * bytes - inRow < out.size() && first + count < rows.size() &&
           rows[first + count] == rows[first] + int64_t(count))
      ++count;
    const size_t piece = std::min<uint64_t>(out.size(), count * bytes - inRow);
    RAPT_RETURN_IF_ERROR(readRange(tensor.name, tensor, uint64_t(rows[first]) * bytes + inRow, out.first(piece)));
    out = out.subspan(piece);
    byteOffset += piece;
  }
  return {};
}

/// Values of MXFP4 as bf16, some blocks at a time.
static Status readMicroscaling(const StoredTensor &tensor, uint64_t byteOffset, std::span<std::byte> out) {
  constexpr uint64_t size = sizeof(uint16_t), most = 4096;
  std::array<std::byte, most / 2 + 1> codes;
  std::array<std::byte, most / microscalingBlock + 1> scales;
  while (!out.empty()) {
    const uint64_t first = byteOffset / size, count = std::min<uint64_t>(out.size() / size, most),
                   last = first + count - 1;
    std::span ownCodes = std::span(codes).first(last / 2 - first / 2 + 1);
    std::span ownScales = std::span(scales).first(last / microscalingBlock - first / microscalingBlock + 1);
    RAPT_RETURN_IF_ERROR(readRange(tensor.name, tensor, first / 2, ownCodes));
    RAPT_RETURN_IF_ERROR(readRange(tensor.name, *tensor.scales, first / microscalingBlock, ownScales));
    decodeMicroscaling(first, ownCodes, ownScales, out.first(count * size));
    out = out.subspan(count * size);
    byteOffset += count * size;
  }
  return {};
}

/// Values of 8 bits that are read at once.
static constexpr size_t mostValues = 4096;

/// Multiplies values first, first + 1, .. of one row of a matrix by the scales of their blocks.
static Status scaleRow(const StoredTensor &tensor, uint64_t first, std::span<float> values) {
  const StoredTensor &scales = *tensor.scales;
  const auto rows = uint64_t(tensor.shape[tensor.shape.size() - 2]), columns = uint64_t(tensor.shape.back()),
             blockRows = uint64_t(tensor.block[0]), blockColumns = uint64_t(tensor.block[1]);
  const uint64_t row = first / columns, column = first % columns;
  const uint64_t rowOfScales = row / rows * ((rows + blockRows - 1) / blockRows) + row % rows / blockRows;
  const uint64_t firstScale = rowOfScales * ((columns + blockColumns - 1) / blockColumns) + column / blockColumns;
  const uint64_t count = (column + values.size() - 1) / blockColumns - column / blockColumns + 1;
  const DType type = *scales.type();
  std::array<std::byte, mostValues * sizeof(float)> stored;
  std::array<float, mostValues> factors;
  RAPT_RETURN_IF_ERROR(readRange(scales.name, scales, firstScale * artifact::sizeOf(type),
                                 std::span(stored).first(count * artifact::sizeOf(type))));
  artifact::convert(stored.data(), type, std::as_writable_bytes(std::span(factors)).data(), DType::F32, count);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] *= factors[(column + i) / blockColumns - column / blockColumns];
  return {};
}

/// Values of 8 bits in the tensor's type, a piece of a row at a time.
static Status readEightBit(const StoredTensor &tensor, uint64_t byteOffset, std::span<std::byte> out) {
  const EightBitFormat format = *eightBitFormat(tensor.dtype);
  const uint64_t size = artifact::sizeOf(tensor.decoded);
  std::array<std::byte, mostValues> codes;
  std::array<float, mostValues> values;
  while (!out.empty()) {
    const uint64_t first = byteOffset / size;
    uint64_t count = std::min<uint64_t>(out.size() / size, mostValues);
    if (tensor.scales)
      count = std::min(count, uint64_t(tensor.shape.back()) - first % uint64_t(tensor.shape.back()));
    RAPT_RETURN_IF_ERROR(readRange(tensor.name, tensor, first, std::span(codes).first(count)));
    decodeEightBit(format, std::span(codes).first(count), values);
    if (tensor.scales)
      RAPT_RETURN_IF_ERROR(scaleRow(tensor, first, std::span(values).first(count)));
    if (!artifact::convert(std::as_bytes(std::span(values)).data(), DType::F32, out.data(), tensor.decoded, count))
      return Error{shownPath(tensor.file->path()) + ": tensor " + quoted(tensor.name) + ": a scaled value is beyond " +
                   artifact::nameOf(tensor.decoded) + ", the type that the configuration gives (torch_dtype)"};
    out = out.subspan(count * size);
    byteOffset += count * size;
  }
  return {};
}

/// The directory's numbers, of which the tensor's were made, as f32, some at a time.
static Status readUnmade(const StoredTensor &tensor, uint64_t byteOffset, std::span<std::byte> out) {
  const DType type = tensor.dtype == "F32" ? DType::F32 : tensor.dtype == "F16" ? DType::F16 : DType::BF16;
  const uint64_t size = artifact::sizeOf(type);
  std::array<std::byte, mostValues * sizeof(float)> stored;
  std::array<float, mostValues> values;
  while (!out.empty()) {
    const size_t count = std::min(out.size() / sizeof(float), mostValues);
    const std::span part = std::span(stored).first(count * size);
    RAPT_RETURN_IF_ERROR(readRange(tensor.name, tensor, byteOffset / sizeof(float) * size, part));
    artifact::convert(part.data(), type, std::as_writable_bytes(std::span(values)).data(), DType::F32, count);
    for (float &value : std::span(values).first(count)) {
      if (tensor.made == Made::NegativeExponential && !(value < 0))
        return Error{shownPath(tensor.file->path()) + ": tensor " + quoted(tensor.name) + ": a decay must be below 0"};
      value = tensor.made == Made::OnePlus ? value - 1 : float(std::log(-double(value)));
    }
    std::memcpy(out.data(), values.data(), count * sizeof(float));
    out = out.subspan(count * sizeof(float));
    byteOffset += count * sizeof(float);
  }
  return {};
}

/// Blocks of MXFP4, each with its scale ahead, some at a time.
static Status readScaledBlocks(const StoredTensor &tensor, uint64_t byteOffset, std::span<std::byte> out) {
  constexpr uint64_t size = microscalingBlock / 2, whole = size + 1, most = 256;
  std::array<std::byte, most * size> codes;
  std::array<std::byte, most> scales;
  if (byteOffset % whole != 0 || out.size() % whole != 0)
    return Error{"tensor " + quoted(tensor.name) + ": no whole blocks asked for"};
  for (uint64_t first = byteOffset / whole; !out.empty();) {
    const uint64_t count = std::min<uint64_t>(out.size() / whole, most);
    RAPT_RETURN_IF_ERROR(readRange(tensor.name, tensor, first * size, std::span(codes).first(count * size)));
    RAPT_RETURN_IF_ERROR(readRange(tensor.name, *tensor.scales, first, std::span(scales).first(count)));
    for (uint64_t i = 0; i < count; ++i) {
      out[i * whole] = scales[i];
      std::memcpy(&out[i * whole + 1], &codes[i * size], size);
    }
    out = out.subspan(count * whole);
    first += count;
  }
  return {};
}

/// Bytes of a quantized matrix's blocks.
static Status readStored(const StoredTensor &tensor, uint64_t byteOffset, std::span<std::byte> out) {
  if (tensor.scales)
    return readScaledBlocks(tensor, byteOffset, out);
  return tensor.rows ? readRows(tensor, byteOffset, out) : readRange(tensor.name, tensor, byteOffset, out);
}

/// Numbers of a quantized matrix, some blocks at a time.
static Status readNumbers(const StoredTensor &tensor, uint64_t byteOffset, std::span<std::byte> out) {
  const artifact::BlockSource &source = *tensor.blocks;
  const auto size = uint64_t(source.format->block) * sizeof(float);
  std::array<float, artifact::CodeBlock::most> values;
  artifact::CodeBlock block;
  constexpr uint64_t most = 64; // blocks of at most 210 bytes
  std::vector<std::byte> stored(most * source.bytes);
  while (!out.empty()) {
    const uint64_t first = byteOffset / size, last = (byteOffset + out.size() - 1) / size,
                   count = std::min(last - first + 1, most);
    RAPT_RETURN_IF_ERROR(
        readStored(tensor, first * source.bytes, std::span(stored).first(size_t(count * source.bytes))));
    for (uint64_t i = 0; i < count; ++i) {
      source.read(stored.data() + i * source.bytes, block);
      artifact::decode(*source.format, block, values.data());
      const size_t skipped = byteOffset % size, piece = std::min<uint64_t>(out.size(), size - skipped);
      std::memcpy(out.data(), std::as_bytes(std::span(values)).data() + skipped, piece);
      out = out.subspan(piece);
      byteOffset += piece;
    }
  }
  return {};
}

namespace {

class SafeTensorsReader : public artifact::TensorReader {
public:
  explicit SafeTensorsReader(const TensorTable &table) {
    for (const auto &[name, tensor] : table.tensors())
      if (tensor.type())
        tensors.emplace(name, Entry{{*tensor.type(), tensor.shape, tensor.blocks}, tensor});
  }

  const artifact::TensorInfo *find(std::string_view name) const override {
    auto at = tensors.find(name);
    return at == tensors.end() ? nullptr : &at->second.info;
  }

  Status read(std::string_view name, uint64_t byteOffset, std::span<std::byte> out) const override {
    auto at = tensors.find(name);
    if (at == tensors.end())
      return Error{"tensor " + quoted(name) + " is not in the checkpoint"};
    const StoredTensor &tensor = at->second.tensor;
    if (tensor.blocks && !tensor.scales)
      return readNumbers(tensor, byteOffset, out);
    if (tensor.rows)
      return readRows(tensor, byteOffset, out);
    if (tensor.made != Made::Same)
      return readUnmade(tensor, byteOffset, out);
    if (tensor.dtype == "MXFP4")
      return readMicroscaling(tensor, byteOffset, out);
    return eightBitFormat(tensor.dtype) ? readEightBit(tensor, byteOffset, out)
                                        : readRange(name, tensor, byteOffset, out);
  }

  Status readBlocks(std::string_view name, uint64_t byteOffset, std::span<std::byte> out) const override {
    auto at = tensors.find(name);
    if (at == tensors.end() || !at->second.tensor.blocks)
      return TensorReader::readBlocks(name, byteOffset, out);
    return readStored(at->second.tensor, byteOffset, out);
  }

private:
  struct Entry {
    artifact::TensorInfo info;
    StoredTensor tensor;
  };
  std::map<std::string, Entry, std::less<>> tensors;
};

} // namespace

std::unique_ptr<artifact::TensorReader> huggingface::openSafeTensors(const TensorTable &table) {
  return std::make_unique<SafeTensorsReader>(table);
}
