#include "lib/Support/Progress.h"
#include "lib/Support/Units.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace rapt {

namespace {

constexpr double delaySeconds = 1;
constexpr std::chrono::milliseconds redrawPeriod(100);
constexpr double rateSeconds = 5; ///< the age at which a sample's weight has fallen to 1/e
constexpr size_t defaultColumns = 80;
constexpr std::string_view erase = "\r\033[K";

std::mutex output;                     ///< of the terminal
std::atomic<bool> isDrawn = false;     ///< set under `output`; a signal handler reads it
std::atomic<bool> isForbidden = false; ///< set by a signal handler, before it looks at isDrawing
std::atomic<bool> isDrawing = false;   ///< set by the thread that draws, before it looks at isForbidden

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void writeAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(STDERR_FILENO, text.data(), text.size());
    if (put < 0 && errno == EAGAIN) { // another program has made the terminal non-blocking
      struct pollfd ready = {STDERR_FILENO, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (put < 0 && errno != EINTR) {
      return;
    }
    if (put <= 0)
      continue;
    text.remove_prefix(size_t(put));
  }
}

/// Needs `output`.
void eraseLine() {
  if (isDrawn.exchange(false))
    writeAll(erase);
}

size_t terminalColumns() {
  struct winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : defaultColumns;
}

bool isTerminal() {
  const char *kind = getenv("TERM");
  return isatty(STDERR_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
}

/// A process in the background must not write over what the shell shows, and may be stopped when it does.
bool isInForeground() {
  const pid_t group = tcgetpgrp(STDERR_FILENO);
  return group < 0 || group == getpgrp();
}

} // namespace

std::string formatProgress(const ProgressState &state, size_t columns) {
  const bool inBytes = state.counted == "bytes";
  auto amount = [&](uint64_t number) { return inBytes ? inUnits(number) : grouped(number); };
  std::string line = state.phase + ": ";
  if (state.counted.empty()) {
    line += inTime(state.seconds);
  } else {
    line += amount(state.done);
    if (state.total > 0)
      line += " of " + amount(state.total);
    if (!inBytes)
      line += " " + state.counted;
    if (state.total > 0)
      line += " (" + std::to_string(int(100 * std::min(double(state.done) / double(state.total), 1.0))) + " %)";
    const bool hasRate = inBytes && state.bytesPerSecond >= 1;
    if (hasRate)
      line += ", " + inUnits(uint64_t(std::min(state.bytesPerSecond, 1e18))) + "/s";
    if (hasRate && state.done < state.total)
      line += ", " + inTime(std::ceil(double(state.total - state.done) / state.bytesPerSecond)) + " left";
    if (!inBytes)
      line += ", " + inTime(state.seconds);
  }
  line.resize(std::min(line.size(), std::max<size_t>(columns, 1) - 1));
  return line;
}

void RecentRate::add(double seconds, uint64_t count) {
  const double passed = seconds - last;
  if (passed <= 0 || count < counted)
    return;
  const double weight = std::max(1 - std::exp(-passed / rateSeconds), std::min(passed / seconds, 1.0));
  rate += weight * (double(count - counted) / passed - rate);
  last = seconds;
  counted = count;
}

//===----------------------------------------------------------------------===//
// The thread that draws
//===----------------------------------------------------------------------===//

Progress::Progress(ProgressMode mode) : began(now()), isAutomatic(mode == ProgressMode::Auto) {
  if (mode == ProgressMode::Never || (isAutomatic && !isTerminal()))
    return;
  // Signals are for the threads that know what to do with them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto start = [](void *progress) -> void * {
    static_cast<Progress *>(progress)->run();
    return nullptr;
  };
  hasThread = pthread_create(&thread, nullptr, start, this) == 0; // refused: there is no line
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Progress::begin(std::string phase, std::string counted, uint64_t total) {
  std::lock_guard lock(mutex);
  state = {std::move(phase), std::move(counted), 0, total};
  rate = {};
  began = now();
  done = 0;
}

void Progress::run() {
  std::unique_lock lock(mutex);
  if (isAutomatic)
    wake.wait_for(lock, std::chrono::duration<double>(delaySeconds), [&] { return isOver; });
  while (!isOver) {
    lock.unlock();
    draw();
    lock.lock();
    wake.wait_for(lock, redrawPeriod, [&] { return isOver; });
  }
}

void Progress::draw() {
  // Before the state, so that no line is drawn about a phase that ended while another thread wrote.
  std::lock_guard hold(output);
  ProgressState shown;
  {
    std::lock_guard lock(mutex);
    shown = state;
    shown.done = done;
    shown.seconds = now() - began;
    rate.add(shown.seconds, shown.done);
    shown.bytesPerSecond = rate.perSecond();
  }
  if (shown.phase.empty() || (isAutomatic && !isInForeground()))
    return;
  const std::string line = formatProgress(shown, terminalColumns());
  if (isDrawn && line == drawn)
    return;
  drawn = line;
  isDrawing = true;
  if (!isForbidden) {
    isDrawn = true;
    writeAll("\r" + line + "\033[K");
  }
  isDrawing = false;
}

void Progress::end() {
  {
    std::lock_guard lock(mutex);
    isOver = true;
  }
  wake.notify_all();
  if (hasThread)
    pthread_join(thread, nullptr);
  hasThread = false;
  ProgressPause erased;
}

void Progress::eraseForSignal() {
  const int kept = errno;
  isForbidden = true;
  // The thread that draws takes no signals, so this waits for another; not for long, as a terminal may be stopped.
  constexpr timespec millisecond = {0, 1'000'000};
  for (int i = 0; i < 200 && isDrawing; ++i)
    nanosleep(&millisecond, nullptr);
  if (isDrawn.exchange(false))
    writeAll(erase);
  errno = kept;
}

ProgressPause::ProgressPause() {
  output.lock();
  eraseLine();
}
ProgressPause::~ProgressPause() { output.unlock(); }

void writeToStderr(std::string_view text) {
  if (text.empty())
    return;
  ProgressPause pause;
  writeAll(text);
}

} // namespace rapt
