//===- LineEditor.h - Lines and pastes from a terminal --------------------------------===//
//
// libedit draws and edits the line; what is read for it, and which signals come
// meanwhile, is decided here. The terminal is as it was whenever no line is being read.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <memory>
#include <string>

namespace rapt::run {

class LineEditor {
public:
  /// How reading a line ended.
  enum class End {
    Line,
    Interrupted, ///< by Ctrl-C: the line is dropped
    Closed       ///< by Ctrl-D in an empty line, or as the terminal is gone
  };

  /// The standard input is a terminal. Error: neither the standard output nor the standard error is one.
  static Expected<std::unique_ptr<LineEditor>> open();
  ~LineEditor();
  LineEditor(const LineEditor &) = delete;
  LineEditor &operator=(const LineEditor &) = delete;

  /// Reads a line in UTF-8, which has newlines inside where text was pasted. `wasEmpty`: nothing was typed.
  End read(const std::string &prompt, std::string &line, bool &wasEmpty);
  /// Adds to what the arrow keys bring back.
  void remember(const std::string &line);

private:
  struct Terminal;
  explicit LineEditor(std::unique_ptr<Terminal> terminal);
  std::unique_ptr<Terminal> terminal;
};

} // namespace rapt::run
