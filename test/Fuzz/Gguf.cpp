// A GGUF file: its header, its description, the getters of each key, and the files of its tokenizer. The input is the
// file, behind its first byte: zeros follow, 256 times as many as that says.
#include "lib/Formats/GGUF/Describe.h"
#include "lib/Formats/GGUF/Tokenizer.h"
#include "lib/Support/Json.h"
#include "test/Fuzz/Fuzz.h"

using namespace rapt;
using namespace rapt::fuzz;

namespace {

template <typename T> void requireAnswer(const Expected<T> &answer) {
  if (!answer)
    requireMessage(answer.error());
}

void check(const gguf::Metadata &metadata) {
  for (const auto &[key, value] : metadata.values()) {
    requireAnswer(metadata.integer(key));
    requireAnswer(metadata.number(key));
    requireAnswer(metadata.boolean(key));
    requireAnswer(metadata.text(key));
    requireAnswer(metadata.integers(key));
    requireAnswer(metadata.numbers(key));
    requireAnswer(metadata.texts(key));
    requireAnswer(metadata.integersOfLayers(key, 3));
  }
}

/// What is made of a tokenizer is JSON, unless the metadata have it whole.
void checkTokenizer(const gguf::Metadata &metadata) {
  std::vector<std::string> notes;
  requireAnswer(gguf::generationFile(metadata, notes));
  const Expected<huggingface::SideFiles> files = gguf::tokenizerFiles(metadata, notes);
  requireAnswer(files);
  if (files && !metadata.find("tokenizer.huggingface.json"))
    for (const auto &[name, text] : *files)
      require(bool(json::parse(text)), "files of a tokenizer are JSON");
}

void check(const gguf::Tensor &tensor) {
  require(tensor.offset <= tensor.file->size() && tensor.bytes <= tensor.file->size() - tensor.offset,
          "a tensor lies in its file");
  uint64_t elements = 1;
  for (int64_t dim : tensor.dims)
    require(dim > 0 && !__builtin_mul_overflow(elements, uint64_t(dim), &elements), "a dim is a number");
  require(elements / tensor.type->elements * tensor.type->bytes == tensor.bytes, "a tensor has the bytes of its dims");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1)
    return 0;
  static MemoryFile memory;
  const std::string_view bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
  auto file = gguf::File::open(memory.write(bytes, bytes.size() + 256 * size_t(data[0])));
  if (!file) {
    requireMessage(file.error());
    return 0;
  }
  check(file->metadata());
  checkTokenizer(file->metadata());
  for (const auto &[name, tensor] : file->tensors())
    check(tensor);
  require(!gguf::describe(*file).empty(), "a file has a description");
  return 0;
}
