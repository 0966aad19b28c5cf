//===- Batch.cpp - Many commands in one process -----------------------------------------------===//
#include "lib/Driver/Batch.h"
#include "lib/Support/ChildProcess.h"
#include "lib/Support/Json.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/StringSaver.h"
#include <algorithm>
#include <array>
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

/// Makes `in`, `out` and `err` the standard files.
bool takeFiles(int in, int out, int err) {
  return dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0;
}

/// In the child: it ends with the batch, and its standard files are those of a command.
void becomeCommand(int nothing, const MemoryFile &out, const MemoryFile &err, pid_t batch) {
  if (!takeFiles(nothing, out.descriptor(), err.descriptor()))
    _exit(1);
  close(nothing);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != batch) // it had ended before
    _exit(1);
}

/// The status of a command that runs in a child, or none where the system refuses it.
std::optional<int> runInChild(const std::vector<std::string> &words, int nothing, const MemoryFile &out,
                              const MemoryFile &err, BatchCommand run) {
  const pid_t batch = getpid(), child = fork();
  if (child < 0)
    return std::nullopt;
  if (child == 0) {
    becomeCommand(nothing, out, err, batch);
    exit(run(words)); // as main() would end
  }
  int ended;
  while (waitpid(child, &ended, 0) < 0)
    if (errno != EINTR)
      return std::nullopt;
  return WIFSIGNALED(ended) ? 128 + WTERMSIG(ended) : WEXITSTATUS(ended);
}

/// The same in this process, whose standard files are `files` again afterwards.
std::optional<int> runHere(const std::vector<std::string> &words, int nothing, const MemoryFile &out,
                           const MemoryFile &err, const std::array<int, 3> &files, BatchCommand run) {
  std::optional<int> status;
  if (takeFiles(nothing, out.descriptor(), err.descriptor())) {
    status = run(words);
    fflush(stdout);
  }
  if (!takeFiles(files[0], files[1], files[2]))
    abort(); // nobody can be told
  return status;
}

/// A batch of one tool.
class Lines {
public:
  Lines(std::string tool, BatchPlace place, BatchCommand run) : tool(std::move(tool)), place(place), run(run) {
    for (int i = 0; place == BatchPlace::Here && i < 3; ++i)
      files[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
  }

  Answer answer(const std::string &line) const {
    const auto words = line.find('\0') == line.npos ? wordsOf(line) : std::nullopt;
    if (!words)
      return {2, "", tool + ": error: the line ends within a quote or after a backslash, or has a NUL byte\n"};
    const MemoryFile out(""), err("");
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const bool hasOwn = place == BatchPlace::Child || *std::min_element(files.begin(), files.end()) >= 0;
    const bool isOpen = hasOwn && out.descriptor() >= 0 && err.descriptor() >= 0 && nothing >= 0;
    const std::optional<int> status = !isOpen                      ? std::nullopt
                                      : place == BatchPlace::Child ? runInChild(*words, nothing, out, err, run)
                                                                   : runHere(*words, nothing, out, err, files, run);
    const int cause = errno;
    close(nothing);
    if (!status)
      return fail(strerror(cause));
    const Expected<std::string> outText = out.text("the line"), errText = err.text("the line");
    for (const Expected<std::string> *text : {&outText, &errText})
      if (!*text)
        return fail(text->error().message);
    return {*status, *outText, *errText};
  }

private:
  Answer fail(const std::string &why) const { return {1, "", tool + ": error: cannot run the line: " + why + "\n"}; }

  std::string tool;
  BatchPlace place;
  BatchCommand run;
  std::array<int, 3> files{-1, -1, -1}; ///< the tool's own, where lines run here
};

} // namespace

int driver::runBatch(const char *tool, BatchPlace place, BatchCommand run) {
  auto fail = [&](const char *what) {
    fprintf(stderr, "%s: error: cannot %s: %s\n", tool, what, strerror(errno));
    return 1;
  };
  signal(SIGCHLD, SIG_DFL); // else a command's status would be lost
  const Lines lines(tool, place, run);
  char *text = nullptr;
  size_t capacity = 0;
  int64_t number = 0;
  for (ssize_t length; (length = getline(&text, &capacity, stdin)) >= 0;) {
    const std::string line(text, size_t(length) - (text[length - 1] == '\n'));
    const Answer answered = lines.answer(line);
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
