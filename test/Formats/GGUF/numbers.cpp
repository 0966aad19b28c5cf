// gguf-numbers TYPE: the numbers, f32, of the blocks of that type on standard input.
#include "lib/Formats/GGUF/Blocks.h"
#include <array>
#include <cstdio>
#include <vector>

using namespace rapt;

int main(int argc, char **argv) {
  const artifact::BlockSource *source = argc == 2 ? gguf::findBlockSource(argv[1]) : nullptr;
  if (!source)
    return std::fprintf(stderr, "usage: gguf-numbers TYPE, of blocks that are read\n"), 2;
  std::vector<std::byte> stored(source->bytes);
  std::array<float, artifact::CodeBlock::most> values;
  artifact::CodeBlock block;
  while (std::fread(stored.data(), stored.size(), 1, stdin) == 1) {
    source->read(stored.data(), block);
    artifact::decode(*source->format, block, values.data());
    std::fwrite(values.data(), sizeof(float), size_t(source->format->block), stdout);
  }
  return std::fflush(stdout) != 0;
}
