//===- Kernel.h - Bare kernels ------------------------------------------------------------*- C++ -*-===//
//
// Entries without a model become code and a header, with functions that C calls by
// their names: no weights, no manifest, no runtime.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/Manifest.h"
#include "lib/Driver/Output.h"

namespace rapt::driver {

/// Fails when an entry, dim or buffer is no C identifier: names come from the input and go into a header that people
/// compile.
Status checkKernelNames(const artifact::Manifest &manifest);

/// The symbols that a kernel's object defines: NAME and NAME_scratch for each entry.
std::vector<std::string> kernelExports(const artifact::Manifest &manifest);

/// Writes the header and the code, which is an object, an archive or a shared library, as `emit` says; both or none.
Status writeKernelFiles(const artifact::Manifest &manifest, const OutputPaths &paths, Emit emit,
                        const std::string &code);

} // namespace rapt::driver
