//===- Phases.cpp - Where the time of a compilation goes -------------------------------------===//
#include "lib/Driver/Phases.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

using namespace rapt;
using namespace rapt::driver;

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The processor time of earlier compilations in this process, of a batch that starts no children.
static double usedByEarlier = 0;

/// The processor time of the process. Before main() it stands for the wall time, of which the system tells no more than
/// hundredths of a second.
static double usedSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

ProgressMode driver::progressModeOf(const std::string &name) {
  return name == "always" ? ProgressMode::Always : name == "never" ? ProgressMode::Never : ProgressMode::Auto;
}

Phases::Phases(bool isVerbose, ProgressMode mode)
    : isVerbose(isVerbose), start(now() - (usedSeconds() - usedByEarlier)), progress(mode), current("process start"),
      began(start) {}

Phases::~Phases() {
  progress.end();
  endPhase();
  printTime("total", began - start);
  record();
  usedByEarlier = usedSeconds();
}

/// Only to a file that exists; where that fails, nothing is told: it does not concern who compiles.
void Phases::record() const {
  const char *path = getenv("RAPT_PHASES");
  const int file = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK) : -1;
  if (file < 0)
    return;
  llvm::json::Object seconds{{"total", began - start}};
  for (const auto &[name, duration] : ended)
    seconds[name] = seconds.getNumber(name).value_or(0) + duration;
  const std::string line = llvm::formatv("{0}\n", llvm::json::Value(std::move(seconds)));
  // Other processes append to the file, too: one call.
  [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());
  close(file);
}

void Phases::printTime(const std::string &name, double seconds) const {
  if (isVerbose)
    writeToStderr(llvm::formatv("raptc: {0}: {1:f3} s\n", name, seconds).str());
}

void Phases::endPhase() {
  const double end = now();
  ended.emplace_back(current, end - began);
  printTime(current, end - began);
  began = end;
  isParallel = false;
}

void Phases::enter(const std::string &name, const std::string &counted, uint64_t total) {
  endPhase();
  current = name;
  progress.begin(name, counted, total);
}

void Phases::enterParallel(const std::string &name, const std::string &counted, uint64_t total) {
  enter(name, counted, total);
  isParallel = true;
}

ProgressCallback Phases::counter() {
  return [this](uint64_t count) { progress.add(count); };
}

double Phases::elapsed() const { return now() - start; }

double Phases::secondsIn(const std::string &name) const {
  double sum = 0;
  for (const auto &[phase, seconds] : ended)
    sum += phase == name ? seconds : 0;
  return sum;
}

Phases::Step::Step(Phases &phases, const std::string &name, const std::string &counted, uint64_t total)
    : phases(phases), name(name), isPart(phases.isParallel), began(now()) {
  if (!isPart)
    phases.enter(name, counted, total);
}

void Phases::Step::conclude(const std::string &outcome, uint64_t count) {
  name += ": " + outcome;
  units = count;
  if (!isPart)
    phases.current = name;
}

Phases::Step::~Step() {
  if (!isPart)
    return;
  phases.progress.add(units);
  phases.printTime("  " + name, now() - began);
}
