//===- Library.cpp - Finds and calls what the tables have -------------------===//
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Text.h"
#include "lib/Support/Json.h"
#include <algorithm>

namespace rapt::chat {

const Routine *find(Table table, std::string_view name) {
  auto found = std::find_if(table.begin(), table.end(), [&](const Routine &one) { return one.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const Routine *findFilter(std::string_view name) {
  for (Table table : {textFilters(), markupFilters(), listFilters(), choosingFilters(), numberFilters()})
    if (const Routine *found = find(table, name))
      return found;
  return nullptr;
}

const Routine *findTest(std::string_view name) { return find(tests(), name); }
const Routine *findGlobal(std::string_view name) { return find(globals(), name); }

std::string unknownMessage(std::string_view kind, std::string_view name) {
  // docs/Generation.md names these.
  static constexpr std::pair<std::string_view, std::string_view> refused[] = {
      {"filter", "random"}, {"filter", "striptags"}, {"filter", "urlize"},    {"function", "lipsum"},
      {"method", "encode"}, {"method", "escape"},    {"method", "striptags"}, {"method", "unescape"}};
  bool isRefused = std::find(std::begin(refused), std::end(refused), std::pair(kind, name)) != std::end(refused);
  return "the " + std::string(kind) + " '" + json::printable(name, 40) + "' is " +
         (isRefused ? "not supported" : "none of Jinja's");
}

const Value &Call::operator[](size_t parameter) const {
  static const Value nothing;
  return has(parameter) ? *bound[parameter] : nothing;
}

bool Call::flag(size_t parameter, bool otherwise) const {
  return has(parameter) ? isTrue(*bound[parameter]) : otherwise;
}

Value Call::fail(const std::string &problem) { return run.fail("'" + std::string(routine.name) + "' " + problem); }

int64_t Call::integer(size_t parameter, int64_t otherwise) {
  if (!has(parameter))
    return otherwise;
  const Value &value = *bound[parameter];
  if (!value.isWhole() || !value.isSmall()) {
    fail("needs a whole number, not " + std::string(typeName(value)));
    return otherwise;
  }
  return value.integer();
}

const Text *Call::text(size_t parameter) {
  if (has(parameter) && bound[parameter]->is(Kind::String))
    return &bound[parameter]->text();
  fail("needs a string, not " + std::string(has(parameter) ? typeName(*bound[parameter]) : "nothing"));
  return nullptr;
}

namespace {

struct Parameter {
  std::string_view name;
  bool isOptional, hasName;
};

std::vector<Parameter> parametersOf(std::string_view text) {
  std::vector<Parameter> parameters;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view name = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    bool isOptional = name.ends_with('?'), hasName = !name.starts_with('/');
    parameters.push_back({name.substr(!hasName, name.size() - isOptional - !hasName), isOptional, hasName});
  }
  return parameters;
}

bool bind(Call &call) {
  const std::vector<Parameter> parameters = parametersOf(call.routine.parameters);
  const List &values = call.given.values;
  if (values.size() > parameters.size())
    return call.fail("takes at most " + std::to_string(parameters.size()) + " arguments"), false;
  call.bound.assign(parameters.size(), nullptr);
  for (size_t i = 0; i < values.size(); ++i)
    call.bound[i] = &values[i];
  for (const auto &[name, value] : call.given.named) {
    auto found = std::find_if(parameters.begin(), parameters.end(),
                              [&](const Parameter &one) { return one.hasName && one.name == name; });
    if (found == parameters.end())
      return call.fail("has no parameter '" + name + "'"), false;
    if (std::exchange(call.bound[size_t(found - parameters.begin())], &value))
      return call.fail("is given '" + name + "' twice"), false;
  }
  for (size_t i = 0; i < parameters.size(); ++i)
    if (!parameters[i].isOptional && !call.bound[i])
      return call.fail("needs '" + std::string(parameters[i].name) + "'"), false;
  return true;
}

/// Arguments and result of a method of markup: what is no markup is escaped, and what comes out is markup.
Value escapedArgument(Run &run, const Value &value) {
  return value.is(Kind::String) && !value.isMarkup() ? run.string(escaped(value.text()), true) : value;
}

Value asMarkup(Run &run, const Value &value) {
  if (value.is(Kind::String))
    return run.string(value.text(), true);
  if (!value.isList())
    return value;
  List items;
  for (const Value &item : value.list())
    items.push_back(asMarkup(run, item));
  return run.list(std::move(items), value.is(Kind::Tuple));
}

} // namespace

Value apply(Run &run, const Routine &routine, const Value &self, const Arguments &given) {
  if (!run.spend(1))
    return {};
  bool isMarkup = self.isMarkup() && routine.onMarkup != Routine::OnMarkup::Plain;
  bool escapes = isMarkup && routine.onMarkup == Routine::OnMarkup::KeepsAndEscapes;
  Arguments escapedOnes;
  if (escapes) {
    escapedOnes = given;
    for (Value &value : escapedOnes.values)
      value = escapedArgument(run, value);
    for (auto &[name, value] : escapedOnes.named)
      value = escapedArgument(run, value);
  }
  Call call{run, routine, self, escapes ? escapedOnes : given};
  if (routine.parameters != "*" && !bind(call))
    return {};
  Value result = routine.apply(call);
  return isMarkup ? asMarkup(run, result) : result;
}

Value applyFilter(Run &run, std::string_view name, const Value &input, const Arguments &given) {
  const Routine *found = findFilter(name);
  return found ? apply(run, *found, input, given) : run.fail(unknownMessage("filter", name));
}

bool applyTest(Run &run, std::string_view name, const Value &input, const Arguments &given) {
  const Routine *found = findTest(name);
  return isTrue(found ? apply(run, *found, input, given) : run.fail(unknownMessage("test", name)));
}

Value applyTextMethod(Run &run, std::string_view name, const Value &value, List arguments) {
  Value text = value.is(Kind::String) ? value : run.string(shown(run, value));
  return run.failed() ? Value() : apply(run, *find(textMethods(), name), text, {std::move(arguments), {}});
}

} // namespace rapt::chat
