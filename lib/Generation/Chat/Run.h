//===- Run.h - The limits of one rendering of a template -------------------===//
//
// A template is a program that came with a model. All that walks, copies or makes
// values asks its run, which counts: a step for each value and for each 8
// characters. The first failure ends the run: what is evaluated after it is
// undefined, and nothing more is done.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Generation/Chat/Value.h"
#include "lib/Support/Expected.h"
#include <ctime>
#include <deque>
#include <optional>

namespace rapt::chat {

struct Bounds {
  int64_t steps = 10'000'000;       ///< Nodes and values visited, and eighths of characters.
  size_t characters = 4 << 20;      ///< Limit of one string, and of the whole output.
  size_t bytes = size_t(128) << 20; ///< Limit of all values that live at once.
  int depth = 400;                  ///< Statements and expressions in each other; a call counts 8.
  int nesting = 100;                ///< Values in values.
  size_t digits = 4300;             ///< Limit of a whole number, as Python has it.
};

class Run {
public:
  Run(std::time_t now, Bounds bounds) : bounds(bounds), now(now) {}

  /// Undefined; the failure is the first one.
  Value fail(const std::string &message);
  bool failed() const { return failure.has_value(); }
  /// Takes a failure back that an iterator would meet later; not one of the bounds.
  std::optional<Error> takeFailure();
  void restore(Error error) { failure = std::move(error); }
  /// Whether the run goes on.
  bool spend(size_t steps);
  bool spendText(size_t characters) { return spend(characters / 8 + 1); }
  /// For a number between its digits and itself, which takes time by the square of its length.
  bool spendNumber(size_t bits) { return spend(bits * bits / 1024); }

  /// Values that are made, if they are within bounds.
  Value string(Text text, bool isMarkup = false);
  Value list(List list, bool isTuple = false);
  Value dict(Dict dict);
  Value number(const BigInteger &number);
  Value makeNamespace(Dict members);
  /// Limit of a whole number: 10 digits take 33.2 bits.
  size_t mostBits() const { return bounds.digits * 10 / 3; }
  /// Whether a text of so many characters may be made.
  bool hasRoomFor(size_t characters);

  const Bounds bounds;
  const std::time_t now;
  bool escapes = false; ///< Whether {% autoescape %} is on.
  int line = 1;         ///< The line of the node that is evaluated.

protected:
  Ledger ledger; // outlives the values
  std::optional<Error> failure;

private:
  void exhaust(const std::string &message);
  bool isExhausted = false; ///< A bound ended the run.
  int64_t steps = 0;
  std::deque<Dict> namespaces;
};

} // namespace rapt::chat
