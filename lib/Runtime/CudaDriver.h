//===- CudaDriver.h - The CUDA driver, opened at run time -----------------------===//
#pragma once
#include "lib/Runtime/CudaApi.h"
#include "lib/Runtime/Message.h"

namespace rapt::runtime::cuda {

/// The driver's functions.
struct Driver {
#define RAPT_CUDA_MEMBER(name, symbol, parameters) Result(*name) parameters = nullptr;
  RAPT_CUDA_FUNCTIONS(RAPT_CUDA_MEMBER)
#undef RAPT_CUDA_MEMBER

  int version = 0; ///< 1000 times the major one, plus 10 times the minor one
  /// The driver's text for a result.
  const char *text(Result result) const;
};

/// The version of the driver API that Rapt needs: 12.0, the first for sm_90a.
inline constexpr int leastDriverVersion = 12000;
/// The first that records overlapping kernels as a graph.
inline constexpr int leastOverlapVersion = 12030;

/// Opens libcuda.so.1 once for the process and initializes it. RAPT_UNSUPPORTED, with a message that says what is
/// missing, where there is no driver, no GPU, or only an older driver.
rapt_status openDriver(const Driver *&driver, const Report &report);

} // namespace rapt::runtime::cuda
