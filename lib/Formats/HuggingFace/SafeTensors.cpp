//===- SafeTensors.cpp - Checking a safetensors header ----------------------===//
#include "lib/Formats/HuggingFace/SafeTensors.h"
#include "lib/Formats/HuggingFace/Download.h"
#include "lib/Formats/HuggingFace/EightBitFloats.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <bit>
#include <cstring>

using namespace rapt;
using namespace rapt::huggingface;

static constexpr uint64_t lengthBytes = 8;
static constexpr uint64_t mostHeaderBytes = 100'000'000; // the limit of the format's own library
static constexpr unsigned headerDepth = 8;               // a legal header has three levels

namespace {
struct KnownType {
  const char *name;
  unsigned bits;
};
} // namespace

static constexpr KnownType knownTypes[] = {
    {"F32", 32},    {"F16", 16},    {"BF16", 16}, {"F64", 64},    {"I64", 64},    {"I32", 32}, {"I16", 16},
    {"I8", 8},      {"U64", 64},    {"U32", 32},  {"U16", 16},    {"U8", 8},      {"BOOL", 8}, {"F8_E4M3", 8},
    {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F4", 4},    {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"C64", 64},
};

static std::optional<unsigned> bitsOf(std::string_view dtype) {
  for (const KnownType &known : knownTypes)
    if (dtype == known.name)
      return known.bits;
  return std::nullopt;
}

std::optional<artifact::DType> StoredTensor::type() const {
  using artifact::DType;
  if (dtype == "F32" || made != Made::Same || (blocks && !scales))
    return DType::F32;
  if (dtype == "F16")
    return DType::F16;
  if (dtype == "BF16")
    return DType::BF16;
  if (dtype == "MXFP4" || eightBitFormat(dtype))
    return decoded;
  return std::nullopt;
}

const char *huggingface::safeTensorsName(artifact::DType type) {
  return type == artifact::DType::F32 ? "F32" : type == artifact::DType::F16 ? "F16" : "BF16";
}

std::string huggingface::shownShape(const std::vector<int64_t> &shape) {
  constexpr size_t most = 8;
  std::string text = "[";
  for (size_t i = 0; i < shape.size() && i < most; ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  if (shape.size() > most)
    text += ", ... (rank " + std::to_string(shape.size()) + ")";
  return text + "]";
}

namespace {

/// Turns one header into tensors; every error names the file.
class HeaderReader {
public:
  explicit HeaderReader(std::shared_ptr<const InputFile> file) : file(std::move(file)) {}

  Expected<std::vector<StoredTensor>> run() {
    RAPT_ASSIGN_OR_RETURN(std::string header, readHeader());
    Expected<json::Value> root = json::parse(header, {.depth = headerDepth, .bytes = mostHeaderBytes});
    if (!root)
      return fail("header is not valid: " + root.error().message);
    if (!root->isObject())
      return fail("header is JSON but not an object");
    std::vector<StoredTensor> tensors;
    for (const auto &[name, value] : *root->asObject()) {
      RAPT_RETURN_IF_ERROR(name == "__metadata__" ? checkMetadata(value) : readTensor(name, value, tensors));
    }
    std::sort(tensors.begin(), tensors.end(), [](const StoredTensor &a, const StoredTensor &b) {
      return std::tie(a.offset, a.bytes, a.name) < std::tie(b.offset, b.bytes, b.name);
    });
    RAPT_RETURN_IF_ERROR(checkPlacement(tensors));
    return tensors;
  }

private:
  Error fail(const std::string &what) const { return Error{shownPath(file->path()) + ": " + what}; }
  Error fail(std::string_view tensor, const std::string &what) const {
    return fail("tensor \"" + json::printable(tensor) + "\": " + what);
  }

  uint64_t dataBytes() const { return file->size() - dataBegin; }

  Expected<std::string> readHeader() {
    std::string head(std::min<uint64_t>(file->size(), 512), '\0');
    RAPT_RETURN_IF_ERROR(file->read(0, std::as_writable_bytes(std::span(head))));
    if (std::string foreign = describeForeignContent(head); !foreign.empty())
      return fail(foreign);
    if (file->size() == 0)
      return fail("the file is empty (0 bytes); a safetensors file begins with the 8-byte length of its header");
    if (file->size() < lengthBytes)
      return fail("the file has " + std::to_string(file->size()) +
                  " bytes; a safetensors file begins with the 8-byte length of its header");
    uint64_t length = 0; // little-endian, as every machine Rapt runs on
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(&length, head.data(), lengthBytes);
    if (length == 0)
      return fail("header length 0: there is no header");
    if (length > mostHeaderBytes)
      return fail("header length " + std::to_string(length) + " is more than the " + std::to_string(mostHeaderBytes) +
                  " allowed; is this a safetensors file?");
    if (length > file->size() - lengthBytes)
      return fail("header length " + std::to_string(length) + " is more than the " +
                  std::to_string(file->size() - lengthBytes) + " bytes that follow in this file of " +
                  std::to_string(file->size()) + " bytes (truncated download?)");
    dataBegin = lengthBytes + length;
    std::string header(length, '\0');
    RAPT_RETURN_IF_ERROR(file->read(lengthBytes, std::as_writable_bytes(std::span(header))));
    if (header.front() != '{')
      return fail("header is not valid: it begins with '" + json::printable(header.substr(0, 1)) + "' instead of '{'");
    return header;
  }

  Status checkMetadata(const json::Value &metadata) {
    if (metadata.isNull()) // which other writers leave there
      return {};
    if (!metadata.isObject())
      return fail("__metadata__ is not an object");
    for (const auto &[key, value] : *metadata.asObject())
      if (!value.isString())
        return fail("__metadata__: the value of \"" + json::printable(key) + "\" is not a string");
    return {};
  }

  /// Non-negative exact integers; floats are refused even when integral.
  static std::optional<uint64_t> asCount(const json::Value &value) {
    bool exact = value.kind() == json::Kind::Integer || value.kind() == json::Kind::Unsigned;
    return exact ? value.asUnsigned() : std::nullopt;
  }

  Status readTensor(const std::string &name, const json::Value &entry, std::vector<StoredTensor> &tensors) {
    const json::Value *dtype = entry.find("dtype"), *shape = entry.find("shape"), *offsets = entry.find("data_offsets");
    if (!dtype || !dtype->isString())
      return fail(name, "no dtype (a string)");
    if (!shape || !shape->isArray())
      return fail(name, "no shape (a list of integers)");
    if (!offsets || !offsets->isArray() || offsets->asArray()->size() != 2)
      return fail(name, "no data_offsets (a list of two integers)");
    StoredTensor tensor;
    tensor.name = name;
    tensor.dtype = *dtype->asString();
    tensor.file = file;
    RAPT_RETURN_IF_ERROR(readShape(*shape, tensor));
    RAPT_RETURN_IF_ERROR(readOffsets(*offsets->asArray(), tensor));
    RAPT_RETURN_IF_ERROR(checkSize(tensor));
    tensors.push_back(std::move(tensor));
    return {};
  }

  Status readShape(const json::Value &shape, StoredTensor &tensor) {
    for (const json::Value &extent : *shape.asArray()) {
      std::optional<uint64_t> value = asCount(extent);
      if (!value || *value > uint64_t(INT64_MAX))
        return fail(tensor.name, "extent " + json::printable(json::write(extent), 40) +
                                     " in shape is not an integer from 0 to 2^63 - 1");
      tensor.shape.push_back(int64_t(*value));
    }
    return {};
  }

  Status readOffsets(const json::Array &offsets, StoredTensor &tensor) {
    uint64_t range[2];
    for (size_t i = 0; i < 2; ++i) {
      std::optional<uint64_t> value = asCount(offsets[i]);
      if (!value || *value > uint64_t(1) << 53)
        return fail(tensor.name, "data offset " + json::printable(json::write(offsets[i]), 40) +
                                     " is not an integer from 0 to 2^53");
      range[i] = *value;
    }
    if (range[0] > range[1])
      return fail(tensor.name,
                  "data begins at " + std::to_string(range[0]) + ", after its end at " + std::to_string(range[1]));
    tensor.offset = dataBegin + range[0];
    tensor.bytes = range[1] - range[0];
    return {};
  }

  /// Bytes against shape and element type. A type Rapt has never heard of may be a buffer that nobody uses.
  Status checkSize(const StoredTensor &tensor) {
    std::optional<unsigned> bits = bitsOf(tensor.dtype);
    std::optional<int64_t> elements = checkedProduct<int64_t>(tensor.shape);
    if (!elements)
      return fail(tensor.name, "the number of elements of shape " + shownShape(tensor.shape) + " overflows 64 bits");
    if (!bits)
      return {};
    std::optional<uint64_t> needed = checkedMul<uint64_t>(uint64_t(*elements), *bits);
    if (!needed)
      return fail(tensor.name,
                  "the size of shape " + shownShape(tensor.shape) + " of " + tensor.dtype + " overflows 64 bits");
    uint64_t bytes = *needed / 8 + (*needed % 8 != 0);
    if (bytes != tensor.bytes)
      return fail(tensor.name, "shape " + shownShape(tensor.shape) + " of " + tensor.dtype + " needs " +
                                   std::to_string(bytes) + " bytes, data_offsets give " + std::to_string(tensor.bytes));
    return {};
  }

  /// The data must be the tensors one after another: no overlap, no gap, nothing behind. `tensors` is sorted by offset.
  Status checkPlacement(const std::vector<StoredTensor> &tensors) {
    for (const StoredTensor &tensor : tensors)
      if (uint64_t end = tensor.offset - dataBegin + tensor.bytes; end > dataBytes())
        return fail(tensor.name, "its data ends at byte " + std::to_string(end) + ", the file holds " +
                                     std::to_string(dataBytes()) + " bytes of data (truncated download?)");
    uint64_t reached = dataBegin;
    const StoredTensor *last = nullptr;
    for (const StoredTensor &tensor : tensors) {
      std::string begin = std::to_string(tensor.offset - dataBegin), previous = std::to_string(reached - dataBegin);
      if (tensor.offset < reached)
        return fail(tensor.name, "its data begins at byte " + begin + " and overlaps tensor \"" +
                                     json::printable(last->name) + "\", which ends at byte " + previous);
      if (tensor.offset > reached)
        return fail(tensor.name, "its data begins at byte " + begin + ", but the data before it ends at byte " +
                                     previous + ": a gap of " + std::to_string(tensor.offset - reached) + " bytes");
      reached += tensor.bytes;
      last = &tensor;
    }
    if (reached != file->size())
      return fail(std::to_string(file->size() - reached) + " bytes follow the last tensor's end at byte " +
                  std::to_string(reached - dataBegin) + " of the data");
    return {};
  }

  std::shared_ptr<const InputFile> file;
  uint64_t dataBegin = 0;
};

} // namespace

Expected<std::vector<StoredTensor>> huggingface::readSafeTensors(std::shared_ptr<const InputFile> file) {
  return HeaderReader(std::move(file)).run();
}
