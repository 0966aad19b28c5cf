//===- Transcript.h - The text of a sound, as it is printed ---------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Text.h"
#include "lib/Support/Json.h"
#include <string_view>

namespace rapt::run {

/// Without space at both ends.
std::string_view trimmed(std::string_view text);

/// "00:04.240", with hours where there are any.
std::string shownTime(double seconds);

/// The text of one sound: lines with times, the text alone as it comes, or JSON.
class Transcript {
public:
  enum class Form { Text, Lines, Json };
  explicit Transcript(Form form) : form(form) {}

  /// The next piece of the text, be it in a segment or not.
  Outcome put(std::string_view piece);
  /// The next segment, whose text `put` had already where `isPrinted`. Segments without text are left out.
  /// `more`: members of its JSON.
  Outcome add(double begin, double end, const std::string &text, bool isPrinted, const json::Object &more);
  /// The last newline.
  Outcome end();

  /// Members "text" and "segments".
  json::Object toJson() const;

private:
  Form form;
  bool isBegun = false; ///< the text has more than space
  std::string whole;    ///< for JSON
  json::Array segments;
};

} // namespace rapt::run
