//===- Diagnostics.cpp - One line for every message -----------------------------------------===//
#include "lib/Driver/Diagnostics.h"
#include "lib/Support/Json.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::driver;

std::string driver::shown(Location location) {
  if (auto file = location->findInstanceOf<FileLineColLoc>())
    return file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn()) +
           ": ";
  if (auto name = location->findInstanceOf<NameLoc>())
    return name.getName().str() + ": ";
  return "";
}

/// MLIR's parser advises an option that raptc does not have.
static std::string withoutAdvice(const std::string &message) {
  return message.substr(0, message.find(". If this is intended"));
}

void driver::tell(const char *kind, const std::string &message) {
  if (!message.empty())
    llvm::errs() << "raptc: " << kind << ": " << json::printable(message, 4000) << "\n";
}

void Diagnostics::write(const char *kind, const std::string &message) {
  if (holds)
    held.emplace_back(kind, message);
  else
    tell(kind, message);
}

void Diagnostics::release() {
  for (const auto &[kind, message] : held)
    tell(kind, message);
  held.clear();
}

Diagnostics::Diagnostics(MLIRContext &context, bool verbose)
    : handler(&context, [this, verbose](Diagnostic &diagnostic) {
        bool error = diagnostic.getSeverity() == DiagnosticSeverity::Error;
        errors += error;
        if (diagnostic.getSeverity() == DiagnosticSeverity::Note && !verbose)
          return;
        write(error                                                     ? "error"
              : diagnostic.getSeverity() == DiagnosticSeverity::Warning ? "warning"
                                                                        : "note",
              shown(diagnostic.getLocation()) + withoutAdvice(diagnostic.str()));
        if (verbose)
          for (Diagnostic &note : diagnostic.getNotes())
            write("note", shown(note.getLocation()) + note.str());
      }) {}
