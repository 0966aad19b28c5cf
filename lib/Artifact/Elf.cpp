//===- Elf.cpp - The little of ELF64 that checking an output needs --------------===//
#include "lib/Artifact/Elf.h"
#include <algorithm>
#include <cstring>
#include <elf.h>

namespace rapt::artifact {

namespace {

struct Image {
  std::string_view bytes;
  Elf64_Ehdr header;
  std::vector<Elf64_Shdr> sections;

  /// Bytes of a section, empty when it lies outside the file.
  std::string_view content(const Elf64_Shdr &section) const {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > bytes.size() ||
        section.sh_size > bytes.size() - section.sh_offset)
      return {};
    return bytes.substr(section.sh_offset, section.sh_size);
  }
};

/// NUL-terminated text at `offset` of a string table.
std::string_view textAt(std::string_view table, uint64_t offset) {
  if (offset >= table.size())
    return {};
  return table.substr(offset, table.find('\0', offset) - offset);
}

Expected<Image> open(std::string_view bytes) {
  Image image{bytes, {}, {}};
  if (bytes.size() < sizeof image.header || bytes.substr(0, 4) != ELFMAG || bytes[EI_CLASS] != ELFCLASS64)
    return Error{"not an ELF64 file"};
  std::memcpy(&image.header, bytes.data(), sizeof image.header);
  const uint64_t at = image.header.e_shoff, count = image.header.e_shnum;
  if (image.header.e_shentsize != sizeof(Elf64_Shdr) || at > bytes.size() ||
      count > (bytes.size() - at) / sizeof(Elf64_Shdr))
    return Error{"the ELF section table lies outside the file"};
  image.sections.resize(count);
  if (count)
    std::memcpy(image.sections.data(), bytes.data() + at, count * sizeof(Elf64_Shdr));
  return image;
}

void readSymbolTable(const Image &image, const Elf64_Shdr &table, ElfSymbols &result) {
  if (table.sh_link >= image.sections.size())
    return;
  const std::string_view content = image.content(table), names = image.content(image.sections[table.sh_link]);
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= content.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, content.data() + at, sizeof symbol);
    const std::string name(textAt(names, symbol.st_name));
    const unsigned visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    if (name.empty() || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL)
      continue;
    if (symbol.st_shndx == SHN_UNDEF)
      result.undefined.push_back(name);
    else if (visibility == STV_DEFAULT || visibility == STV_PROTECTED)
      result.defined.push_back(name);
  }
}

} // namespace

Expected<ElfSymbols> readElfSymbols(std::string_view bytes) {
  RAPT_ASSIGN_OR_RETURN(Image image, open(bytes));
  const uint32_t wanted = image.header.e_type == ET_DYN ? SHT_DYNSYM : SHT_SYMTAB;
  ElfSymbols result;
  for (const Elf64_Shdr &section : image.sections) {
    if (section.sh_type == wanted)
      readSymbolTable(image, section, result);
    const std::string_view content = section.sh_type == SHT_DYNAMIC ? image.content(section) : std::string_view();
    for (size_t at = 0; at + sizeof(Elf64_Dyn) <= content.size(); at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      std::memcpy(&entry, content.data() + at, sizeof entry);
      if (entry.d_tag == DT_NEEDED)
        result.needed.emplace_back();
    }
  }
  std::sort(result.defined.begin(), result.defined.end());
  std::sort(result.undefined.begin(), result.undefined.end());
  return result;
}

Expected<std::string_view> readElfSection(std::string_view bytes, std::string_view name) {
  RAPT_ASSIGN_OR_RETURN(Image image, open(bytes));
  if (image.header.e_shstrndx < image.sections.size()) {
    const std::string_view names = image.content(image.sections[image.header.e_shstrndx]);
    for (const Elf64_Shdr &section : image.sections)
      if (textAt(names, section.sh_name) == name)
        return image.content(section);
  }
  return Error{"no ELF section " + std::string(name)};
}

} // namespace rapt::artifact
