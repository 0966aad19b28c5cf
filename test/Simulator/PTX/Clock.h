//===- Clock.h - Vector clocks of warps and asynchronous operations ---------===//
//
// Vector clocks (Fidge and Mattern, 1988), as FastTrack (Flanagan and Freund, 2009) uses
// them to find races: an access is ordered before a thread's next one if the thread's
// clock has reached its epoch. Actors are warps, and what runs beside them: groups of
// asynchronous operations and mbarriers.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "test/Simulator/PTX/Types.h"
#include <vector>

namespace rapt::ptx {

/// Numbers of the actors of a thread block.
namespace actors {
inline constexpr uint16_t mostWarps = 32;
constexpr uint16_t warp(unsigned index) { return uint16_t(index); }
constexpr uint16_t matmulGroups(unsigned warp) { return uint16_t(mostWarps + warp); }
constexpr uint16_t bulkGroups(unsigned warp) { return uint16_t(2 * mostWarps + warp); }
constexpr uint16_t barrier(unsigned index) { return uint16_t(3 * mostWarps + index); }
} // namespace actors

/// Lanes that every access of an instruction stands for: one of the whole warp or of no thread.
inline constexpr uint8_t wholeWarp = 0xff;

/// When and by whom memory was accessed.
struct Moment {
  uint16_t actor = 0;
  uint8_t lane = wholeWarp;
  uint32_t epoch = 0;
};

class Clock {
public:
  uint32_t epoch(uint16_t actor) const { return actor < epochs.size() ? epochs[actor] : 0; }
  /// Knows all of an actor up to `epoch`.
  void advance(uint16_t actor, uint32_t epoch);
  /// Knows what some lanes of a warp did up to `epoch`.
  void advance(uint16_t actor, uint32_t epoch, LaneMask lanes);
  void join(const Clock &other);
  bool knows(const Moment &moment) const;

private:
  struct Part {
    uint16_t actor;
    uint32_t epoch;
    LaneMask lanes;
  };
  std::vector<uint32_t> epochs;
  std::vector<Part> parts; ///< of warps whose lanes were released alone
};

/// Two clocks: what a thread knows to have happened, and the part of it that asynchronous operations see too because
/// a fence.proxy.async stands between.
struct Knowledge {
  Clock generic, proxied;

  void join(const Knowledge &other) {
    generic.join(other.generic);
    proxied.join(other.proxied);
  }
};

} // namespace rapt::ptx
