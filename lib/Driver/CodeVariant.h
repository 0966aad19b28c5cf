//===- CodeVariant.h - A machine that a library has code for -------------------------*- C++ -*-===//
#pragma once
#include "lib/Host/Machine.h"
#include "lib/TargetInfo/TargetInfo.h"

namespace rapt::driver {

/// A library has code for one machine or more: for several CPUs, or for several GPUs.
struct CodeVariant {
  host::Machine machine;
  std::string architecture; ///< of the GPU that its kernels are for; empty for code of CPUs
  std::string name;         ///< the CPU's, or the architecture where those differ
  TargetInfo capabilities;  ///< what the target's passes may use of it
};

} // namespace rapt::driver
