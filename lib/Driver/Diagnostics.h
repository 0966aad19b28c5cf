//===- Diagnostics.h - Diagnostics of the passes as the user reads them ---------------*- C++ -*-===//
#pragma once
#include "mlir/IR/Diagnostics.h"
#include <memory>
#include <string>
#include <vector>

namespace rapt::driver {

/// Writes "raptc: KIND: message" to stderr; characters that a terminal would interpret are escaped. Nothing for an
/// empty message: it has been reported already.
void printDiagnostic(const char *kind, const std::string &message);

/// A file's line and column, or the name of the tensor or layer, and ": "; nothing of an unknown place.
std::string shown(mlir::Location location);

/// A diagnostic's text in the words of the IR: C++ types of the parsers that TableGen writes become plain words, and
/// advice about options that raptc does not have is left out.
std::string inPlainWords(const std::string &message);

/// The text of an input, to show lines of.
struct Source {
  std::string location; ///< the file's name in locations
  std::string path;     ///< as the user gave it
  std::string text;
};

/// While it lives, the context's diagnostics appear as rapt-opt's do: "PATH:LINE:COLUMN: error: message" with the line
/// and a caret below where the place is known, else "PROGRAM: error: message". Errors name their op. Notes appear when
/// `verbose`.
class Diagnostics {
public:
  Diagnostics(mlir::MLIRContext &context, bool verbose, std::string program = "raptc");
  bool sawErrors() const { return errors > 0; }
  /// Shows lines of this text from now on.
  void setSource(std::shared_ptr<const Source> text) { source = std::move(text); }
  /// From now on the lines wait for release().
  void hold() { holds = true; }
  /// Writes the lines that wait.
  void release();

private:
  void handle(mlir::Diagnostic &diagnostic, bool verbose);
  void write(const char *kind, mlir::Location location, const std::string &message);
  std::string format(const char *kind, mlir::Location location, const std::string &message) const;

  const std::string program;
  unsigned errors = 0;
  bool holds = false;
  std::string held;
  std::shared_ptr<const Source> source;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace rapt::driver
