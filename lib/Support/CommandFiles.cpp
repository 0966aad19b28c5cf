//===- CommandFiles.cpp - No output of a command destroys what it reads -----===//
#include "lib/Support/CommandFiles.h"
#include "lib/Support/File.h"
#include <algorithm>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace rapt;
namespace fs = std::filesystem;

/// `path` without links, `.` and `..`; the part of it that does not exist as it is written.
static std::string resolve(const fs::path &path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  fs::path resolved = error ? path : fs::weakly_canonical(whole, error);
  return error ? whole.lexically_normal().string() : resolved.string();
}

CommandFiles::File CommandFiles::describe(const std::string &path, const std::string &role) {
  File file{path, role, std::nullopt, {}};
  const fs::path name = path;
  // The entry itself: commits rename onto it, whatever it links to.
  if (name.has_filename())
    file.resolved.push_back(
        (fs::path(resolve(name.has_parent_path() ? name.parent_path() : fs::path("."))) / name.filename()).string());
  file.resolved.push_back(resolve(name));
  struct stat status;
  if (stat(path.c_str(), &status) == 0) {
    file.inode = {uint64_t(status.st_dev), uint64_t(status.st_ino)};
    file.isStream = !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
  }
  return file;
}

bool CommandFiles::File::is(const File &other) const {
  if (isStream || other.isStream)
    return false;
  if (inode && other.inode && *inode == *other.inode)
    return true;
  return std::any_of(resolved.begin(), resolved.end(), [&](const std::string &name) {
    return std::find(other.resolved.begin(), other.resolved.end(), name) != other.resolved.end();
  });
}

void CommandFiles::addInput(const std::string &path, const std::string &role) {
  inputs.push_back(describe(path, role));
}

void CommandFiles::addStandardInput() {
  struct stat status;
  if (fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode))
    inputs.push_back({"-", "the standard input", std::pair(uint64_t(status.st_dev), uint64_t(status.st_ino)), {}});
}

void CommandFiles::addOutput(const std::string &path, const std::string &role) {
  outputs.push_back(describe(path, role));
}

void CommandFiles::addOutputs(const std::string &folder, const std::string &mark, const std::string &role) {
  families.push_back({folder, mark, role});
}

bool CommandFiles::isInput(const std::string &path) const {
  const File file = describe(path, "");
  return std::any_of(inputs.begin(), inputs.end(), [&](const File &input) { return file.is(input); });
}

static std::string sameAs(const std::string &path, const std::string &other) {
  return path == other || other == "-" ? "it" : shownPath(other) + ", which is the same file";
}

/// Files of the family that exist, and those that an input or output would become.
Status CommandFiles::checkFamily(const Family &family) const {
  std::vector<File> members;
  std::error_code error;
  for (fs::directory_iterator entry(family.folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename().string().find(family.mark) != std::string::npos)
      members.push_back(describe(entry->path().string(), family.role));
  const std::string folder = resolve(family.folder);
  auto isMember = [&](const File &file) {
    for (const std::string &resolved : file.resolved) {
      const fs::path path = resolved;
      if (family.mark.empty() && resolved.starts_with(folder + "/"))
        return true;
      if (path.parent_path().string() == folder && path.filename().string().find(family.mark) != std::string::npos)
        return true;
    }
    return std::any_of(members.begin(), members.end(), [&](const File &member) { return member.is(file); });
  };
  for (const auto *list : {&inputs, &outputs})
    for (const File &file : *list)
      if (isMember(file))
        return Error{family.role + ": files of " + shownPath(family.folder) + " could overwrite " +
                     shownPath(file.path) + " (" + file.role + "); name another folder"};
  return {};
}

Status CommandFiles::check() const {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    for (const File &input : inputs)
      if (output->is(input))
        return Error{shownPath(output->path) + ": as " + output->role + " would overwrite " +
                     sameAs(output->path, input.path) + " (" + input.role + "); name another file"};
    for (auto other = outputs.begin(); other != output; ++other)
      if (other->role != output->role && output->is(*other))
        return Error{shownPath(output->path) + ": as " + output->role + " would overwrite " +
                     sameAs(output->path, other->path) + " (" + other->role + "); name another file"};
  }
  for (const Family &family : families)
    RAPT_RETURN_IF_ERROR(checkFamily(family));
  return {};
}
