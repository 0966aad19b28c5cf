//===- Tests.cpp - Tests, which stand behind 'is' ---------------------------------===//
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Iteration.h"
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Operators.h"
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Text.h"
#include <algorithm>

namespace rapt::chat {

template <Kind kind> static Value isKind(Call &call) { return Value::of(call.self.is(kind)); }
template <bool value> static Value isBool(Call &call) {
  return Value::of(call.self.is(Kind::Bool) && isTrue(call.self) == value);
}
static Value isDefined(Call &call) { return Value::of(!call.self.is(Kind::Undefined)); }
static Value isNumber(Call &call) { return Value::of(call.self.isNumber()); }
static Value isIterableTest(Call &call) { return Value::of(isIterable(call.self)); }
static Value isEscaped(Call &call) { return Value::of(call.self.isMarkup()); }
static Value isSame(Call &call) { return Value::of(call.self.isSame(call[0])); }
static Value isIn(Call &call) { return Value::of(contains(call.run, call[0], call.self)); }

static Value isCallable(Call &call) {
  static constexpr Kind kinds[] = {Kind::Undefined, Kind::Macro,  Kind::Function,
                                   Kind::Method,    Kind::Joiner, Kind::Loop};
  return Value::of(std::find(std::begin(kinds), std::end(kinds), call.self.kind()) != std::end(kinds));
}

static Value isSequence(Call &call) {
  return Value::of(isIterable(call.self) && !call.self.is(Kind::View) && !call.self.is(Kind::Iterator) &&
                   !call.self.is(Kind::Loop));
}

/// self % divisor == remainder
static Value leaves(Call &call, const Value &divisor, int64_t remainder) {
  Value rest = arithmetic(call.run, "%", call.self, divisor);
  return call.run.failed() ? Value() : Value::of(equal(call.run, rest, Value::of(remainder)));
}

static Value isOdd(Call &call) { return leaves(call, Value::of(int64_t(2)), 1); }
static Value isEven(Call &call) { return leaves(call, Value::of(int64_t(2)), 0); }
static Value isDivisible(Call &call) { return leaves(call, call[0], 0); }

template <bool lower> static Value isOfCaseTest(Call &call) {
  Value text = call.run.string(shown(call.run, call.self));
  return call.run.failed() ? Value()
                           : apply(call.run, *find(characterMethods(), lower ? "islower" : "isupper"), text, {});
}

/// Whether a table has this name; Jinja looks it up in a dict.
template <const Routine *(*find)(std::string_view)> static Value isNamed(Call &call) {
  if (!hashOf(call.run, call.self))
    return call.fail("takes no " + std::string(typeName(call.self)) + ", which is no key of a dict");
  return Value::of(call.self.is(Kind::String) && find(bytesOf(call.self.text())));
}

static constexpr char equals[] = "==", differs[] = "!=", below[] = "<", atMost[] = "<=", above[] = ">",
                      atLeast[] = ">=";
template <const char *sign> static Value isCompared(Call &call) {
  return Value::of(compares(call.run, sign, call.self, call[0]));
}

Table tests() {
  static constexpr Routine all[] = {
      {"!=", "other", isCompared<differs>},
      {"<", "other", isCompared<below>},
      {"<=", "other", isCompared<atMost>},
      {"==", "other", isCompared<equals>},
      {">", "other", isCompared<above>},
      {">=", "other", isCompared<atLeast>},
      {"boolean", "", isKind<Kind::Bool>},
      {"callable", "", isCallable},
      {"defined", "", isDefined},
      {"divisibleby", "num", isDivisible},
      {"eq", "other", isCompared<equals>},
      {"equalto", "other", isCompared<equals>},
      {"escaped", "", isEscaped},
      {"even", "", isEven},
      {"false", "", isBool<false>},
      {"filter", "", isNamed<findFilter>},
      {"float", "", isKind<Kind::Float>},
      {"ge", "other", isCompared<atLeast>},
      {"greaterthan", "other", isCompared<above>},
      {"gt", "other", isCompared<above>},
      {"in", "seq", isIn},
      {"integer", "", isKind<Kind::Integer>},
      {"iterable", "", isIterableTest},
      {"le", "other", isCompared<atMost>},
      {"lessthan", "other", isCompared<below>},
      {"lower", "", isOfCaseTest<true>},
      {"lt", "other", isCompared<below>},
      {"mapping", "", isKind<Kind::Dict>},
      {"ne", "other", isCompared<differs>},
      {"none", "", isKind<Kind::None>},
      {"number", "", isNumber},
      {"odd", "", isOdd},
      {"sameas", "other", isSame},
      {"sequence", "", isSequence},
      {"string", "", isKind<Kind::String>},
      {"test", "", isNamed<findTest>},
      {"true", "", isBool<true>},
      {"undefined", "", isKind<Kind::Undefined>},
      {"upper", "", isOfCaseTest<false>},
  };
  return all;
}

} // namespace rapt::chat
