// ELF files: where the runtime looks for a manifest, and what the compiler checks of the linker's output.
#include "lib/Artifact/Elf.h"
#include "lib/Runtime/Manifest.h"
#include "test/Fuzz/Fuzz.h"

using namespace rapt;
using namespace rapt::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view content(reinterpret_cast<const char *>(data), size);
  static MemoryFile file;
  char *text = nullptr;
  size_t bytes = 0;
  char message[512] = "";
  if (runtime::readManifestSection(file.write(content).c_str(), &text, &bytes,
                                   runtime::Report(message, sizeof message))) {
    requireMessage(message);
  } else {
    readAll(text, bytes + 1);
    require(text[bytes] == 0 && bytes <= size, "a manifest is no longer than its file");
    free(text);
  }
  ExactBytes exact(content, 8);
  std::string_view view(exact.data(), exact.size);
  if (auto section = artifact::readElfSection(view, ".rapt.manifest"))
    readAll(section->data(), section->size());
  else
    requireMessage(section.error());
  if (auto symbols = artifact::readElfSymbols(view); !symbols)
    requireMessage(symbols.error());
  return 0;
}
