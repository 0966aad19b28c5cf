// Weight files: whatever their header says, sections lie in the file.
#include "lib/Runtime/Weights.h"
#include "test/Fuzz/Fuzz.h"
#include <cstring>

using namespace rapt::fuzz;
using namespace rapt::runtime;

namespace {

Manifest manifest() {
  Manifest m{};
  m.name = "model";
  for (int i = 0; i < 16; ++i) // as test/Fuzz/make_seeds.py writes them
    m.interfaceId.bytes[i] = m.contentId.bytes[i] = uint8_t(i);
  m.hasWeights = true;
  m.weightsBytes = 64;
  m.weightsFileBytes = 12288;
  m.tables = {{0, 64}};
  return m;
}

void lookAround(const Weights &weights, const rapt_weights_header &header) {
  readAll(weights.data(), 64);
  for (uint32_t i = 0; i < header.section_count; ++i) {
    size_t bytes = 0;
    const void *found = weights.section(header.sections[i].name, &bytes);
    require(found, "a section is found by its name");
    readAll(found, bytes);
  }
  size_t bytes = 1;
  require(!weights.section("\x01no such section", &bytes) && bytes == 0, "a section that is not there has 0 bytes");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1)
    return 0;
  static const Manifest model = manifest();
  static MemoryFile memory;
  const uint32_t flags = data[0] & (RAPT_READ_WEIGHTS | RAPT_POPULATE | RAPT_VERIFY | RAPT_ANY_CONTENT);
  std::string_view content(reinterpret_cast<const char *>(data) + 1, size - 1);
  ExactBytes bytes(content, 64);
  rapt_weights_header header{};
  memcpy(&header, bytes.data(), std::min(sizeof header, bytes.size));
  char message[512] = "";
  Report report(message, sizeof message);

  Weights borrowed, taken;
  rapt_status first = borrowed.borrow(bytes.data(), bytes.size, model, flags, "weights", report);
  first ? requireMessage(message) : lookAround(borrowed, header);
  File file;
  memory.write(content);
  rapt_status second = file.open(memory.path().c_str(), report);
  if (!second)
    second = taken.adopt(file, model, flags, "weights", report);
  require(first == second, "a file and the same bytes in memory are alike");
  if (!second)
    lookAround(taken, header);
  return 0;
}
