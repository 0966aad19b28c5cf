//===- CodeVariant.h - A machine that a library has code for -------------------------*- C++ -*-===//
#pragma once
#include "lib/Host/Machine.h"
#include "lib/TargetInfo/TargetInfo.h"

namespace rapt::driver {

/// A library has code for one machine or more.
struct CodeVariant {
  host::Machine machine;
  TargetInfo capabilities; ///< what the target's passes may use of it
};

} // namespace rapt::driver
