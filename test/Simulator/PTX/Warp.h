//===- Warp.h - Registers and position of 32 threads -------------------------===//
#pragma once
#include "test/Simulator/PTX/Clock.h"
#include "test/Simulator/PTX/Module.h"
#include <deque>
#include <functional>
#include <memory>

namespace rapt::ptx {

/// A copy that a thread has begun and whose end nobody has seen.
struct PendingCopy {
  std::function<void()> move;   ///< copies the bytes; empty if they were copied at once
  std::vector<uint32_t> writes; ///< in the log, in flight until the copy is waited for
  LaneMask lanes = 0;           ///< that issued it
};

/// Asynchronous copies of a warp's threads in the groups of cp.async, or of cp.async.bulk.
struct CopyGroups {
  std::vector<PendingCopy> open;
  std::deque<std::vector<PendingCopy>> committed;
  uint32_t begun = 1; ///< number of the group that is open; counts from 1
};

/// A wgmma of which nobody has seen the end.
struct PendingMatmul {
  std::function<void()> compute;   ///< empty if it was computed at once
  std::vector<uint32_t> registers; ///< that it reads or writes
};

struct MatmulGroups {
  std::vector<PendingMatmul> open;
  std::deque<std::vector<PendingMatmul>> committed;
  uint32_t begun = 1;  ///< number of the group that is open
  uint32_t issued = 0; ///< instructions so far
};

struct Warp {
  Warp(const Kernel &kernel, unsigned index, LaneMask lanes);

  unsigned index;
  LaneMask live;              ///< lanes that have not exited
  bool isAfterOthers = false; ///< has waited for kernels before
  bool isConverged = true;    ///< all live lanes are at `next`
  uint32_t next = 0;
  Lanes<uint32_t> nextOfLane{}; ///< where lanes have diverged

  std::vector<std::byte> registers;
  std::vector<LaneMask> valid;         ///< by register: lanes that have a value
  std::vector<uint32_t> inFlight;      ///< by register: wgmma group that still uses it (its number), or 0
  std::vector<bool> isRead;            ///< by register: the use is a read
  std::vector<bool> touchedSinceFence; ///< by register, in kernels with wgmma: no wgmma.fence since

  Knowledge knowledge;
  Lanes<std::unique_ptr<Knowledge>> laneKnowledge; ///< of lanes that acquired alone
  uint32_t epoch = 1, syncedEpoch = 1;

  CopyGroups copies, bulkCopies;
  MatmulGroups matmuls;
  uint32_t waitingBarrier = noIndex; ///< named barrier at which it has arrived and waits
  uint64_t waitingGeneration = 0;
  uint64_t instructionsExecuted = 0;

  template <typename T> T *lanes(const Register &reg) { return reinterpret_cast<T *>(registers.data() + reg.offset); }
  LaneMask &predicate(const Register &reg) { return *reinterpret_cast<LaneMask *>(registers.data() + reg.offset); }

  /// The lanes that are at the instruction `position`.
  LaneMask lanesAt(uint32_t position) const;
  /// Moves lanes to an instruction.
  void go(LaneMask lanes, uint32_t position);
  void exit(LaneMask lanes);

  /// The knowledge that `lanes` give to a thread that acquires from them; later accesses are not part of it.
  Knowledge release(LaneMask lanes);
  void acquire(LaneMask lanes, const Knowledge &from);
  /// Orders everything that the lanes of a whole warp did before what they do next.
  void synchronize(LaneMask lanes);
};

} // namespace rapt::ptx
