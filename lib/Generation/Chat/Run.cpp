//===- Run.cpp -------------------------------------------------------------===//
#include "lib/Generation/Chat/Run.h"
#include "lib/Generation/Chat/Lexer.h"
#include <algorithm>

namespace rapt::chat {

Value Run::fail(const std::string &message) {
  if (!failure)
    failure = templateError(line, message);
  return {};
}

void Run::exhaust(const std::string &message) {
  isExhausted = true;
  fail(message);
}

std::optional<Error> Run::takeFailure() { return isExhausted ? std::nullopt : std::exchange(failure, std::nullopt); }

bool Run::spend(size_t amount) {
  steps += int64_t(std::min<size_t>(amount, size_t(bounds.steps) + 1));
  if (steps > bounds.steps)
    exhaust("takes more than " + std::to_string(bounds.steps) + " steps");
  if (ledger.bytes > bounds.bytes)
    exhaust("keeps more than " + std::to_string(bounds.bytes >> 20) + " MiB of values");
  return !failure;
}

bool Run::hasRoomFor(size_t characters) {
  if (characters > bounds.characters)
    exhaust("makes a string of more than " + std::to_string(bounds.characters) + " characters");
  return !failure;
}

Value Run::string(Text text, bool isMarkup) {
  if (!hasRoomFor(text.size()) || !spendText(text.size()))
    return {};
  return Value::of(std::move(text), isMarkup);
}

static bool nestsTooDeeply(Run &run, const Value &value) {
  if (value.nesting() > run.bounds.nesting)
    run.fail("nests values deeper than " + std::to_string(run.bounds.nesting));
  return run.failed();
}

Value Run::list(List list, bool isTuple) {
  if (!spend(list.size()))
    return {};
  Value value = isTuple ? Value::tuple(std::move(list)) : Value::of(std::move(list));
  return nestsTooDeeply(*this, value) ? Value() : value;
}

Value Run::dict(Dict dict) {
  if (!spend(dict.size()))
    return {};
  Value value = Value::of(std::move(dict));
  return nestsTooDeeply(*this, value) ? Value() : value;
}

Value Run::number(const BigInteger &number) {
  if (number.bits() > mostBits())
    return fail("makes a number of more than " + std::to_string(bounds.digits) + " digits");
  return Value::of(number);
}

Value Run::makeNamespace(Dict members) {
  ledger.bytes += sizeof(Dict) + members.size() * (sizeof(Dict::Entry) + 32);
  return spend(members.size()) ? Value::of(&namespaces.emplace_back(std::move(members))) : Value();
}

} // namespace rapt::chat
