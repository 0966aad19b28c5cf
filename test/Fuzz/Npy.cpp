// NumPy's files.
#include "lib/Support/Npy.h"
#include "test/Fuzz/Fuzz.h"

using namespace rapt;
using namespace rapt::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static MemoryFile file;
  auto tensor = readNpy(file.write({reinterpret_cast<const char *>(data), size}));
  if (!tensor) {
    requireMessage(tensor.error());
    return 0;
  }
  uint64_t bytes = sizeOf(tensor->type);
  for (int64_t extent : tensor->shape)
    require(extent >= 0 && !__builtin_mul_overflow(bytes, uint64_t(extent), &bytes), "extents are sizes");
  require(bytes == tensor->data.size() && bytes <= size, "a tensor has the data of its shape");
  return 0;
}
