//===- ResultSink.h - Where the results of a job go -------------------------------===//
#pragma once
#include "lib/Support/Json.h"
#include "rapt/rapt.hpp"
#include <string>
#include <string_view>

namespace rapt::run {

/// Text on the standard output as it comes, or with --json one object at the end.
class ResultSink {
public:
  explicit ResultSink(bool isJson) : isJson(isJson) {}

  /// How a result stands behind the one before it.
  enum class Place { NextLine, BehindBlankLine };
  /// One of the results: its lines are printed, or with --json its value is kept.
  Outcome add(json::Value value, const std::string &lines, Place place = Place::BehindBlankLine);

  /// With --json the object {"task", "results"} of what was added.
  Status endTask(const std::string &task) const;
  /// With --json the one result that was added, or {NAME: results} of several.
  Status endList(const std::string &name) const;
  /// With --json `whole`, else `lines`.
  Status end(const json::Value &whole, std::string_view lines) const;

private:
  bool isJson;
  bool isEmpty = true;
  json::Array results;
};

/// The outcome of what reads or writes a file.
Outcome outcomeOf(const Status &status);

} // namespace rapt::run
