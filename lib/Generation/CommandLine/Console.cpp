#include "lib/Generation/CommandLine/Console.h"
#include "lib/Support/Spelling.h"
#include "lib/Tokenizer/Unicode.h"
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

/// Whether a terminal obeys the character, or writes what follows in another direction.
static bool isControl(char32_t c) {
  const bool isDirection =
      c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) || isDirection;
}

std::string shownGenerated(std::string_view text) {
  std::string shown;
  for (size_t at = 0, length = 0; at < text.size(); at += length) {
    const unicode::Front front = unicode::classifyFront(text.substr(at), length);
    const bool isCharacter = front == unicode::Front::Valid;
    if (!isCharacter)
      length = 1;
    const char32_t c = isCharacter ? unicode::decode(text, at) : static_cast<unsigned char>(text[at]);
    if (isCharacter && !isControl(c)) {
      shown += text.substr(at, length);
      continue;
    }
    char escaped[8];
    snprintf(escaped, sizeof escaped, c < 0x100 ? "\\x%02X" : "\\u%04X", unsigned(c));
    shown += escaped;
  }
  return shown;
}

Status printGenerated(std::string_view text) {
  static const bool terminal = isatty(STDOUT_FILENO);
  return terminal ? print(shownGenerated(text)) : print(text);
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

void Interrupts::forget() { signalSeen = 0; }

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
