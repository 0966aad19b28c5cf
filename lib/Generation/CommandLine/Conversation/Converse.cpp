// --chat on a terminal: reads messages and commands, and shows answers.
#include "lib/Generation/CommandLine/BeamRows.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Conversation/ChatCommands.h"
#include "lib/Generation/CommandLine/Conversation/History.h"
#include "lib/Generation/CommandLine/Conversation/LineEditor.h"
#include "lib/Support/File.h"
#include <csignal>

namespace rapt::run {
namespace {

constexpr std::string_view quotes = R"(""")";

/// A command or a message, as the user typed it.
struct Input {
  std::string content;
  bool isCommand = false;
  bool isBlank() const { return content.find_first_not_of(" \t\n") == content.npos; }
};

class Chat {
public:
  Chat(const Options &options, Conversation &conversation, LineEditor &editor)
      : options(options), conversation(conversation), editor(editor), commands(options, conversation, note) {
    for (const std::string &entry : history.load())
      editor.remember(entry);
  }
  /// The exit status.
  int run();

private:
  LineEditor::End read(Input &input);
  LineEditor::End readQuoted(Input &input);
  Outcome take(const Input &input);
  void printEnd() const;

  const Options &options;
  Conversation &conversation;
  LineEditor &editor;
  ChatCommands commands;
  History history;
};

/// Goes on to the line that ends with quotes.
LineEditor::End Chat::readQuoted(Input &input) {
  input.content.erase(0, quotes.size());
  while (!input.content.ends_with(quotes)) {
    std::string line;
    bool wasEmpty = false;
    if (const LineEditor::End end = editor.read("... ", line, wasEmpty); end != LineEditor::End::Line)
      return end;
    input.content += (input.content.empty() ? "" : "\n") + line;
  }
  input.content.resize(input.content.size() - quotes.size());
  if (input.content.ends_with('\n'))
    input.content.pop_back();
  return LineEditor::End::Line;
}

LineEditor::End Chat::read(Input &input) {
  bool wasEmpty = false;
  LineEditor::End end = editor.read(">>> ", input.content, wasEmpty);
  const bool isQuoted = end == LineEditor::End::Line && input.content.starts_with(quotes);
  if (isQuoted)
    end = readQuoted(input);
  if (end == LineEditor::End::Interrupted && wasEmpty)
    note("Ctrl-D or /exit ends the conversation");
  if (end != LineEditor::End::Line)
    return end;
  input.isCommand = !isQuoted && ChatCommands::isCommand(input.content);
  if (!input.isBlank()) {
    editor.remember(input.content);
    history.add(input.content);
  }
  return end;
}

/// Says why an answer ended where it may surprise.
void Chat::printEnd() const {
  const AnswerStatistics &last = conversation.lastAnswer();
  if (last.reason == "interrupted")
    note("stopped");
  else if (last.reason == "length" && int64_t(last.prompt + last.made) >= conversation.capacity())
    note("the cache of " + counted(uint64_t(conversation.capacity()), "token") +
         " is full: /undo and /clear free some of it, --context gives a larger one");
  else if (last.reason == "length")
    note("stopped after " + counted(last.made, "new token") + ", the limit of an answer (max-new-tokens)");
  else if (conversation.messages().back().content.empty())
    note("the answer is empty");
}

Outcome Chat::take(const Input &input) {
  Interrupts::forget();
  Interrupts interrupts(conversation.getModel().context.get());
  const size_t answers = conversation.countAnswers();
  Outcome outcome = input.isCommand ? commands.run(input.content) : conversation.say(input.content);
  if (Interrupts::caught() && outcome.status != RAPT_CANCELLED)
    conversation.dropCancel();
  if (conversation.countAnswers() == answers)
    return outcome;
  Status status = print("\n");
  if (!status)
    return {RAPT_IO, status.error().message};
  RAPT_RETURN_IF_ERROR(outcome);
  printEnd();
  if (options.stats)
    commands.printStatistics();
  return {};
}

int Chat::run() {
  while (!commands.isOver()) {
    Input input;
    const LineEditor::End end = read(input);
    if (end == LineEditor::End::Closed)
      return 0;
    if (end == LineEditor::End::Interrupted || input.isBlank())
      continue;
    const Outcome outcome = take(input);
    if (const int caught = Interrupts::caught(); caught && caught != 128 + SIGINT)
      return caught;
    switch (outcome.status) {
    case RAPT_OK:
      break;
    case RAPT_CANCELLED:
    case RAPT_INVALID:
    case RAPT_TOO_LONG:
    case RAPT_UNSUPPORTED:
      note(outcome.message);
      break;
    default:
      return fail(outcome.message, Failure(outcome).code);
    }
  }
  return 0;
}

} // namespace

int converse(const Options &options, Model model) {
  const std::string name = std::string(model.info.name) + ": " + model.info.task;
  if (std::string_view(model.info.task) != "decoder" && !model.readsImages())
    return fail(name + " cannot hold a conversation; give it something to run, as rapt-run " +
                shownPath(options.library) + " says");
  Text text;
  Owned<rapt_chat> chat;
  Outcome outcome = openText(model, true, text);
  if (outcome)
    outcome = openChat(model, chat);
  if (outcome && BeamRows::areAskedFor(options, text))
    outcome = {RAPT_UNSUPPORTED, "a conversation has no beams, but generation_config.json asks for " +
                                     std::to_string(text.config.beams) +
                                     "; --temperature 0 takes the most likely token"};
  if (!outcome)
    return fail(outcome.message, Failure(outcome).code);
  Conversation conversation(options, std::move(model), std::move(text), std::move(chat), printGenerated);
  if (outcome = conversation.open(); !outcome)
    return fail(outcome.message, Failure(outcome).code);
  Expected<std::unique_ptr<LineEditor>> editor = LineEditor::open();
  if (!editor)
    return fail(editor.error().message);
  note(name + ", cache for " + grouped(uint64_t(conversation.capacity())) + "; " + conversation.settings() +
       "; /help lists the commands");
  return Chat(options, conversation, **editor).run();
}

} // namespace rapt::run
