//===- ChildProcess.cpp - Programs that are run on files in memory ---------------===//
#include "lib/Support/ChildProcess.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

extern char **environ;

namespace rapt {

static std::string describe(int error) { return std::generic_category().message(error); }

MemoryFile::MemoryFile(std::string_view content) : file(memfd_create("rapt", 0)) {
  error = file < 0 ? errno : 0;
  while (!error && !content.empty()) {
    const ssize_t put = write(file, content.data(), content.size());
    if (put < 0 && errno != EINTR)
      error = errno;
    content.remove_prefix(size_t(std::max<ssize_t>(put, 0)));
  }
}

MemoryFile::~MemoryFile() {
  if (file >= 0)
    close(file);
}

Status MemoryFile::status(size_t bytes) const {
  return error ? Status(Error{"cannot hold " + std::to_string(bytes) + " bytes of code in memory: " + describe(error)})
               : Status();
}

Expected<std::string> MemoryFile::text(const std::string &writer) const {
  std::string content(size_t(std::max<off_t>(lseek(file, 0, SEEK_END), 0)), '\0');
  for (size_t done = 0; done < content.size();) {
    const ssize_t got = pread(file, content.data() + done, content.size() - done, off_t(done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return Error{"cannot read what " + writer + " wrote: " + (got < 0 ? describe(errno) : "it became shorter")};
    done += size_t(got);
  }
  return content;
}

Status runProgram(const std::vector<std::string> &command, const std::string &name, const MemoryFile &result) {
  MemoryFile output("");
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, result.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDERR_FILENO);
  pid_t child;
  const int error = posix_spawn(&child, command[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    return Error{shownPath(command[0]) + ": cannot run " + name + ": " + describe(error)};
  int status;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return Error{shownPath(command[0]) + ": cannot wait for " + name + ": " + describe(errno)};
  if (WIFSIGNALED(status))
    return Error{shownPath(command[0]) + ": " + name + " was killed by signal " + std::to_string(WTERMSIG(status)) +
                 " (" + strsignal(WTERMSIG(status)) + ")"};
  if (WEXITSTATUS(status) != 0) {
    const Expected<std::string> all = output.text(name);
    const std::string text = all ? *all : all.error().message;
    return Error{shownPath(command[0]) + ": " + name + " failed with exit status " +
                 std::to_string(WEXITSTATUS(status)) + ": " + json::printable(text.substr(0, text.find('\n')), 400)};
  }
  return {};
}

} // namespace rapt
