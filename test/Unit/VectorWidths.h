// Kernels for wide vectors, each of those that this CPU has.
#pragma once
#include "lib/Support/WideVectors.h"
#include <gtest/gtest.h>
#include <string>

namespace rapt::test {

/// Calls `body` once for each width of vectors, the least first.
template <typename Body> void forEachVectorWidth(Body body) {
  for (int bytes : {16, 32, 64}) {
    limitVectorBytes(bytes);
    if (vectorBytes() != bytes)
      continue;
    SCOPED_TRACE(std::to_string(bytes) + " bytes");
    body();
  }
  limitVectorBytes(64);
}

} // namespace rapt::test
