// --chat on a terminal: reads messages and commands, and shows answers.
#include "lib/Generation/CommandLine/BeamRows.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Conversation/AnswerView.h"
#include "lib/Generation/CommandLine/Conversation/ChatCommands.h"
#include "lib/Generation/CommandLine/Conversation/History.h"
#include "lib/Generation/CommandLine/Conversation/LineEditor.h"
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Support/File.h"
#include <csignal>
#include <cstdlib>
#include <unistd.h>

namespace rapt::run {
namespace {

constexpr std::string_view quotes = R"(""")";

/// A command or a message, as the user typed it.
struct Input {
  std::string content;
  bool isCommand = false;
  bool isBlank() const { return content.find_first_not_of(" \t\n") == content.npos; }
};

/// The standard output, which shows answers.
class Screen {
public:
  /// A piece of the conversation's last answer. A file gets the text as it is.
  Status put(const Conversation &conversation, std::string_view piece) {
    if (!isTerminal)
      return print(piece);
    if (const size_t answers = conversation.countAnswers(); std::exchange(shown, answers) != answers)
      view.begin(conversation.isReasoningOpen(), conversation.foldsReasoning());
    return print(view.show(piece));
  }
  Status finish() { return print(view.finish() + "\n"); }

private:
  /// Whether it may be asked for dim characters; https://no-color.org.
  static bool hasDim() {
    const char *none = getenv("NO_COLOR"), *kind = getenv("TERM");
    return !(none && *none) && kind && *kind && std::string_view(kind) != "dumb";
  }

  const bool isTerminal = isatty(STDOUT_FILENO);
  AnswerView view{hasDim()};
  size_t shown = 0; ///< answers that were begun
};

class Chat {
public:
  Chat(const Options &options, Conversation &conversation, LineEditor &editor, Screen &screen)
      : options(options), conversation(conversation), editor(editor), screen(screen),
        commands(options, conversation, note) {
    for (const std::string &entry : history.load())
      editor.remember(entry);
  }
  /// Until the user ends it. Interrupted where a signal other than Ctrl-C does.
  Outcome run();

private:
  LineEditor::End read(Input &input);
  LineEditor::End readQuoted(Input &input);
  Outcome take(const Input &input);
  void printEnd() const;

  const Options &options;
  Conversation &conversation;
  LineEditor &editor;
  Screen &screen;
  ChatCommands commands;
  History history;
};

/// Goes on to the line that ends with quotes.
LineEditor::End Chat::readQuoted(Input &input) {
  input.content.erase(0, quotes.size());
  if (input.content.starts_with('\n'))
    input.content.erase(0, 1);
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

/// Whether quotes begin a message that ends at the next ones. A paste that merely begins with some is whole as it is.
static bool isQuotation(const std::string &line) {
  const bool isEnded = line.size() >= 2 * quotes.size() && line.ends_with(quotes);
  return line.starts_with(quotes) && (isEnded || line.find('\n') == line.npos);
}

LineEditor::End Chat::read(Input &input) {
  bool wasEmpty = false;
  LineEditor::End end = editor.read(">>> ", input.content, wasEmpty);
  const bool isQuoted = end == LineEditor::End::Line && isQuotation(input.content);
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
  RAPT_RETURN_IF_ERROR(outcomeOf(screen.finish()));
  RAPT_RETURN_IF_ERROR(outcome);
  printEnd();
  if (options.stats)
    commands.printStatistics();
  return {};
}

Outcome Chat::run() {
  while (!commands.isOver()) {
    Input input;
    const LineEditor::End end = read(input);
    if (end == LineEditor::End::Closed)
      return {};
    if (end == LineEditor::End::Interrupted || input.isBlank())
      continue;
    Outcome outcome = take(input);
    if (const int caught = Interrupts::caught(); caught && caught != 128 + SIGINT)
      return {RAPT_CANCELLED, {}};
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
      return outcome;
    }
  }
  return {};
}

class Converse final : public Job {
public:
  using Job::Job;
  Outcome prepare() override;
  Outcome run() override { return Chat(options, *conversation, *editor, screen).run(); }
  Status finish() override { return {}; }

private:
  std::unique_ptr<LineEditor> editor;
  Screen screen;
  std::unique_ptr<Conversation> conversation;
};

Outcome Converse::prepare() {
  const std::string name = std::string(model.info.name) + ": " + model.info.task;
  if (const Task *task = findTask(model.info.task); !task || !task->converses)
    return {RAPT_INVALID, name + " cannot hold a conversation; give it something to run, as rapt-run " +
                              shownPath(options.library) + " says"};
  Text text;
  text::ChatTemplate chat;
  RAPT_RETURN_IF_ERROR(openText(model, true, text));
  RAPT_RETURN_IF_ERROR(openChat(model, chat));
  if (BeamRows::areAskedFor(options, text))
    return {RAPT_UNSUPPORTED, "a conversation has no beams, but generation_config.json asks for " +
                                  std::to_string(text.config.beams) + "; --temperature 0 takes the most likely token"};
  conversation =
      std::make_unique<Conversation>(options, std::move(model), std::move(text), std::move(chat),
                                     [this](std::string_view piece) { return screen.put(*conversation, piece); });
  RAPT_RETURN_IF_ERROR(conversation->open());
  Expected<std::unique_ptr<LineEditor>> opened = LineEditor::open();
  if (!opened)
    return {RAPT_INVALID, opened.error().message};
  editor = std::move(*opened);
  note(name + ", cache for " + grouped(uint64_t(conversation->capacity())) + "; " + conversation->settings() +
       "; /help lists the commands");
  return {};
}

} // namespace

std::unique_ptr<Job> makeConversation(const Options &options, Model model) {
  return std::make_unique<Converse>(options, std::move(model));
}

} // namespace rapt::run
