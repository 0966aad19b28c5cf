#include "lib/Generation/CommandLine/Conversation/ChatCommands.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Conversation/Messages.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "lib/Support/Spelling.h"
#include <algorithm>
#include <cstdio>

namespace rapt::run {

struct ChatCommands::Command {
  std::string_view name, argument, help;
  Outcome (ChatCommands::*run)(const std::string &argument);
  bool needsArgument = false;
};

std::span<const ChatCommands::Command> ChatCommands::table() {
  using C = ChatCommands;
  static constexpr Command commands[] = {
      {"help", "", "list the commands", &C::help},
      {"system", "[TEXT]", "set the system message; without a text, remove it", &C::changeSystem},
      {"set", "[NAME VALUE]", "set an option for later answers, as --NAME does; VALUE may be default", &C::set},
      {"retry", "", "answer the last message again", &C::retry},
      {"undo", "", "remove the last message and its answer", &C::undo},
      {"clear", "", "remove all messages but the system's", &C::clear},
      {"save", "FILE", "write the conversation as JSON", &C::save, true},
      {"load", "FILE", "continue a saved conversation", &C::load, true},
      {"stats", "", "print tokens, times and memory", &C::statistics},
      {"exit", "", "leave, like Ctrl-D", &C::leave},
  };
  return commands;
}

static bool isLetter(char c) { return c >= 'a' && c <= 'z'; }

bool ChatCommands::isCommand(std::string_view line) {
  if (!line.starts_with('/') || line.find('\n') != line.npos)
    return false;
  const std::string_view word = line.substr(1, line.find(' ') - 1);
  return !word.empty() && std::ranges::all_of(word, isLetter);
}

Outcome ChatCommands::run(std::string_view line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view name = line.substr(1, end - 1);
  const size_t begin = std::min(line.find_first_not_of(' ', end), line.size());
  const std::string argument(line.substr(begin, line.find_last_not_of(' ') + 1 - begin));
  const auto found = std::ranges::find(table(), name, &Command::name);
  if (found == table().end()) {
    std::vector<std::string_view> names;
    for (const Command &one : table())
      names.push_back(one.name);
    const std::string_view nearest = findNearest(name, names);
    return {RAPT_INVALID, "there is no command /" + std::string(name) +
                              (nearest.empty() ? ";" : "; did you mean /" + std::string(nearest) + "?") +
                              " /help lists them; a message may begin with a blank"};
  }
  if (found->argument.empty() != argument.empty() && (found->argument.empty() || found->needsArgument))
    return {RAPT_INVALID, "/" + std::string(name) +
                              (argument.empty() ? " needs " + std::string(found->argument) : " takes no argument")};
  return (this->*found->run)(argument);
}

Outcome ChatCommands::help(const std::string &) {
  for (const Command &one : table()) {
    char line[128];
    snprintf(line, sizeof line, "  /%-22s %s",
             (std::string(one.name) + (one.argument.empty() ? "" : " ") + std::string(one.argument)).c_str(),
             std::string(one.help).c_str());
    print(line);
  }
  print("  \"\"\"                     begins and ends a message of several lines; a paste is one message as it is");
  print("  Ctrl-C                  stops the answer");
  return {};
}

void ChatCommands::printCache() const {
  print(grouped(uint64_t(conversation.tokensInCache())) + " of " + counted(uint64_t(conversation.capacity()), "token") +
        " are in the cache");
}

Outcome ChatCommands::changeSystem(const std::string &content) {
  return conversation.setSystem(content.empty() ? std::nullopt : std::optional(content));
}

Outcome ChatCommands::set(const std::string &setting) {
  if (!setting.empty()) {
    const size_t end = std::min(setting.find(' '), setting.size());
    const std::string value = setting.substr(std::min(setting.find_first_not_of(' ', end), setting.size()));
    const Status status = conversation.set(setting.substr(0, end), value);
    if (!status)
      return {RAPT_INVALID, status.error().message};
  }
  print(conversation.settings());
  return {};
}

Outcome ChatCommands::retry(const std::string &) { return conversation.retry(); }

Outcome ChatCommands::undo(const std::string &) {
  RAPT_RETURN_IF_ERROR(conversation.undo());
  printCache();
  return {};
}

Outcome ChatCommands::clear(const std::string &) { return conversation.clear(); }

Outcome ChatCommands::save(const std::string &path) {
  Status status = checkOutput(options, conversation.getModel(), path, "/save");
  if (status)
    status = writeMessages(path, conversation.messages());
  if (!status)
    return {RAPT_INVALID, status.error().message};
  const size_t count = conversation.messages().size();
  print(counted(count, "message") + (count == 1 ? " is in " : " are in ") + shownPath(path));
  return {};
}

Outcome ChatCommands::load(const std::string &path) {
  Expected<std::vector<Message>> messages = readMessages(path);
  if (!messages)
    return {RAPT_INVALID, messages.error().message};
  const size_t count = messages->size();
  Outcome outcome = conversation.setMessages(std::move(*messages));
  if (outcome)
    print(counted(count, "message") + " of " + shownPath(path) + (count == 1 ? " replaces" : " replace") +
          " the conversation");
  else
    outcome.message = shownPath(path) + ": " + outcome.message;
  return outcome;
}

void ChatCommands::printStatistics() const {
  const AnswerStatistics &last = conversation.lastAnswer();
  const double decode = last.total - last.firstToken;
  char line[256];
  snprintf(line, sizeof line,
           "%s before the answer, %s of them in the cache; first token after %.3f s; %s, %.2f tokens/s",
           counted(last.prompt, "token").c_str(), grouped(last.cached).c_str(), last.firstToken,
           counted(last.made, "new token").c_str(), decode > 0 && last.made > 1 ? double(last.made - 1) / decode : 0.0);
  print(line);
}

Outcome ChatCommands::statistics(const std::string &) {
  if (conversation.lastAnswer().prompt)
    printStatistics();
  printCache();
  print("memory: peak " + inUnits(peakMemory()) + " resident");
  return {};
}

Outcome ChatCommands::leave(const std::string &) {
  over = true;
  return {};
}

} // namespace rapt::run
