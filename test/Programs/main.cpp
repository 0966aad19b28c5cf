// api-programs [--count=N] [--seed=S] [--only=INDEX] MODEL.so...: random programs against the runtime's API.
//
// Each program runs in a process of its own; what it computes is compared with a computation of the same tokens in a
// fresh sequence. A program that fails is shrunk and printed. Exit status 1 if any failed.
#include "test/Programs/Program.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace rapt::programs;

namespace {

constexpr unsigned seconds = 120; // of one program; one takes milliseconds

/// Empty, or how the process ended.
template <typename Body> std::string inProcess(bool quiet, Body body) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    if (quiet && !freopen("/dev/null", "w", stderr))
      _exit(4);
    body();
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child)
    return "no process";
  if (WIFSIGNALED(status))
    return std::string("signal ") + strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) ? "exit status " + std::to_string(WEXITSTATUS(status)) : "";
}

bool fails(const std::string &library, const Program &program) {
  return !inProcess(true, [&] { execute(library, program, false); }).empty();
}

/// Leaves out calls for as long as the rest fails.
Program shrink(const std::string &library, Program program) {
  for (size_t size = program.calls.size() / 2; size; size /= 2)
    for (size_t at = 0; at + size <= program.calls.size();) {
      Program shorter = program;
      shorter.calls.erase(shorter.calls.begin() + long(at), shorter.calls.begin() + long(at + size));
      fails(library, shorter) ? void(program = shorter) : void(at += size);
    }
  return program;
}

void report(const std::string &library, const Program &program, const std::string &how) {
  Program least = shrink(library, program);
  printf("FAILED: seed %llu on %s: %s\n%s", static_cast<unsigned long long>(program.seed), library.c_str(), how.c_str(),
         show(least).c_str());
  inProcess(false, [&] { execute(library, least, true); });
}

int usage() {
  fputs("usage: api-programs [--count=N] [--seed=S] [--only=INDEX] MODEL.so...\n", stderr);
  return 2;
}

} // namespace

int main(int argc, char **argv) {
  unsigned long long first = 0, count = 100, seed = 1, failed = 0;
  std::vector<std::string> libraries;
  for (int i = 1; i < argc; ++i) {
    if (!strncmp(argv[i], "--count=", 8))
      count = strtoull(argv[i] + 8, nullptr, 10);
    else if (!strncmp(argv[i], "--seed=", 7))
      seed = strtoull(argv[i] + 7, nullptr, 10);
    else if (!strncmp(argv[i], "--only=", 7))
      first = strtoull(argv[i] + 7, nullptr, 10), count = 1;
    else if (argv[i][0] == '-')
      return usage();
    else
      libraries.push_back(argv[i]);
  }
  if (libraries.empty())
    return usage();
  for (unsigned long long i = first; i < first + count; ++i) {
    const std::string &library = libraries[i % libraries.size()];
    Program program = makeProgram(seed * 1000003 + i);
    bool together = i % 16 == 15;
    std::string how = inProcess(false, [&] {
      if (!together)
        return execute(library, program, false);
      executeTogether(library, {program, makeProgram(program.seed + 500000), makeProgram(program.seed + 600000)});
    });
    if (how.empty())
      continue;
    ++failed;
    together ? void(printf("FAILED: three programs at once from seed %llu on %s: %s\n",
                           static_cast<unsigned long long>(program.seed), library.c_str(), how.c_str()))
             : report(library, program, how);
    printf("  again: api-programs --seed=%llu --only=%llu, with the same models\n", seed, i);
  }
  printf("generated: programs of API calls: %llu, seed %llu: %llu passed, %llu failed\n", count, seed, count - failed,
         failed);
  return failed ? 1 : 0;
}
