#include "lib/Generation/CommandLine/Console.h"
#include "lib/Support/Spelling.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace rapt::run {
namespace {

std::atomic<rapt_context *> interruptible{nullptr};
std::atomic<int> signalSeen{0};

void onSignal(int number) {
  if (signalSeen.exchange(128 + number))
    _exit(128 + number);
  rapt_cancel(interruptible.load());
}

} // namespace

Status print(std::string_view text) {
  signal(SIGPIPE, SIG_IGN);
  while (!text.empty()) {
    ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0 && errno == EPIPE)
      _exit(exitClosed);
    if (written < 0)
      return Error{std::string("standard output: ") + strerror(errno)};
    text.remove_prefix(size_t(written));
  }
  return {};
}

Status printGenerated(std::string_view text) {
  static const bool terminal = isatty(STDOUT_FILENO);
  if (!terminal)
    return print(text);
  std::string shown;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) {
      char escaped[5];
      snprintf(escaped, sizeof escaped, "\\x%02X", byte);
      shown += escaped;
    } else
      shown += c;
  }
  return print(shown);
}

/// "; did you mean 'a'?" behind the runtime's "forward has no tensor x; it has a, b and c": the C interface tells a
/// model's names in that message alone.
static std::string nearestTensor(std::string_view message) {
  constexpr std::string_view unknown = " has no tensor ", list = "; it has ";
  const size_t name = message.find(unknown), known = message.rfind(list);
  if (name == message.npos || known == message.npos || known < name + unknown.size())
    return {};
  std::vector<std::string_view> names;
  for (size_t at = known + list.size(); at < message.size();) {
    const size_t end = std::min(message.find_first_of(", ", at), message.size());
    if (std::string_view word = message.substr(at, end - at); !word.empty() && word != "and")
      names.push_back(word);
    at = end + 1;
  }
  const size_t begin = name + unknown.size();
  return didYouMean(findNearest(message.substr(begin, known - begin), names));
}

int fail(const std::string &message, int code) {
  note("rapt-run: error: " + message + nearestTensor(message));
  return code;
}

void note(const std::string &message) {
  std::string line = message + "\n"; // one write, so that lines of several processes do not mix
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

Interrupts::Interrupts(rapt_context *context) {
  interruptible = context;
  struct sigaction action{};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

Interrupts::~Interrupts() {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  interruptible = nullptr;
}

int Interrupts::caught() { return signalSeen; }

void guardMappedFiles() {
  struct sigaction action{};
  action.sa_handler = [](int) {
    static const char text[] = "rapt-run: error: the weight file shrank or its disk failed while it was mapped; "
                               "--read-weights reads it into memory instead\n";
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(exitFailure);
  };
  sigaction(SIGBUS, &action, nullptr);
}

uint64_t peakMemory() {
  rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? uint64_t(usage.ru_maxrss) * 1024 : 0;
}

} // namespace rapt::run
