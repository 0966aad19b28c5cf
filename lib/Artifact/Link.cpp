//===- Link.cpp - From object code to the library a user gets ------------------===//
#include "lib/Artifact/Link.h"
#include "lib/Artifact/Elf.h"
#include "lib/Artifact/LinkerPath.h"
#include "lib/Support/ChildProcess.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <sys/stat.h>
#include <unistd.h>

namespace rapt::artifact {

namespace {

const std::string kLinker = "the linker"; ///< in messages

std::string list(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + json::printable(name);
  return text.empty() ? "nothing" : text;
}

/// The version script: everything else stays inside the library.
std::string exportsScript(const std::vector<std::string> &exports) {
  std::string script = "{ global: ";
  for (const std::string &name : exports)
    script += name + "; ";
  return script + "local: *; };\n";
}

} // namespace

Expected<std::string> findLinker(const std::string &toolFolder) {
  const std::string beside = toolFolder + "/ld.lld", built = RAPT_LINKER_PATH;
  for (const std::string &path : {beside, built})
    if (access(path.c_str(), X_OK) == 0)
      return path;
  return Error{"no linker: neither " + shownPath(beside) + " nor " + shownPath(built) +
               " can be run; install lld-22, or write an object with -c"};
}

std::vector<std::string> linkCommand(const std::string &linker, const std::string &object, const std::string &exports,
                                     uint64_t pageBytes, const std::string &output) {
  return {linker,
          "-shared",
          "--build-id=none",
          "--hash-style=gnu",
          "-z",
          "now",
          "-z",
          "relro",
          "-z",
          "noexecstack",
          "-z",
          "max-page-size=" + std::to_string(pageBytes),
          "--no-dynamic-linker",
          "--no-undefined-version",
          "--version-script=" + exports,
          "-o",
          output,
          object};
}

std::vector<std::string> joinCommand(const std::string &linker, const std::vector<std::string> &objects,
                                     const std::string &output) {
  std::vector<std::string> command{linker, "-r", "-o", output};
  command.insert(command.end(), objects.begin(), objects.end());
  return command;
}

Expected<std::string> joinObjects(const std::vector<std::string> &objects, const std::string &toolFolder) {
  RAPT_ASSIGN_OR_RETURN(std::string linker, findLinker(toolFolder));
  std::deque<MemoryFile> files;
  std::vector<std::string> paths;
  const MemoryFile joined("");
  RAPT_RETURN_IF_ERROR(joined.status(0));
  for (const std::string &object : objects) {
    paths.push_back(files.emplace_back(object).path());
    RAPT_RETURN_IF_ERROR(files.back().status(object.size()));
  }
  RAPT_RETURN_IF_ERROR(runProgram(joinCommand(linker, paths, "-"), kLinker, joined));
  return joined.text(kLinker);
}

Status checkSymbols(std::string_view elf, const std::vector<std::string> &exports) {
  RAPT_ASSIGN_OR_RETURN(ElfSymbols symbols, readElfSymbols(elf));
  std::vector<std::string> expected = exports;
  std::sort(expected.begin(), expected.end());
  if (symbols.defined != expected)
    return Error{"the code exports " + list(symbols.defined) + ", it should export " + list(expected)};
  std::vector<std::string> foreign;
  for (const std::string &name : symbols.undefined)
    if (name != "memcpy" && name != "memmove" && name != "memset" && name != "_GLOBAL_OFFSET_TABLE_")
      foreign.push_back(name);
  if (!foreign.empty())
    return Error{"the code leaves " + list(foreign) + " undefined"};
  if (!symbols.needed.empty())
    return Error{"the library needs " + std::to_string(symbols.needed.size()) + " other libraries"};
  return {};
}

Expected<std::string> linkShared(const LinkRequest &request) {
  RAPT_ASSIGN_OR_RETURN(std::string linker, findLinker(request.toolFolder));
  const MemoryFile object(request.object), exports(exportsScript(request.exports));
  // The linker's output goes to memory too: only checked bytes reach the output's directory, and a full disk is
  // reported by our own write.
  const MemoryFile library("");
  for (const MemoryFile *file : {&object, &exports, &library})
    RAPT_RETURN_IF_ERROR(withContext(shownPath(request.output), file->status(request.object.size())));
  RAPT_RETURN_IF_ERROR(
      runProgram(linkCommand(linker, object.path(), exports.path(), request.pageBytes, "-"), kLinker, library));
  RAPT_ASSIGN_OR_RETURN(std::string bytes, withContext(shownPath(request.output), library.text(kLinker)));
  RAPT_RETURN_IF_ERROR(withContext(shownPath(request.output), checkSymbols(bytes, request.exports)));
  return bytes;
}

Expected<std::string> linkIdentity(const LinkRequest &request) {
  RAPT_ASSIGN_OR_RETURN(std::string linker, findLinker(request.toolFolder));
  struct stat file;
  if (stat(linker.c_str(), &file) != 0)
    return Error{shownPath(linker) + ": cannot be read: " + std::strerror(errno)};
  std::string text;
  for (const std::string &word : linkCommand(linker, "object", "exports", request.pageBytes, "library"))
    text += word + '\0';
  for (const auto number : {file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec})
    text += std::to_string(number) + '\0';
  return text + exportsScript(request.exports);
}

std::string makeArchive(std::string_view object, const std::vector<std::string> &exports) {
  auto member = [](std::string name, std::string_view content) {
    std::string header = name;
    header.resize(16, ' ');
    for (const auto &[value, width] : {std::pair<std::string, size_t>{"0", 12},
                                       {"0", 6},
                                       {"0", 6},
                                       {"644", 8},
                                       {std::to_string(content.size()), 10}})
      header += value + std::string(width - value.size(), ' ');
    header += "`\n";
    header += content;
    return content.size() % 2 ? header + "\n" : header;
  };
  auto bigEndian = [](uint32_t value) {
    return std::string{char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
  };
  std::string names;
  for (const std::string &name : exports)
    names += name + '\0';
  const size_t tableBytes = 4 + 4 * exports.size() + names.size();
  const uint32_t objectAt = uint32_t(8 + 60 + tableBytes + tableBytes % 2);
  std::string table = bigEndian(uint32_t(exports.size()));
  for (size_t i = 0; i < exports.size(); ++i)
    table += bigEndian(objectAt);
  return "!<arch>\n" + member("/", table + names) + member("model.o/", object);
}

} // namespace rapt::artifact
