//===- Threads.h - A few threads over an index range ---------------------------===//
#pragma once
#include <functional>

namespace rapt::artifact {

/// Number of threads for `wanted` (0: one per processor of this process, at most 8, where copying stops gaining).
unsigned threadCount(unsigned wanted);

/// Runs body(thread) for each thread below `threads`, one of them on the caller's; returns when all are done. Where the
/// system refuses a thread, fewer run: bodies take their work from a shared counter.
void runOnThreads(unsigned threads, const std::function<void(unsigned)> &body);

} // namespace rapt::artifact
