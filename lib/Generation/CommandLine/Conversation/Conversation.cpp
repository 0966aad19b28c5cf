#include "lib/Generation/CommandLine/Conversation/Conversation.h"
#include "lib/Generation/CommandLine/Conversation/AnswerView.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <chrono>
#include <ctime>

namespace rapt::run {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t defaultCapacity = 8192; // tokens, when --context does not say it
constexpr const char *anyMessage = "?";   // in place of one that the user has not written yet

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

} // namespace

Outcome Conversation::open() {
  const int64_t bound = model.info.max_positions;
  if (given.context && *given.context > bound)
    return {RAPT_TOO_LONG, "--context is " + std::to_string(*given.context) + "; the model's positions hold " +
                               std::to_string(bound) + " tokens"};
  options.context = given.context.value_or(std::min(bound, defaultCapacity));
  began = int64_t(time(nullptr));
  RAPT_RETURN_IF_ERROR(
      makeContext(options, model.inBlocks(*options.context) + CachedSequence::tokensOfStates(model), model));
  RAPT_RETURN_IF_ERROR(cache.open(model));
  return setSystem(given.system);
}

std::vector<Message> Conversation::messages() const {
  std::vector<Message> all;
  if (system)
    all.push_back({"system", *system});
  for (const Exchange &exchange : exchanges) {
    all.push_back({"user", exchange.message});
    all.push_back({"assistant", exchange.answer});
  }
  return all;
}

/// Ids of the conversation with another message of the user.
Outcome Conversation::encode(const std::string &message, Ids &ids) const {
  std::vector<Message> all = messages();
  all.push_back({"user", message});
  return encodeMessages(model, text, chat, all, {}, began, ids);
}

Outcome Conversation::prepare(const std::string &message, Continuation &one) const {
  Ids ids;
  RAPT_RETURN_IF_ERROR(encode(message, ids));
  Outcome outcome = one.openIds(options, model, text, std::move(ids));
  if (outcome.status == RAPT_TOO_LONG && capacity() < model.info.max_positions)
    outcome.message += "; --context gives a larger one";
  return outcome;
}

/// Says what makes room for what does not fit.
void Conversation::addAdvice(Outcome &outcome) const {
  if (outcome.status == RAPT_TOO_LONG && !exchanges.empty())
    outcome.message += "; " + counted(uint64_t(cache.length()), "token") +
                       " of the cache hold the conversation so far: /undo takes back a message, /clear all of them";
}

Outcome Conversation::checkFits() const {
  Continuation next;
  return prepare(anyMessage, next);
}

Outcome Conversation::put(std::string_view piece, std::string &answer) const {
  answer += piece;
  Status status = piece.empty() ? Status() : sink(piece);
  return status ? Outcome{} : Outcome{RAPT_IO, status.error().message};
}

/// Looks for the mark that begins reasoning, which few tokens make.
Outcome Conversation::readPromptEnd(const Ids &ids) {
  constexpr ptrdiff_t most = 16;
  std::string end;
  const Ids last(ids.end() - std::min(most, ptrdiff_t(ids.size())), ids.end());
  Outcome outcome = text.writer.decode(last, end);
  reasons = outcome && AnswerView::opensReasoning(end);
  return outcome;
}

/// Brings the cache to all tokens of the prompt but the last ones, which `next` has.
Outcome Conversation::read(Continuation &one) {
  Outcome outcome = cache.rewindTo(one.prompt.ids, one.next);
  last.cached = size_t(cache.length());
  if (!outcome || !cache.needsStates())
    return outcome;
  // A state in front of the last token is one from which its logits can be had again.
  const Ids ahead(one.next.begin(), one.next.end() - 1);
  if (!ahead.empty()) {
    std::vector<rapt_chunk> chunks = {cache.chunk(ahead, RAPT_LOGITS_NONE)};
    if (outcome = model.context.step(chunks); !outcome)
      return outcome;
    cache.add(ahead);
    one.next.erase(one.next.begin(), one.next.end() - 1);
  }
  return cache.keepState();
}

