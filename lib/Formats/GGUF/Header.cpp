//===- Header.cpp - Checking the header of one GGUF file --------------------------===//
#include "lib/Formats/GGUF/Header.h"
#include "lib/Formats/GGUF/ByteCursor.h"
#include "lib/Formats/GGUF/Limits.h"
#include "lib/Formats/GGUF/ValueReader.h"
#include "lib/Formats/HuggingFace/Download.h"
#include "lib/Formats/HuggingFace/SafeTensors.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <bit>

using namespace rapt;
using namespace rapt::gguf;

static constexpr uint64_t leastKeyBytes = 8 + 1 + 4 + 1;    // its length, a letter, the type, a value
static constexpr uint64_t leastTensorBytes = 8 + 4 + 4 + 8; // lengths of name and dims, type and offset
static constexpr uint64_t usualAlignment = 32;

bool gguf::isGGUF(std::string_view head) { return head.starts_with("GGUF"); }

std::string gguf::describeOlderFormat(std::string_view head) {
  // Magic numbers of 32 bits, as little-endian machines wrote them.
  if (head.starts_with("lmgg"))
    return "this is a file of ggml before GGUF, or of whisper.cpp, neither of which is supported: give the Hugging "
           "Face directory of the model, or convert that to GGUF";
  if (head.starts_with("fmgg") || head.starts_with("tjgg"))
    return "this is a file of llama.cpp before GGUF (2023), which is not supported: download the model as GGUF, or "
           "give its Hugging Face directory";
  if (head.starts_with("algg"))
    return "this is an adapter of llama.cpp before GGUF, which is not supported: give the base model's directory, and "
           "the adapter's as --adapter";
  return "";
}

namespace {

/// Turns one header into values and tensors; every error names the file.
class HeaderReader {
public:
  explicit HeaderReader(std::shared_ptr<const InputFile> file)
      : file(std::move(file)), cursor(this->file, mostHeaderBytes) {}

  Expected<Header> run() {
    Header header{Metadata(file->path()), {}};
    RAPT_RETURN_IF_ERROR(readCounts());
    for (uint64_t i = 0; i < keys; ++i)
      RAPT_RETURN_IF_ERROR(readKey(i, header.metadata));
    RAPT_RETURN_IF_ERROR(readAlignment(header.metadata));
    for (uint64_t i = 0; i < tensors; ++i) {
      Tensor tensor;
      RAPT_RETURN_IF_ERROR(readTensor(i, tensor));
      header.tensors.push_back(std::move(tensor));
    }
    RAPT_RETURN_IF_ERROR(place(header.tensors));
    return header;
  }

private:
  Error fail(const std::string &what) const { return Error{shownPath(file->path()) + ": " + what}; }
  Error fail(const Tensor &tensor, const std::string &what) const {
    return fail("tensor \"" + json::printable(tensor.name) + "\": " + what);
  }

  Status readCounts() {
    std::string magic;
    if (cursor.left() < 24) {
      if (file->size() == 0)
        return fail("the file is empty (0 bytes); a GGUF file begins with \"GGUF\", a version and two counts");
      return fail("the file has " + std::to_string(file->size()) +
                  " bytes; a GGUF file begins with \"GGUF\", a version and two counts (truncated download?)");
    }
    uint32_t version = 0;
    RAPT_RETURN_IF_ERROR(cursor.read(magic, 4));
    RAPT_RETURN_IF_ERROR(cursor.read(version));
    RAPT_RETURN_IF_ERROR(cursor.read(tensors));
    RAPT_RETURN_IF_ERROR(cursor.read(keys));
    if (!isGGUF(magic)) {
      std::string head(std::min<uint64_t>(file->size(), 512), '\0');
      RAPT_RETURN_IF_ERROR(file->read(0, std::as_writable_bytes(std::span(head))));
      const std::string older = describeOlderFormat(head), foreign = huggingface::describeForeignContent(head);
      return fail(!older.empty()     ? older
                  : !foreign.empty() ? foreign
                                     : "begins with \"" + json::printable(magic) + "\", not with \"GGUF\"");
    }
    if ((version & 0xffff) == 0 && version != 0)
      return fail("the file is big-endian (its version reads as " + std::to_string(version) +
                  "), which is not supported: convert the model on a little-endian machine");
    if (version == 1)
      return fail("version 1 of GGUF (August 2023) is not supported: download a newer file of the model");
    if (version != 2 && version != 3)
      return fail("version " + std::to_string(version) + " of GGUF is not known; supported are 2 and 3");
    RAPT_RETURN_IF_ERROR(checkCount("keys", keys, mostKeys, leastKeyBytes));
    return checkCount("tensors", tensors, mostTensors, leastTensorBytes);
  }

  Status checkCount(const char *what, uint64_t count, uint64_t most, uint64_t leastBytes) const {
    if (count > most)
      return fail(std::to_string(count) + " " + what + ", more than the " + std::to_string(most) + " allowed");
    if (count > cursor.left() / leastBytes)
      return fail(std::to_string(count) + " " + what + " of " + std::to_string(leastBytes) + " bytes at least, but " +
                  std::to_string(cursor.left()) + " bytes follow (truncated download?)");
    return {};
  }

  Status readKey(uint64_t number, Metadata &metadata) {
    const std::string where =
        shownPath(file->path()) + ": key " + std::to_string(number + 1) + " of " + std::to_string(keys);
    Expected<std::string> key = readText(cursor, mostKeyBytes);
    if (!key)
      return Error{where + ": " + key.error().message};
    if (key->empty())
      return Error{where + " is empty"};
    if (!std::all_of(key->begin(), key->end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; }))
      return metadata.fail(*key, "a key is made of visible ASCII characters");
    Expected<Value> value = readValue(cursor);
    if (!value)
      return metadata.fail(*key, value.error().message);
    if (!metadata.add(*key, std::move(*value)))
      return metadata.fail(*key, "the file has it twice");
    return {};
  }

