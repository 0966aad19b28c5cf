#include "lib/Generation/CommandLine/Conversation/History.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rapt::run {
namespace {

constexpr size_t mostEntries = 1000, mostEntryBytes = 1 << 16;
constexpr uint64_t mostFileBytes = uint64_t(256) << 20;

/// An absolute path in an environment variable, as the XDG base directories ask for; empty otherwise.
std::string folderIn(const char *variable) {
  const char *value = getenv(variable);
  return value && value[0] == '/' ? value : "";
}

std::string lineOf(const std::string &entry) { return json::write(json::Value(entry)) + "\n"; }

bool writeAll(int file, const std::string &text) {
  return write(file, text.data(), text.size()) == ssize_t(text.size());
}

/// Makes the folder of `path` and those above it, for the user alone.
void makeFolders(const std::string &path) {
  for (size_t at = path.find('/', 1); at != path.npos; at = path.find('/', at + 1))
    mkdir(path.substr(0, at).c_str(), 0700);
}

} // namespace

History::History() {
  std::string folder = folderIn("XDG_STATE_HOME");
  if (std::string home = folderIn("HOME"); folder.empty() && !home.empty())
    folder = home + "/.local/state";
  if (!folder.empty())
    path = folder + "/rapt/chat-history";
}

std::vector<std::string> History::load() const {
  std::vector<std::string> entries;
  const Expected<std::string> text = path.empty() ? std::string() : readFile(path, mostFileBytes);
  if (!text)
    return entries;
  for (size_t begin = 0, end; (end = text->find('\n', begin)) != text->npos; begin = end + 1) {
    const Expected<json::Value> value = json::parse(std::string_view(*text).substr(begin, end - begin));
    if (const std::string *entry = value ? value->asString() : nullptr)
      entries.push_back(*entry);
  }
  if (entries.size() <= mostEntries)
    return entries;
  const bool isLong = entries.size() > 3 * mostEntries;
  entries.erase(entries.begin(), entries.end() - mostEntries);
  if (const auto file = isLong ? TemporaryFile::create(directoryOf(path), 0600) : nullptr) {
    std::string kept;
    for (const std::string &entry : entries)
      kept += lineOf(entry);
    if (writeAll(file->descriptor(), kept) && fsync(file->descriptor()) == 0)
      file->publish(path);
  }
  return entries;
}

void History::add(const std::string &entry) const {
  if (path.empty() || entry.size() > mostEntryBytes)
    return;
  makeFolders(path);
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
  if (file < 0)
    return;
  writeAll(file, lineOf(entry));
  close(file);
}

} // namespace rapt::run