Outcome Conversation::generate(Continuation &one, std::string &answer) {
  const Clock::time_point start = Clock::now();
  Continuation *const live[] = {&one};
  RAPT_RETURN_IF_ERROR(read(one));
  while (!one.reason && one.most != 0) {
    const Ids next = one.next;
    std::vector<rapt_chunk> chunks = {cache.chunk(next, RAPT_LOGITS_LAST)};
    RAPT_RETURN_IF_ERROR(stepTogether(model, text, live, chunks));
    cache.add(next);
    std::string piece;
    Outcome outcome = one.take(options, model, text, chunks[0].logits, piece);
    last.total = secondsSince(start);
    last.firstToken = last.firstToken > 0 ? last.firstToken : last.total;
    last.made = one.made.size();
    RAPT_RETURN_IF_ERROR(outcome);
    RAPT_RETURN_IF_ERROR(put(piece, answer));
  }
  return {};
}

Outcome Conversation::say(const std::string &message) {
  Continuation one;
  Outcome outcome = prepare(message, one);
  addAdvice(outcome);
  RAPT_RETURN_IF_ERROR(outcome);
  RAPT_RETURN_IF_ERROR(one.prepare(options, text, answers));
  RAPT_RETURN_IF_ERROR(readPromptEnd(one.prompt.ids));
  ++answers;
  last = {};
  last.prompt = one.prompt.ids.size();
  std::string answer;
  outcome = generate(one, answer);
  last.reason = one.reason ? one.reason : "length";
  if (outcome.status == RAPT_CANCELLED) {
    std::string rest;
    outcome = one.reason ? Outcome{} : one.end("interrupted", rest);
    last.reason = one.reason;
    if (outcome)
      outcome = put(rest, answer);
    if (outcome && answer.empty())
      return {RAPT_CANCELLED, "stopped before the answer began: the message is taken back"};
  }
  RAPT_RETURN_IF_ERROR(outcome);
  exchanges.push_back({message, std::move(answer)});
  return {};
}

Outcome Conversation::retry() {
  if (exchanges.empty())
    return {RAPT_INVALID, "there is no message to answer again"};
  Exchange exchange = std::move(exchanges.back());
  exchanges.pop_back();
  Outcome outcome = say(exchange.message);
  if (!outcome)
    exchanges.push_back(std::move(exchange));
  if (outcome.status == RAPT_CANCELLED)
    outcome.message = "stopped before the answer began: the one before it is kept";
  return outcome;
}

Outcome Conversation::undo() {
  if (exchanges.empty())
    return {RAPT_INVALID, "there is no message to undo"};
  exchanges.pop_back();
  Ids ids, rest;
  RAPT_RETURN_IF_ERROR(encode(anyMessage, ids));
  return cache.rewindTo(ids, rest);
}

Outcome Conversation::clear() {
  exchanges.clear();
  return cache.clear();
}

Outcome Conversation::setSystem(std::optional<std::string> content) {
  std::swap(system, content);
  Outcome outcome = system || !exchanges.empty() ? checkFits() : Outcome{};
  addAdvice(outcome);
  if (!outcome)
    system = std::move(content);
  return outcome;
}

Outcome Conversation::setMessages(std::vector<Message> messages) {
  auto oldSystem = std::exchange(system, std::nullopt);
  auto oldExchanges = std::exchange(exchanges, {});
  for (Message &one : messages)
    if (one.role == "system")
      system = std::move(one.content);
    else if (one.role == "user")
      exchanges.push_back({std::move(one.content), ""});
    else
      exchanges.back().answer = std::move(one.content);
  Outcome outcome = checkFits();
  if (!outcome) {
    system = std::move(oldSystem);
    exchanges = std::move(oldExchanges);
  }
  return outcome;
}

Status Conversation::set(const std::string &name, const std::string &value) {
  RAPT_ASSIGN_OR_RETURN(const std::string option, findAnswerOption(name));
  auto wanted = changes;
  std::erase_if(wanted, [&](const auto &change) { return change.first == option; });
  if (value != "default")
    wanted.emplace_back(option, value);
  Options changed = given;
  changed.context = options.context;
  for (const auto &[known, text] : wanted)
    RAPT_RETURN_IF_ERROR(setAnswerOption(changed, known, text));
  changes = std::move(wanted);
  options = std::move(changed);
  return {};
}

std::string Conversation::settings() const {
  Continuation one;
  Outcome outcome = one.openIds(options, model, text, {0});
  if (outcome)
    outcome = one.prepare(options, text, answers);
  std::string line = outcome ? one.summary() : outcome.message;
  for (const auto &[name, value] : changes)
    line += (&name == &changes.front().first ? "; set: " : ", ") + name + " " + json::printable(value);
  return line;
}

void Conversation::dropCancel() {
  std::vector<rapt_chunk> none;
  Outcome ignored = model.context.step(none);
  (void)ignored;
}

} // namespace rapt::run