  Status readAlignment(const Metadata &metadata) {
    RAPT_ASSIGN_OR_RETURN(std::optional<int64_t> given, metadata.integer("general.alignment"));
    if (!given)
      return {};
    if (*given < 1 || uint64_t(*given) > mostAlignment || !std::has_single_bit(uint64_t(*given)))
      return metadata.fail("general.alignment",
                           std::to_string(*given) + " is not a power of two up to " + std::to_string(mostAlignment));
    alignment = uint64_t(*given);
    return {};
  }

  Status readTensor(uint64_t number, Tensor &tensor) {
    const std::string where =
        shownPath(file->path()) + ": tensor " + std::to_string(number + 1) + " of " + std::to_string(tensors);
    Expected<std::string> name = readText(cursor, mostNameBytes);
    if (!name)
      return Error{where + ": its name: " + name.error().message};
    if (name->empty())
      return Error{where + " has no name"};
    tensor.name = std::move(*name);
    tensor.file = file;
    uint32_t dims = 0, type = 0;
    RAPT_RETURN_IF_ERROR(withContext(where, cursor.read(dims)));
    if (dims > mostDims)
      return fail(tensor, std::to_string(dims) + " dims, more than the " + std::to_string(mostDims) + " allowed");
    for (uint32_t i = 0; i < dims; ++i) {
      uint64_t extent = 0;
      RAPT_RETURN_IF_ERROR(withContext(where, cursor.read(extent)));
      if (extent < 1 || extent > uint64_t(INT64_MAX))
        return fail(tensor, "dim " + std::to_string(i) + " is " + std::to_string(extent) +
                                ", which is not between 1 and 2^63 - 1");
      tensor.dims.push_back(int64_t(extent));
    }
    RAPT_RETURN_IF_ERROR(withContext(where, cursor.read(type)));
    RAPT_RETURN_IF_ERROR(withContext(where, cursor.read(tensor.offset)));
    tensor.type = findType(type);
    if (!tensor.type)
      return fail(tensor, "type " + std::to_string(type) + " is not known");
    if (tensor.type->use == TypeUse::Refused)
      return fail(tensor,
                  "type " + std::string(tensor.type->name) + " is not supported: " + std::string(tensor.type->reason));
    return measure(tensor);
  }

  Status measure(Tensor &tensor) const {
    const TensorType &type = *tensor.type;
    const std::string shape = huggingface::shownShape(tensor.dims) + " of " + std::string(type.name);
    std::optional<int64_t> elements = checkedProduct<int64_t>(tensor.dims);
    if (!elements)
      return fail(tensor, "the number of elements of " + shape + " overflows 64 bits");
    const uint64_t row = tensor.dims.empty() ? 1 : uint64_t(tensor.dims.front());
    if (row % type.elements != 0)
      return fail(tensor, "the first dim of " + shape + " is not a multiple of a block's " +
                              std::to_string(type.elements) + " elements");
    std::optional<uint64_t> bytes = checkedMul<uint64_t>(uint64_t(*elements) / type.elements, type.bytes);
    if (!bytes)
      return fail(tensor, "the size of " + shape + " overflows 64 bits");
    tensor.bytes = *bytes;
    return {};
  }

  /// Turns offsets in the data into offsets in the file. Tensors may lie in any order, with gaps, but not overlap.
  Status place(std::vector<Tensor> &list) const {
    if (list.empty())
      return {};
    std::optional<uint64_t> begin = checkedAlignUp(cursor.position(), alignment);
    const uint64_t held = begin && *begin <= file->size() ? file->size() - *begin : 0;
    for (Tensor &tensor : list) {
      if (tensor.offset % alignment != 0)
        return fail(tensor, "its data begins at byte " + std::to_string(tensor.offset) +
                                ", which is not a multiple of the alignment, " + std::to_string(alignment));
      if (tensor.offset > held || tensor.bytes > held - tensor.offset)
        return fail(tensor, "its data are " + std::to_string(tensor.bytes) + " bytes at byte " +
                                std::to_string(tensor.offset) + ", the file holds " + std::to_string(held) +
                                " bytes of data (truncated download?)");
      tensor.offset += *begin;
    }
    std::vector<const Tensor *> byPlace;
    for (const Tensor &tensor : list)
      byPlace.push_back(&tensor);
    std::sort(byPlace.begin(), byPlace.end(), [](const Tensor *a, const Tensor *b) { return a->offset < b->offset; });
    for (size_t i = 1; i < byPlace.size(); ++i)
      if (const Tensor &before = *byPlace[i - 1]; byPlace[i]->offset < before.offset + before.bytes)
        return fail(*byPlace[i], "its data begin at byte " + std::to_string(byPlace[i]->offset - *begin) +
                                     " and overlap tensor \"" + json::printable(before.name) +
                                     "\", which ends at byte " + std::to_string(before.offset + before.bytes - *begin));
    return {};
  }

  std::shared_ptr<const InputFile> file;
  ByteCursor cursor;
  uint64_t keys = 0, tensors = 0, alignment = usualAlignment;
};

} // namespace

Expected<Header> gguf::readHeader(std::shared_ptr<const InputFile> file) { return HeaderReader(std::move(file)).run(); }
