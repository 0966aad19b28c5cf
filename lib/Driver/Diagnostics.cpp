//===- Diagnostics.cpp - Diagnostics of the passes as the user reads them -------------------===//
#include "lib/Driver/Diagnostics.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "lib/Support/Progress.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::driver;

static constexpr size_t mostMessage = 4000, mostLine = 160;

std::string driver::shown(Location location) {
  if (auto file = location->findInstanceOf<FileLineColLoc>())
    return file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn()) +
           ": ";
  if (auto name = location->findInstanceOf<NameLoc>())
    return name.getName().str() + ": ";
  return "";
}

static std::string line(const std::string &program, const char *kind, const std::string &message) {
  return program + ": " + kind + ": " + json::printable(message, mostMessage) + "\n";
}

void driver::printDiagnostic(const char *kind, const std::string &message) {
  if (!message.empty())
    writeToStderr(line("raptc", kind, message));
}

/// "ActivationKind" as "activation kind".
static std::string wordsOf(StringRef type) {
  std::string words;
  for (char c : type) {
    if (llvm::isUpper(c) && !words.empty())
      words += ' ';
    words += llvm::toLower(c);
  }
  return words;
}

std::string driver::inPlainWords(const std::string &message) {
  std::string text = message.substr(0, std::min(message.find(". If this is intended"), 4 * mostMessage));
  // "failed to parse Attn_SourceAttr parameter 'name' which is to be a `::mlir::StringAttr`"
  static const llvm::Regex parameter("^(.*)failed to parse [A-Za-z]+_([A-Za-z]+)(Attr|Type) (parameter '.*') which is "
                                     "to be a `.*`(.*)$"),
      qualified("^(.*[^:A-Za-z0-9_])?(::)?(mlir|llvm|rapt|std)::([A-Za-z0-9_]+::)*([A-Za-z0-9_]+)(.*)$");
  SmallVector<StringRef, 7> part;
  if (parameter.match(text, &part)) {
    const bool isType = part[3] == "Type";
    text = part[1].str() + "cannot read " + part[4].str() + " of the " + (isType ? "type '" : "attribute '") +
           wordsOf(part[2]) + "'" + part[5].str();
  }
  if (text == "integer constant out of range for attribute") // A16
    text = "the integer does not fit its type; an index has 64 bits with the sign, so at most 2^63 - 1 (A16)";
  while (qualified.match(text, &part))
    text = part[1].str() + "the " + wordsOf(part[5]) + part[6].str();
  return text;
}

//===----------------------------------------------------------------------===//
// Places in the input
//===----------------------------------------------------------------------===//

/// The line and a caret below column `column`, from 1 on, a long line cut around it. Empty where there is none.
static std::string excerpt(StringRef text, unsigned lineNumber, unsigned column) {
  for (unsigned number = 1; number < lineNumber; ++number) {
    const size_t end = text.find('\n');
    if (end == StringRef::npos)
      return {};
    text = text.drop_front(end + 1);
  }
  text = text.take_until([](char c) { return c == '\n' || c == '\r'; });
  if (column < 1 || column > text.size() + 1)
    return {};
  size_t first = column > mostLine ? column - mostLine / 2 : 0;
  auto isContinuation = [&](size_t at) { return at < text.size() && (text[at] & 0xC0) == 0x80; };
  while (first > 0 && isContinuation(first))
    --first;
  size_t last = std::min(text.size(), first + mostLine);
  while (last > first && isContinuation(last))
    --last;
  auto inSpaces = [](StringRef part) {
    std::string spaced = part.str();
    llvm::replace(spaced, '\t', ' ');
    return json::printable(spaced, 4 * mostLine);
  };
  const std::string before = inSpaces(text.slice(first, column - 1));
  const size_t columns = llvm::count_if(before, [](char c) { return (c & 0xC0) != 0x80; });
  return before + inSpaces(text.slice(column - 1, last)) + "\n" + std::string(columns, ' ') + "^\n";
}

std::string Diagnostics::format(const char *kind, Location location, const std::string &message) const {
  auto place = location->findInstanceOf<FileLineColLoc>();
  if (!place)
    return line(program, kind, shown(location) + message);
  const bool isInput = source && place.getFilename() == source->location;
  const std::string position = ":" + std::to_string(place.getLine()) + ":" + std::to_string(place.getColumn()) + ": ";
  return shownPath(isInput ? source->path : place.getFilename().str()) + position + kind + ": " +
         json::printable(message, mostMessage) + "\n" +
         (isInput ? excerpt(source->text, place.getLine(), place.getColumn()) : "");
}

//===----------------------------------------------------------------------===//
// The handler
//===----------------------------------------------------------------------===//

void Diagnostics::write(const char *kind, Location location, const std::string &message) {
  const std::string text = format(kind, location, message);
  if (holds)
    held += text;
  else
    writeToStderr(text);
}

void Diagnostics::release() {
  writeToStderr(held);
  held.clear();
}

/// The name of the op that an error of Operation::emitError is about: its note has the op in generic form.
static std::string nameOfOp(Diagnostic &diagnostic) {
  for (Diagnostic &note : diagnostic.getNotes()) {
    const std::string text = note.str();
    StringRef rest = text;
    if (!rest.consume_front("see current operation: "))
      continue;
    const StringRef name = rest.split('"').second.split('"').first;
    return name == "builtin.module" ? "" : name.str();
  }
  return {};
}

void Diagnostics::handle(Diagnostic &diagnostic, bool verbose) {
  const DiagnosticSeverity severity = diagnostic.getSeverity();
  errors += severity == DiagnosticSeverity::Error;
  if (severity == DiagnosticSeverity::Note && !verbose)
    return;
  // The parsers that TableGen writes say so after what went wrong inside.
  if (errors > 1 && StringRef(diagnostic.str()).contains("failed to parse Attn_"))
    return;
  std::string message = inPlainWords(diagnostic.str());
  if (const std::string op = nameOfOp(diagnostic); !op.empty() && message.find("'" + op + "'") == std::string::npos)
    message = "'" + op + (StringRef(message).starts_with("op ") ? "' " : "' op: ") + message;
  write(severity == DiagnosticSeverity::Error     ? "error"
        : severity == DiagnosticSeverity::Warning ? "warning"
        : severity == DiagnosticSeverity::Remark  ? "remark"
                                                  : "note",
        diagnostic.getLocation(), message);
  if (verbose)
    for (Diagnostic &note : diagnostic.getNotes())
      write("note", note.getLocation(), inPlainWords(note.str()));
}

Diagnostics::Diagnostics(MLIRContext &context, bool verbose, std::string program)
    : program(std::move(program)),
      handler(&context, [this, verbose](Diagnostic &diagnostic) { handle(diagnostic, verbose); }) {}
