// The header of a safetensors file, and the index of several.
//
// Byte 0 of an input: 0, the file as it is; 1, the text of a header, then (behind 0xFF) the bytes of data in decimal;
// 2, the text of an index of the files a and b.
#include "lib/Formats/HuggingFace/TensorTable.h"
#include "test/Fuzz/Fuzz.h"
#include <cstring>

using namespace rapt;
using namespace rapt::fuzz;
using namespace rapt::huggingface;

namespace {

std::string withLength(std::string header) {
  uint64_t length = header.size();
  header.insert(0, reinterpret_cast<const char *>(&length), sizeof length);
  return header;
}

void check(const StoredTensor &tensor) {
  require(tensor.offset <= tensor.file->size() && tensor.bytes <= tensor.file->size() - tensor.offset,
          "a tensor lies in its file");
  uint64_t elements = 1;
  for (int64_t extent : tensor.shape)
    require(extent >= 0 && !__builtin_mul_overflow(elements, uint64_t(extent), &elements), "an extent is a number");
  if (tensor.type())
    require(elements * (tensor.dtype == "F32" ? 4 : 2) == tensor.bytes, "a tensor has the bytes of its shape");
}

void readOne(std::string_view bytes, size_t size) {
  static MemoryFile memory;
  auto file = InputFile::open(memory.write(bytes, size));
  require(bool(file), "a file in memory is opened");
  auto tensors = readSafeTensors(*file);
  if (!tensors)
    return requireMessage(tensors.error());
  for (const StoredTensor &tensor : *tensors)
    check(tensor);
}

/// A folder with the two shards that an index may name.
std::string makeFolder() {
  std::string folder = access("/dev/shm", W_OK) ? "/tmp/rapt-fuzz-XXXXXX" : "/dev/shm/rapt-fuzz-XXXXXX";
  require(mkdtemp(folder.data()), "there is a folder for temporary files");
  for (std::string name : {"a", "b"}) {
    std::string header = R"({")" + name + R"(":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    FILE *file = fopen((folder + "/" + name + ".safetensors").c_str(), "wb");
    std::string bytes = withLength(header) + "12345678";
    require(file && fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && !fclose(file), "a shard is written");
  }
  return folder;
}

void readIndex(std::string_view text) {
  static const std::string folder = makeFolder();
  static const bool registered = atexit([] {
    for (const char *name : {"a.safetensors", "b.safetensors", "model.safetensors.index.json"})
      unlink((folder + "/" + name).c_str());
    rmdir(folder.c_str());
  });
  (void)registered;
  FILE *file = fopen((folder + "/model.safetensors.index.json").c_str(), "wb");
  require(file && fwrite(text.data(), 1, text.size(), file) == text.size() && !fclose(file), "an index is written");
  std::vector<std::string> warnings;
  auto table = TensorTable::load(folder, warnings);
  for (const std::string &warning : warnings)
    requireMessage(warning);
  if (!table)
    return requireMessage(table.error());
  for (const auto &[name, tensor] : table->tensors())
    check(tensor);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1)
    return 0;
  std::string_view rest(reinterpret_cast<const char *>(data) + 1, size - 1);
  if (data[0] == 1) {
    auto parts = split(data + 1, size - 1, 2);
    uint64_t behind = strtoull(parts[1].c_str(), nullptr, 10) % (1 << 24);
    std::string bytes = withLength(parts[0]);
    readOne(bytes, bytes.size() + behind);
  } else if (data[0] == 2) {
    readIndex(rest);
  } else {
    readOne(rest, 0);
  }
  return 0;
}
