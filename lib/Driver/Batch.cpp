//===- Batch.cpp - Many commands in one process -----------------------------------------------===//
#include "lib/Driver/Batch.h"
#include "lib/Support/ChildProcess.h"
#include "lib/Support/Json.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/StringSaver.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace rapt;
using namespace rapt::driver;

namespace {

struct Answer {
  int status;
  std::string out, err;
};

/// The words of a line; none where a quote is open at its end, or a backslash has nothing behind it.
std::optional<std::vector<std::string>> wordsOf(const std::string &line) {
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  llvm::SmallVector<const char *> words;
  llvm::cl::TokenizeGNUCommandLine(line + " ;", saver, words); // what is open takes the last word in
  if (llvm::StringRef(words.back()) != ";")
    return std::nullopt;
  return std::vector<std::string>(words.begin(), words.end() - 1);
}

/// In the child: the standard files of a command, which ends with the batch.
void takeFiles(const MemoryFile &out, const MemoryFile &err, pid_t batch) {
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(out.descriptor(), STDOUT_FILENO) < 0 ||
      dup2(err.descriptor(), STDERR_FILENO) < 0)
    _exit(1);
  close(nothing);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != batch) // it had ended before
    _exit(1);
}

Answer runInChild(const std::string &tool, const std::vector<std::string> &words, BatchCommand run) {
  const MemoryFile out(""), err("");
  auto fail = [&](const std::string &why) {
    return Answer{1, "", tool + ": error: cannot run the line: " + why + "\n"};
  };
  if (out.descriptor() < 0 || err.descriptor() < 0)
    return fail(strerror(errno));
  const pid_t batch = getpid(), child = fork();
  if (child < 0)
    return fail(strerror(errno));
  if (child == 0) {
    takeFiles(out, err, batch);
    exit(run(words)); // as main() would end
  }
  int ended;
  while (waitpid(child, &ended, 0) < 0)
    if (errno != EINTR)
      return fail(strerror(errno));
  const Expected<std::string> outText = out.text("the line"), errText = err.text("the line");
  for (const Expected<std::string> *text : {&outText, &errText})
    if (!*text)
      return fail(text->error().message);
  return {WIFSIGNALED(ended) ? 128 + WTERMSIG(ended) : WEXITSTATUS(ended), *outText, *errText};
}

Answer answer(const std::string &tool, const std::string &line, BatchCommand run) {
  const auto words = line.find('\0') == line.npos ? wordsOf(line) : std::nullopt;
  if (!words)
    return {2, "", tool + ": error: the line ends within a quote or after a backslash, or has a NUL byte\n"};
  return runInChild(tool, *words, run);
}

} // namespace

int driver::runBatch(const char *tool, BatchCommand run) {
  auto fail = [&](const char *what) {
    fprintf(stderr, "%s: error: cannot %s: %s\n", tool, what, strerror(errno));
    return 1;
  };
  signal(SIGCHLD, SIG_DFL); // else a command's status would be lost
  char *text = nullptr;
  size_t capacity = 0;
  int64_t number = 0;
  for (ssize_t length; (length = getline(&text, &capacity, stdin)) >= 0;) {
    const std::string line(text, size_t(length) - (text[length - 1] == '\n'));
    const Answer answered = answer(tool, line, run);
    const std::string json = json::write(json::Value(json::Object{{"line", json::Value(++number)},
                                                                  {"status", json::Value(answered.status)},
                                                                  {"stdout", json::Value(answered.out)},
                                                                  {"stderr", json::Value(answered.err)}}));
    if (puts(json.c_str()) < 0 || fflush(stdout) != 0)
      return fail("write the answer");
  }
  free(text);
  return feof(stdin) ? 0 : fail("read command lines");
}
