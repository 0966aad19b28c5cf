//===- Report.h - The lines that raptc prints at its end -----------------------------------*- C++ -*-===//
#pragma once
#include "lib/Artifact/Manifest.h"
#include "lib/Artifact/WeightPacker.h"
#include "lib/Driver/Output.h"
#include "lib/Support/Example.h"

namespace rapt::driver {

struct Costs {
  double compileSeconds = 0, packSeconds = 0;
};

/// Five lines: model, target, files with costs, bounds, and a command that works as it is printed, or why there is
/// none. `texts`: how texts can be given.
std::string report(const artifact::Manifest &manifest, const OutputPaths &paths, Emit emit, const Costs &costs,
                   const Options &options, const ExampleTexts &texts);

/// The lines about kernels without a model.
std::string kernelReport(const artifact::Manifest &manifest, const OutputPaths &paths, Emit emit, const Costs &costs,
                         const Options &options);

/// One line about what rounding to integers changed, relative L2 over all matrices and of the worst; before it, with
/// `everyMatrix`, a line of each. Empty where nothing was quantized.
std::string quantizationReport(const std::vector<artifact::Parameter> &parameters,
                               const std::vector<artifact::MatrixError> &errors, bool everyMatrix);

/// The lines of --dry-run: predicted sizes, and memory of one full sequence.
std::string prediction(const artifact::Manifest &manifest, uint64_t fileBytes, bool verbose);

} // namespace rapt::driver
