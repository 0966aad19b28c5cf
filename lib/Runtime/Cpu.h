//===- Cpu.h - Features of the processor ---------------------------------------===//
//
// An artifact lists the features that each variant of its code uses, under LLVM's
// names. All of them are checked before any of its code runs, so that a wrong
// machine gets a message and never an illegal instruction.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Runtime/Manifest.h"

namespace rapt::runtime {

class Device;

/// "x86_64", "aarch64": as manifests name what this library was built for.
const char *hostArch();

enum class FeatureState { Present, Missing, Unknown };

/// Whether processor and operating system (XCR0) provide an LLVM feature name. Does not ask for AMX permission.
FeatureState feature(const char *name);

/// Sets `chosen` to the variant called `wanted`, or without one to the first all of whose features can be used here
/// and, with a device, whose code for GPUs runs on it. The kernel is asked for AMX tile state where the variant lists
/// it. Else RAPT_CPU, RAPT_UNSUPPORTED where it is the GPU, or RAPT_INVALID for a name that no variant has; the message
/// tells what each lacks, and the way out. `chosen` stays as it is then.
rapt_status chooseVariant(const Manifest &manifest, const char *file, const char *wanted, const Device *device,
                          int &chosen, const Report &report);

/// Floating-point control as C starts with it (round to nearest, subnormals kept, no traps), the caller's again at the
/// end: generated code is exact only so, and the caller's setting is its own.
class DefaultFloatingPoint {
public:
  DefaultFloatingPoint();
  ~DefaultFloatingPoint();
  DefaultFloatingPoint(const DefaultFloatingPoint &) = delete;
  DefaultFloatingPoint &operator=(const DefaultFloatingPoint &) = delete;

private:
  uint64_t saved;
};

} // namespace rapt::runtime
