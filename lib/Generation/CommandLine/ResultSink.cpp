#include "lib/Generation/CommandLine/ResultSink.h"
#include "lib/Generation/CommandLine/Console.h"

namespace rapt::run {

Outcome outcomeOf(const Status &status) { return status ? Outcome{} : Outcome{RAPT_IO, status.error().message}; }

Outcome ResultSink::add(json::Value value, const std::string &lines, Place place) {
  if (isJson) {
    results.push_back(std::move(value));
    return {};
  }
  const bool isBehindBlank = place == Place::BehindBlankLine && !isEmpty;
  isEmpty = false;
  return outcomeOf(printGenerated((isBehindBlank ? "\n" : "") + lines));
}

Status ResultSink::endTask(const std::string &task) const {
  return end(json::Value(json::Object{{"task", json::Value(task)}, {"results", json::Value(results)}}), "");
}

Status ResultSink::endList(const std::string &name) const {
  return end(results.size() == 1 ? results[0] : json::Value(json::Object{{name, json::Value(results)}}), "");
}

Status ResultSink::end(const json::Value &whole, std::string_view lines) const {
  return isJson ? print(json::write(whole) + "\n") : print(lines);
}

} // namespace rapt::run
