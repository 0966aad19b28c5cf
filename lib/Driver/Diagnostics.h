//===- Diagnostics.h - One line for every message -------------------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/Diagnostics.h"
#include <string>
#include <utility>
#include <vector>

namespace rapt::driver {

/// Writes "raptc: KIND: message" to stderr; characters that a terminal would interpret are escaped. Nothing for an
/// empty message: it has been told already.
void tell(const char *kind, const std::string &message);

/// A file's line and column, or the name of the tensor or layer, and ": "; nothing of an unknown place.
std::string shown(mlir::Location location);

/// While it lives, the context's diagnostics are such lines, with their location. Notes appear when `verbose`.
class Diagnostics {
public:
  Diagnostics(mlir::MLIRContext &context, bool verbose);
  bool sawErrors() const { return errors > 0; }
  /// From now on the lines wait for release().
  void hold() { holds = true; }
  /// Writes the lines that wait.
  void release();

private:
  void write(const char *kind, const std::string &message);

  unsigned errors = 0;
  bool holds = false;
  std::vector<std::pair<const char *, std::string>> held;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace rapt::driver
