//===- Report.h - What raptc says at its end -----------------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Artifact/Manifest.h"
#include "lib/Driver/Output.h"

namespace rapt::driver {

struct Costs {
  double compileSeconds = 0, packSeconds = 0;
};

/// Five lines: model, target, files with costs, bounds, and a command to try.
std::string report(const artifact::Manifest &manifest, const OutputPaths &paths, Emit emit, const Costs &costs);

/// What --dry-run predicts instead: sizes, and memory of one full sequence.
std::string prediction(const artifact::Manifest &manifest, uint64_t fileBytes);

} // namespace rapt::driver
