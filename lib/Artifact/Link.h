//===- Link.h - From object code to the library a user gets --------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <string>
#include <string_view>
#include <vector>

namespace rapt::artifact {

struct LinkRequest {
  std::string_view object; ///< bytes of one ELF object
  std::string output;      ///< path of the library, for messages; its bytes do not depend on it
  std::vector<std::string> exports;
  std::string toolFolder;    ///< where the running tool lies: ld.lld is looked for there first
  uint64_t pageBytes = 4096; ///< the largest page of memory that systems of the target have
};

/// ld.lld beside the tool, else the one found when Rapt was built; the error names both paths.
Expected<std::string> findLinker(const std::string &toolFolder);

/// The command linking runs, for -###.
std::vector<std::string> linkCommand(const std::string &linker, const std::string &object, const std::string &exports,
                                     uint64_t pageBytes, const std::string &output);

/// The command of joinObjects.
std::vector<std::string> joinCommand(const std::string &linker, const std::vector<std::string> &objects,
                                     const std::string &output);

/// One object with the content of all. `toolFolder` as above.
Expected<std::string> joinObjects(const std::vector<std::string> &objects, const std::string &toolFolder);

/// The bytes of a shared library. Checked: it exports exactly `exports`, needs no library, and leaves at most memcpy,
/// memmove and memset undefined.
Expected<std::string> linkShared(const LinkRequest &request);

/// Text that differs where linkShared may make other bytes of the same object: for another linker (its path, size and
/// time of change say which one it is), other exports or other pages.
Expected<std::string> linkIdentity(const LinkRequest &request);

/// An archive with one member and a symbol table; no time, owner or path inside.
std::string makeArchive(std::string_view object, const std::vector<std::string> &exports);

/// The check of linkShared for object code.
Status checkSymbols(std::string_view elf, const std::vector<std::string> &exports);

} // namespace rapt::artifact
