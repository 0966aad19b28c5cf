//===- Shadow.h - Who wrote and read each byte of a memory -------------------===//
#pragma once
#include "test/Simulator/PTX/Clock.h"
#include "test/Simulator/PTX/Findings.h"
#include "test/Simulator/PTX/ZeroedArray.h"

namespace rapt::ptx {

/// Moments that a thread's next access comes after.
struct Accessor {
  Moment moment;                             ///< of this access
  uint32_t block = 0;                        ///< thread block, in the order of a launch
  uint32_t line = 0;                         ///< of the instruction
  uint32_t syncedEpoch = 0;                  ///< epochs of its own warp below this one are known to all its lanes
  const Knowledge *warp = nullptr;           ///< what the warp knows
  const Knowledge *lane = nullptr;           ///< what this lane knows beyond it, or null
  const std::vector<bool> *blocks = nullptr; ///< thread blocks whose writes were acquired, or null
  bool isAsync = false;                      ///< by the asynchronous proxy
  bool isAtomic = false;
};

/// A write, which the bytes that it wrote name.
struct Write {
  Moment moment;
  uint32_t block = 0;
  uint32_t line = 0;
  bool isAsync = false, isAtomic = false;
  bool isInFlight = false; ///< an asynchronous operation nobody has waited for
};

/// A problem that an access has.
struct Conflict {
  FindingKind kind;
  uint64_t offset;
  std::string text;
};

/// Accesses of all launches of a simulator; memories share it.
class AccessLog {
public:
  AccessLog() { beginLaunch(); }

  /// Everything before is ordered before everything after.
  void beginLaunch();

  uint32_t addWrite(const Accessor &by, bool isInFlight);
  Write &write(uint32_t id) { return writes[id - firstWrite]; }
  bool isOld(uint32_t writeId) const { return writeId < firstWrite; }

  /// The set of reads `set` and one by `by`. An asynchronous read that nobody has waited for has an epoch that is
  /// reached with its wait.
  uint32_t addRead(uint32_t set, const Accessor &by);

  /// The thread whose read conflicts with a write by `by` of bytes that were read by `set`; empty: none.
  std::string conflictOfReads(uint32_t set, const Accessor &by) const;

private:
  struct Read {
    Moment moment;
    LaneMask lanes; ///< of sets that are not of a lane
    uint32_t block, line;
    bool isAtomic;
  };
  /// Lanes mostly read bytes of their own by the same instructions: what one of them has read is said once for all.
  struct ReadSet {
    std::vector<Read> reads;
    bool hasOtherBlocks = false;
    bool isOfLane = false; ///< one set for each lane, with reads of that lane alone
  };
  /// Sets have numbers for each lane; those that are not of a lane have the first.
  static constexpr uint32_t lanesOfSet = 32;
  /// From a set of reads and one more to the set of all. Those of a block are known, as no other block reads with them;
  /// there are millions in a launch.
  class Steps {
  public:
    struct Step {
      uint32_t set = 0, line = 0, epoch = 0, actorAndLane = 0, block = 0;
      bool operator==(const Step &) const = default;
    };
    void clear();
    /// The set, 0 for a new step; valid until the next call.
    uint32_t &at(const Step &step);

  private:
    struct Entry {
      Step step;
      uint32_t set = 0;
      uint32_t round = 0; ///< entries of earlier rounds are empty
    };
    Entry &find(const Step &step);
    std::vector<Entry> entries{1024}; ///< a power of two
    size_t count = 0;
    uint32_t round = 1;
  };
  std::vector<Write> writes;
  uint32_t firstWrite = 1;
  std::vector<ReadSet> sets;
  uint32_t firstSet = 1;
  void forgetSteps();
  Steps steps;
  Steps::Step last;     ///< the last one that was asked for, of which `lastSet` comes
  uint32_t lastSet = 0; ///< 0: none
  uint32_t block = 0;   ///< whose steps are known
};

/// True if `by` comes after the moment: the same thread, or a barrier between.
bool isOrdered(const Accessor &by, const Moment &moment, uint32_t block, bool needsProxyFence);

/// The state of each byte of one memory.
class Shadow {
public:
  Shadow(AccessLog &log, uint64_t size) : log(log), bytes(size) {}

  bool isOfKernels = false; ///< a kernel has written some byte

  /// Bytes of this number that nobody has written.
  void reset(uint64_t size) { bytes = ZeroedArray<Byte>(size); }
  /// Sets bytes from outside of a launch.
  void initialize(uint64_t offset, uint64_t size);
  /// Whether all bytes have been written.
  bool isWritten(uint64_t offset, uint64_t size) const;
  /// Bytes that have no value any more.
  void forget(uint64_t offset, uint64_t size);
  /// Notes a read; the first problem, if there is one.
  std::optional<Conflict> read(uint64_t offset, uint64_t size, const Accessor &by);
  /// Notes a write named `id`; the first problem, if there is one.
  std::optional<Conflict> write(uint64_t offset, uint64_t size, const Accessor &by, uint32_t id);

private:
  struct Byte { // zeros for one that nobody has written or read
    uint32_t write, reads;
  };
  std::optional<Conflict> checkWrite(const Byte &byte, uint64_t offset, const Accessor &by, bool isRead) const;
  AccessLog &log;
  ZeroedArray<Byte> bytes;
};

} // namespace rapt::ptx
