//===- Plugins.h - Passes and dialects from shared libraries ---------------*- C++ -*-===//
//
// A plugin is a shared library with MLIR's entry points (mlirGetPassPluginInfo,
// mlirGetDialectPluginInfo) and the mark of the Rapt and the LLVM whose headers it was
// compiled with: C++ classes have no stable layout between versions.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "mlir/IR/DialectRegistry.h"
#include <functional>
#include <string>
#include <vector>

namespace rapt::driver {

/// A dialect plugin is called for each registry.
class Plugins {
public:
  /// Loads the library at `path` and registers its passes with MLIR. Errors name the file.
  Status loadPasses(const std::string &path);
  /// Loads the library at `path`, whose dialects registerDialects() registers. Errors name the file.
  Status loadDialects(const std::string &path);
  /// Loads what --load-pass-plugin and --load-dialect-plugin name and removes them from argv.
  Status loadFromArguments(int &argc, char **argv);

  void registerDialects(mlir::DialectRegistry &registry) const;

private:
  std::vector<std::function<void(mlir::DialectRegistry &)>> dialects;
};

} // namespace rapt::driver
