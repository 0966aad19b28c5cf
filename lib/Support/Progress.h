//===- Progress.h - A line that tells how far a long operation is -----------===//
//
// The line stands at the bottom of the terminal. A thread of its own redraws it; those
// who work only count. Whoever writes to the terminal meanwhile holds a ProgressPause.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <pthread.h>
#include <string>
#include <string_view>

namespace rapt {

/// How a library tells that `count` more units are done, from any thread. It may be empty.
using ProgressCallback = std::function<void(uint64_t count)>;

enum class ProgressMode {
  Auto,   ///< where stderr is a terminal in whose foreground the process runs, after the first second
  Always, ///< from the start, whatever stderr is
  Never
};

/// The content of the line.
struct ProgressState {
  std::string phase;         ///< "packing weights", in ASCII
  std::string counted;       ///< "bytes", "functions"; empty: nothing is counted
  uint64_t done = 0;         ///< of `counted`
  uint64_t total = 0;        ///< 0: unknown
  double seconds = 0;        ///< since the phase began
  double bytesPerSecond = 0; ///< of bytes; 0: unknown
};

/// "packing weights: 1.2 GB of 13.5 GB (9 %), 154.0 MB/s, 1 min 20 s left", cut to less than `columns`: a character in
/// the last column would make some terminals wrap.
std::string formatProgress(const ProgressState &state, size_t columns);

/// The rate of the last seconds: an average whose weights fall off exponentially, of all seconds while they are few.
class RecentRate {
public:
  /// `seconds` since the start, when `count` were done. Both never fall.
  void add(double seconds, uint64_t count);
  double perSecond() const { return rate; }

private:
  double last = 0, rate = 0;
  uint64_t counted = 0;
};

class Progress {
public:
  explicit Progress(ProgressMode mode);
  ~Progress() { end(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// From now on the line is about this phase; no one counts while it is called.
  void begin(std::string phase, std::string counted = {}, uint64_t total = 0);
  /// More units are done; from any thread.
  void add(uint64_t count) { done.fetch_add(count, std::memory_order_relaxed); }
  /// Erases the line for good.
  void end();

  /// Erases the line of a process that a signal ends. Async-signal-safe.
  static void eraseForSignal();

private:
  void run();
  void draw();

  std::mutex mutex;
  std::condition_variable wake; ///< when `isOver`
  ProgressState state;          ///< but for what changes on its own
  RecentRate rate;
  std::string drawn; ///< the line as it was written last; the thread's own
  double began = 0;  ///< the phase
  std::atomic<uint64_t> done = 0;
  bool isAutomatic, isOver = false, hasThread = false;
  pthread_t thread;
};

/// While it lives the line is erased and stays so. For one thread at a time: others wait, and no thread may hold two.
class ProgressPause {
public:
  ProgressPause();
  ~ProgressPause();
  ProgressPause(const ProgressPause &) = delete;
  ProgressPause &operator=(const ProgressPause &) = delete;
};

/// Writes all of `text` to stderr where the line was; a failure is ignored.
void writeToStderr(std::string_view text);

} // namespace rapt
