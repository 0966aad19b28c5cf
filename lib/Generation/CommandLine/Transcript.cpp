#include "lib/Generation/CommandLine/Transcript.h"
#include "lib/Generation/CommandLine/Console.h"
#include <cmath>
#include <cstdio>

namespace rapt::run {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

Outcome printed(std::string_view text) {
  Status status = printGenerated(text);
  return status ? Outcome{} : Outcome{RAPT_IO, status.error().message};
}

} // namespace

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpace);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

std::string shownTime(double seconds) {
  const auto thousandths = int64_t(std::llround(seconds * 1000));
  const int64_t hours = thousandths / 3600000, minutes = thousandths / 60000 % 60, rest = thousandths % 60000;
  char text[48];
  snprintf(text, sizeof text, "%02lld:%02lld.%03lld", (long long)minutes, (long long)(rest / 1000),
           (long long)(rest % 1000));
  return (hours ? (hours < 10 ? "0" : "") + std::to_string(hours) + ":" : std::string()) + text;
}

/// Words begin with a space, which the first one does not need.
Outcome Transcript::put(std::string_view piece) {
  if (!isBegun) {
    piece.remove_prefix(std::min(piece.find_first_not_of(kSpace), piece.size()));
    isBegun = !piece.empty();
  }
  if (form == Form::Json)
    whole += piece;
  return form == Form::Text && !piece.empty() ? printed(piece) : Outcome{};
}

Outcome Transcript::add(double begin, double end, const std::string &text, bool isPrinted, const json::Object &more) {
  const std::string words(trimmed(text));
  if (words.empty())
    return {};
  if (form == Form::Lines)
    return printed("[" + shownTime(begin) + " -> " + shownTime(end) + "] " + words + "\n");
  if (form == Form::Json) {
    json::Object segment = {{"start", json::Value(begin)}, {"end", json::Value(end)}, {"text", json::Value(words)}};
    segment.insert(segment.end(), more.begin(), more.end());
    segments.emplace_back(std::move(segment));
  }
  return isPrinted ? Outcome{} : put(text);
}

Outcome Transcript::end() { return form == Form::Text ? printed("\n") : Outcome{}; }

json::Object Transcript::toJson() const {
  return {{"text", json::Value(std::string(trimmed(whole)))}, {"segments", json::Value(segments)}};
}

} // namespace rapt::run
