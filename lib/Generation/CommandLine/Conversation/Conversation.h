//===- Conversation.h - Messages and answers ----------------------------------===//
//
// The messages, their tokens and the cache. There is no terminal here: answers go to a sink as
// they come, and whoever wants to stop one cancels the context's step.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Continuation.h"
#include "lib/Generation/CommandLine/Conversation/CachedSequence.h"
#include <functional>

namespace rapt::run {

/// Tokens and times of an answer.
struct AnswerStatistics {
  size_t prompt = 0; ///< tokens of the conversation up to the answer
  size_t cached = 0; ///< of them, those that the cache held already
  size_t made = 0;
  double firstToken = 0, total = 0; ///< seconds
  std::string reason;               ///< why it ended: "end", "stop", "length" or "interrupted"
};

class Conversation {
public:
  using Sink = std::function<Status(std::string_view)>;

  Conversation(const Options &options, Model model, Text text, text::ChatTemplate chat, Sink sink)
      : given(options), options(options), model(std::move(model)), text(std::move(text)), chat(std::move(chat)),
        sink(std::move(sink)) {}
  /// Makes the context with the cache. Errors: --system with a template that takes none, a cache that is too large.
  Outcome open();

  /// Adds a message of the user and the model's answer. Where it fails, or where it is canceled before there is any
  /// text, the conversation is as before. A message that does not fit is refused before it is read.
  Outcome say(const std::string &message);
  /// Answers the last message again.
  Outcome retry();
  /// Takes back the last message and its answer.
  Outcome undo();
  /// Forgets all messages but the system's.
  Outcome clear();
  /// Replaces the first message, of the system; nothing: there is none.
  Outcome setSystem(std::optional<std::string> content);
  const std::optional<std::string> &getSystem() const { return system; }
  /// Changes how answers are chosen, as the option of that name does; "default": as when the conversation began.
  Status set(const std::string &name, const std::string &value);
  /// How the next answer is chosen.
  std::string settings() const;

  std::vector<Message> messages() const;
  /// Messages as parseMessages gives them take the place of all.
  Outcome setMessages(std::vector<Message> messages);

  const AnswerStatistics &lastAnswer() const { return last; }
  /// Answers that were begun.
  size_t countAnswers() const { return answers; }
  int64_t tokensInCache() const { return cache.length(); }
  /// Whether the last answer goes on with reasoning that the template began.
  bool isReasoningOpen() const { return reasons; }
  /// Whether reasoning is to be shown as a line.
  bool foldsReasoning() const { return options.foldsReasoning.value_or(false); }
  /// Tokens that the conversation may have.
  int64_t capacity() const { return *options.context; }
  const Model &getModel() const { return model; }
  /// A cancel that came too late to stop anything stops nothing later.
  void dropCancel();

private:
  struct Exchange {
    std::string message, answer;
  };
  Outcome encode(const std::string &message, Ids &ids) const;
  Outcome prepare(const std::string &message, Continuation &one) const;
  void addAdvice(Outcome &outcome) const;
  Outcome checkFits() const;
  Outcome readPromptEnd(const Ids &ids);
  Outcome read(Continuation &one);
  Outcome generate(Continuation &one, std::string &answer);
  Outcome put(std::string_view piece, std::string &answer) const;

  const Options given; ///< without what set() changed
  Options options;
  std::vector<std::pair<std::string, std::string>> changes; ///< of set(), in their order
  Model model;
  Text text;
  text::ChatTemplate chat;
  Sink sink;
  CachedSequence cache;
  std::optional<std::string> system;
  std::vector<Exchange> exchanges;
  AnswerStatistics last;
  bool reasons = false; ///< the last prompt has opened the reasoning
  size_t answers = 0;   ///< each draws its own numbers
  int64_t began = 0; ///< seconds since 1970: templates that ask for the time get one answer, as prompts must not change
};

} // namespace rapt::run
