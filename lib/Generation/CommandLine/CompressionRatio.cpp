#include "lib/Generation/CommandLine/CompressionRatio.h"
#include <vector>
#include <zlib.h>

namespace rapt::run {

double compressionRatio(std::string_view text) {
  uLongf size = compressBound(uLong(text.size()));
  std::vector<Bytef> packed(size);
  if (compress(packed.data(), &size, reinterpret_cast<const Bytef *>(text.data()), uLong(text.size())) != Z_OK)
    return 0; // there is no memory: the text is taken as it is
  return double(text.size()) / double(size);
}

} // namespace rapt::run
