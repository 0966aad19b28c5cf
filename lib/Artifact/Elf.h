//===- Elf.h - The little of ELF64 that checking an output needs ----------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <string>
#include <string_view>
#include <vector>

namespace rapt::artifact {

/// Global and weak symbols of an x86-64 or AArch64 object or shared library, sorted; hidden ones are not exported.
struct ElfSymbols {
  std::vector<std::string> defined, undefined;
  std::vector<std::string> needed; ///< DT_NEEDED: empty strings, one each (their number is what counts)
};

/// Reads .dynsym of a shared library, .symtab of an object. Every offset is checked against the size.
Expected<ElfSymbols> readElfSymbols(std::string_view bytes);

/// Content of the section `name`; an error when there is none.
Expected<std::string_view> readElfSection(std::string_view bytes, std::string_view name);

} // namespace rapt::artifact
