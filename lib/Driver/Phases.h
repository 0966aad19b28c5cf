//===- Phases.h - Where the time of a compilation goes -----------------------------*- C++ -*-===//
//
// From the process's start to its end one phase is going on at every moment, so the phases
// add up to the wall time. Steps of several threads at the same time lie within a phase.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Progress.h"
#include <string>
#include <utility>
#include <vector>

namespace rapt::driver {

/// auto, always or never.
ProgressMode progressModeOf(const std::string &name);

/// The name of a phase that the last report tells apart.
inline constexpr const char *packingPhase = "packing weights";

class Phases {
public:
  /// `isVerbose`: each phase that ends is a line, and so is the total.
  Phases(bool isVerbose, ProgressMode mode);
  /// Appends the seconds of each phase and their "total", as a line of JSON, to the file that the environment variable
  /// RAPT_PHASES names, if it exists: the time table of the test command adds them up.
  ~Phases();

  /// Ends the phase that is going on and begins the next, of which the terminal's line tells how many of `total`
  /// "bytes", or whatever is `counted`, are done.
  void enter(const std::string &name, const std::string &counted = {}, uint64_t total = 0);
  /// As enter(), for steps that several threads take at the same time.
  void enterParallel(const std::string &name, const std::string &counted, uint64_t total);
  /// Counts units of the phase that is going on; from any thread.
  ProgressCallback counter();

  /// Erases the terminal's line for good.
  void endProgress() { progress.end(); }
  /// Seconds since the process's start, and those in phases of this name that have ended.
  double elapsed() const;
  double secondsIn(const std::string &name) const;

  /// A step of one thread: a phase of its own, or in a parallel phase a unit of it, whose time is told indented.
  class Step {
  public:
    Step(Phases &phases, const std::string &name, const std::string &counted = {}, uint64_t total = 0);
    ~Step();
    Step(const Step &) = delete;
    Step &operator=(const Step &) = delete;
    /// Empty in a parallel phase, whose units are the steps.
    ProgressCallback counter() { return isPart ? ProgressCallback() : phases.counter(); }

    /// Adds what came of the step to its name; in a parallel phase it counts as so many units.
    void conclude(const std::string &outcome, uint64_t units);

  private:
    Phases &phases;
    std::string name;
    bool isPart;
    uint64_t units = 1;
    double began;
  };

private:
  void endPhase();
  void printTime(const std::string &name, double seconds) const;
  void record() const;

  const bool isVerbose;
  const double start; ///< of the process, on the clock of the phases
  Progress progress;
  std::string current;
  double began;
  bool isParallel = false;
  std::vector<std::pair<std::string, double>> ended; ///< name and seconds
};

} // namespace rapt::driver
