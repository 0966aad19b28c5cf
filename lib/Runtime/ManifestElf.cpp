#include "lib/Runtime/File.h"
#include "lib/Runtime/Manifest.h"
#include <cstdlib>
#include <cstring>
#include <elf.h>

namespace rapt::runtime {
namespace {

constexpr uint64_t maxManifest = uint64_t(16) << 20;
constexpr uint64_t maxNames = uint64_t(1) << 20;

/// Reads [offset, offset + bytes) into memory from malloc, with a NUL after it. Null when it is not inside the file.
char *readRange(const File &file, uint64_t offset, uint64_t bytes, uint64_t most) {
  if (bytes > most || offset > file.size() || bytes > file.size() - offset)
    return nullptr;
  auto *memory = static_cast<char *>(malloc(bytes + 1));
  if (memory && !file.readExactly(memory, bytes, offset)) {
    free(memory);
    return nullptr;
  }
  if (memory)
    memory[bytes] = 0;
  return memory;
}

/// The section called `name`; false when the tables are damaged or have none.
bool findSection(const Elf64_Shdr *sections, unsigned count, const char *names, uint64_t namesBytes, const char *name,
                 Elf64_Shdr &found) {
  for (unsigned i = 0; i < count; ++i)
    if (sections[i].sh_name < namesBytes && strcmp(names + sections[i].sh_name, name) == 0) {
      found = sections[i];
      return found.sh_type == SHT_PROGBITS;
    }
  return false;
}

} // namespace

rapt_status readManifestSection(const char *path, char **text, size_t *bytes, const Report &report) {
  File file;
  if (rapt_status status = file.open(path, report))
    return status;
  Elf64_Ehdr header;
  if (file.size() < sizeof header || !file.readExactly(&header, sizeof header, 0) ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_shentsize != sizeof(Elf64_Shdr) ||
      header.e_shstrndx >= header.e_shnum)
    return report.fail(RAPT_BAD_FILE, "%s: not a 64-bit ELF library with sections, so no compiled model", path);

  auto *sections = reinterpret_cast<Elf64_Shdr *>(
      readRange(file, header.e_shoff, uint64_t(header.e_shnum) * sizeof(Elf64_Shdr), UINT64_MAX));
  char *names = nullptr, *content = nullptr;
  Elf64_Shdr found{};
  if (sections) {
    const Elf64_Shdr &table = sections[header.e_shstrndx];
    names = readRange(file, table.sh_offset, table.sh_size, maxNames);
    if (names && findSection(sections, header.e_shnum, names, table.sh_size, ".rapt.manifest", found))
      content = readRange(file, found.sh_offset, found.sh_size, maxManifest);
  }
  free(sections);
  free(names);
  if (!content)
    return report.fail(RAPT_BAD_FILE, "%s: has no readable section .rapt.manifest, so it is no compiled model", path);
  *text = content;
  *bytes = strnlen(content, found.sh_size); // the section may end in the string's NUL
  return RAPT_OK;
}

IdText show(const Id &id) {
  static const char digits[] = "0123456789abcdef";
  IdText result;
  for (int i = 0; i < 16; ++i) {
    result.text[2 * i] = digits[id.bytes[i] >> 4];
    result.text[2 * i + 1] = digits[id.bytes[i] & 15];
  }
  result.text[32] = 0;
  return result;
}

} // namespace rapt::runtime
