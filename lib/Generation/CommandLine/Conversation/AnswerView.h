//===- AnswerView.h - An answer as a terminal shows it --------------------------===//
//
// Models that reason do so between <think> and </think> ahead of their answer; a template
// may open the reasoning at the end of the prompt. On a terminal it is dim, or folded to a
// line. The conversation has all of the text.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <string>
#include <string_view>

namespace rapt::run {

class AnswerView {
public:
  /// `hasDim`: the terminal may be asked for dim characters.
  explicit AnswerView(bool hasDim) : hasDim(hasDim) {}

  /// Whether a prompt that ends so has opened the reasoning.
  static bool opensReasoning(std::string_view promptEnd);

  /// The next piece is the first one of an answer. `isFolded`: its reasoning is shown as a line.
  void begin(bool isOpened, bool isFolded);
  /// What the terminal gets for a piece of text, control characters escaped.
  std::string show(std::string_view piece);
  /// What it gets at the end of the answer.
  std::string finish();

private:
  std::string showAhead();
  std::string showReasoning();
  std::string dim(const std::string &shown) const;

  const bool hasDim;
  enum { Ahead, Reasoning, Answer } part = Answer;
  bool isOpened = false, isFolded = false;
  std::string held; ///< not shown yet: it may begin a mark
};

} // namespace rapt::run
