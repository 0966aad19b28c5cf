// gguf-tensors FILE NAME...: the numbers, f32, of those tensors of a GGUF file, by the names that a directory has. They
// are read in two pieces, the first of a single number.
#include "lib/Artifact/Conversion.h"
#include "lib/Driver/ModelTensors.h"
#include <cstdio>

using namespace rapt;

static Status write(const artifact::TensorReader &reader, const std::string &name) {
  const artifact::TensorInfo *info = reader.find(name);
  if (!info)
    return Error{"there is no tensor '" + name + "'"};
  uint64_t count = 1;
  for (int64_t extent : info->shape)
    count *= uint64_t(extent);
  const uint64_t size = artifact::sizeOf(info->dtype);
  std::vector<std::byte> stored(count * size);
  std::vector<float> numbers(count);
  const std::span all(stored);
  RAPT_RETURN_IF_ERROR(reader.read(name, 0, all.first(size)));
  RAPT_RETURN_IF_ERROR(reader.read(name, size, all.subspan(size)));
  artifact::convert(stored.data(), info->dtype, std::as_writable_bytes(std::span(numbers)).data(), artifact::DType::F32,
                    count);
  std::fwrite(numbers.data(), sizeof(float), count, stdout);
  return {};
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  Expected<driver::GGUFTensors> tensors = driver::openGGUFTensors(argv[1]);
  if (!tensors)
    return std::fprintf(stderr, "%s\n", tensors.error().message.c_str()), 1;
  for (int i = 2; i < argc; ++i)
    if (Status written = write(*tensors->reader, argv[i]); !written)
      return std::fprintf(stderr, "%s\n", written.error().message.c_str()), 1;
  return std::fflush(stdout) != 0;
}
