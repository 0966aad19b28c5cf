//===- ChatCommands.h - /help and the other commands of a conversation ----------------===//
#pragma once
#include "lib/Generation/CommandLine/Conversation/Conversation.h"

namespace rapt::run {

class ChatCommands {
public:
  using Print = std::function<void(const std::string &)>;

  /// `print` takes lines for the user, without newlines at their ends. `options` are those of the command line.
  ChatCommands(const Options &options, Conversation &conversation, Print print)
      : options(options), conversation(conversation), print(std::move(print)) {}

  /// Whether a line is a command and no message: its first word is a slash with letters alone behind it.
  static bool isCommand(std::string_view line);
  /// Runs the command of such a line.
  Outcome run(std::string_view line);
  /// Whether /exit was given.
  bool isOver() const { return over; }
  /// Prints what the last answer took.
  void printStatistics() const;

private:
  struct Command;
  static std::span<const Command> table();

  Outcome help(const std::string &);
  Outcome changeSystem(const std::string &content);
  Outcome set(const std::string &setting);
  Outcome retry(const std::string &);
  Outcome undo(const std::string &);
  Outcome clear(const std::string &);
  Outcome save(const std::string &path);
  Outcome load(const std::string &path);
  Outcome statistics(const std::string &);
  Outcome leave(const std::string &);
  void printCache() const;

  const Options &options;
  Conversation &conversation;
  Print print;
  bool over = false;
};

} // namespace rapt::run
