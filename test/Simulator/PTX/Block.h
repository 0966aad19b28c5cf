//===- Block.h - A running thread block --------------------------------------===//
#pragma once
#include "test/Simulator/PTX/GlobalMemory.h"
#include "test/Simulator/PTX/Warp.h"
#include <random>

namespace rapt::ptx {

/// When asynchronous operations move their data: as early or as late as they may. Results that differ tell of a
/// missing wait.
enum class AsyncMode : uint8_t { Eager, Lazy };

struct LaunchOptions {
  std::array<uint32_t, 3> grid = {1, 1, 1}, threads = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  std::vector<std::byte> parameters;
  AsyncMode copies = AsyncMode::Eager;  ///< cp.async, cp.async.bulk
  AsyncMode matmuls = AsyncMode::Eager; ///< wgmma
  bool overlaps = false;                ///< kernels before may run until griddepcontrol.wait
  uint64_t seed = 0;                    ///< not 0: warps and blocks take turns at random
  uint64_t mostInstructions = uint64_t(1) << 33;
};

/// A barrier of bar.sync.
struct NamedBarrier {
  unsigned arrived = 0, expected = 0; ///< threads
  uint64_t generation = 0;
  Knowledge collected, complete;
};

/// A barrier in shared memory.
struct Mbarrier {
  uint16_t actor = 0;
  uint32_t expected = 0, pending = 0;
  int64_t pendingBytes = 0;
  uint64_t phase = 0;
  Knowledge collected, complete;
};

/// A copy into shared memory that has not moved its bytes yet.
struct PendingBulkCopy {
  std::function<void()> move;
  std::function<void()> end; ///< tells the barrier
};

/// The state that the thread blocks of a launch share.
struct Launch {
  const Kernel &kernel;
  const LaunchOptions &options;
  const std::vector<uint64_t> &variableAddresses; ///< of the module's global and constant variables
  GlobalMemory &global;
  AccessLog &log;
  Findings &findings;
  std::mt19937_64 random;
  uint64_t instructions = 0;
  std::map<uint64_t, std::vector<bool>> released; ///< by address: blocks whose writes an atomic there makes known
};

struct Block {
  Block(Launch &launch, uint32_t number);

  Launch &launch;
  uint32_t number; ///< in the order x, y, z
  std::array<uint32_t, 3> index;
  std::vector<std::byte> shared; ///< from address 0 on
  Shadow sharedShadow;
  ZeroedArray<std::byte> local; ///< by thread
  Shadow localShadow;
  std::vector<Warp> warps;
  std::array<NamedBarrier, 16> barriers;
  std::map<uint64_t, Mbarrier> mbarriers; ///< by shared address
  unsigned mbarrierActors = 0;
  std::vector<std::vector<uint32_t>> matmulLines; ///< by warpgroup: lines of its wgmma, in order
  std::deque<PendingBulkCopy> bulkCopies;         ///< that a barrier will be told of, in order
  std::vector<bool> knownBlocks;                  ///< whose writes were acquired
  std::vector<bool> pendingBlocks;                ///< read by an atomic without acquire; a fence makes them known
  bool hasFenced = false;                         ///< by a fence of the device: a later atomic releases

  /// Runs all warps to their end. False: it stopped with a finding.
  bool run();

private:
  bool runWarp(Warp &warp, uint64_t most);
  Outcome step(Warp &warp, uint32_t position, LaneMask lanes);
  bool finishOneCopy();
  void reportDeadlock();
};

/// An instruction that some lanes of a warp execute.
struct Execution {
  Block &block;
  Warp &warp;
  const Instruction &instruction;
  LaneMask lanes;
  bool takesUndefined = false; ///< operands may have no value
  LaneMask undefined = 0;      ///< lanes in which one had none

  const Operand &operand(size_t index) const { return instruction.operands[index]; }
  const Register &registerOf(const Operand &operand) const { return block.launch.kernel.registers[operand.index]; }
  /// Adds a finding of this instruction. `lane` is one of its threads, or wholeWarp.
  void report(FindingKind kind, unsigned lane, const std::string &text) const;
};

} // namespace rapt::ptx
