//===- Spelling.cpp - The nearest name to a misspelled one --------------------===//
//
// Damerau 1964, "A Technique for Computer Detection and Correction of Spelling Errors",
// in the restricted form that edits no part of a word twice.
//
//===----------------------------------------------------------------------===//
#include "lib/Support/Spelling.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <numeric>
#include <vector>

using namespace rapt;

size_t rapt::editDistance(std::string_view a, std::string_view b, size_t most) {
  // Bounds the work on long words from outside.
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most)
    return most + 1;
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] != b[j - 1]), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return std::min(row.back(), most + 1);
}

std::string_view rapt::findNearest(std::string_view word, std::span<const std::string_view> candidates) {
  auto withoutDashes = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of('-'), text.size()));
  };
  const std::string_view meant = withoutDashes(word);
  std::string_view best;
  if (meant.size() < 3)
    return best;
  size_t least = meant.size() / 3 + 1;
  for (std::string_view candidate : candidates)
    if (size_t distance = editDistance(meant, withoutDashes(candidate), least); distance < least) {
      best = candidate;
      least = distance;
    }
  return best;
}

std::string rapt::listChoices(std::span<const std::string_view> choices) {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i)
    text += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + std::string(choices[i]);
  return text;
}

std::string rapt::didYouMean(std::string_view nearest) {
  return nearest.empty() ? std::string() : "; did you mean '" + json::printable(nearest, 100) + "'?";
}

std::string rapt::unknownOption(std::string_view option, std::string_view nearest) {
  return "unknown option '" + json::printable(option, 100) + "'" + didYouMean(nearest);
}

std::string rapt::invalidValue(std::string_view value, std::string_view option, std::string_view expected) {
  return "invalid value '" + json::printable(value, 100) + "' for " + std::string(option) + "; expected " +
         std::string(expected);
}
