//===- History.h - Lines typed in earlier conversations ---------------------------===//
#pragma once
#include <string>
#include <vector>

namespace rapt::run {

/// Lines and messages in a file that only its user can read, as a JSON string a line, the oldest first. No fault of
/// the file stops a conversation: there is less history then.
class History {
public:
  /// $XDG_STATE_HOME/rapt/chat-history, by default in ~/.local/state; no file where neither says a folder.
  History();
  explicit History(std::string path) : path(std::move(path)) {}

  /// The last entries. Shortens a file that has grown to several times as many.
  std::vector<std::string> load() const;
  /// Appends an entry at once, so that several conversations share the file.
  void add(const std::string &entry) const;

private:
  std::string path;
};

} // namespace rapt::run
