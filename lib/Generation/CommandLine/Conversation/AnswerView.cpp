#include "lib/Generation/CommandLine/Conversation/AnswerView.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Support/Words.h"
#include <algorithm>
#include <utility>

namespace rapt::run {
namespace {

constexpr std::string_view opening = "<think>", closing = "</think>", blanks = " \t\n";

/// Takes `count` bytes from the front.
std::string takeFront(std::string &text, size_t count) {
  std::string front = text.substr(0, count);
  text.erase(0, count);
  return front;
}

} // namespace

bool AnswerView::opensReasoning(std::string_view promptEnd) {
  return promptEnd.substr(0, promptEnd.find_last_not_of(blanks) + 1).ends_with(opening);
}

void AnswerView::begin(bool opened, bool folded) {
  part = Ahead;
  isOpened = opened;
  isFolded = folded;
  held.clear();
}

std::string AnswerView::dim(const std::string &shown) const {
  return hasDim && !shown.empty() ? "\x1b[2m" + shown + "\x1b[22m" : shown;
}

/// Decides whether the answer begins with reasoning; nothing is shown before that is certain.
std::string AnswerView::showAhead() {
  const size_t blank = std::min(held.find_first_not_of(blanks), held.size());
  const std::string_view text = std::string_view(held).substr(blank);
  if (text.starts_with(opening)) {
    part = Reasoning;
    if (!isFolded)
      return {};
    held.erase(0, blank + opening.size());
    return dim(std::string(opening) + "...");
  }
  if (!opening.starts_with(text))
    part = Answer;
  return {};
}

std::string AnswerView::showReasoning() {
  const size_t end = held.find(closing);
  if (end == held.npos) {
    const std::string text = takeFront(held, held.size() - lengthOfBeginning(closing, held));
    return isFolded ? "" : dim(shownGenerated(text));
  }
  part = Answer;
  const std::string text = takeFront(held, end + closing.size());
  return dim(isFolded ? std::string(closing) : shownGenerated(text));
}

std::string AnswerView::show(std::string_view piece) {
  if (!piece.empty() && std::exchange(isOpened, false))
    held = opening;
  held += piece;
  std::string shown;
  if (part == Ahead)
    shown += showAhead();
  if (part == Reasoning)
    shown += showReasoning();
  if (part == Answer)
    shown += shownGenerated(takeFront(held, held.size()));
  return shown;
}

std::string AnswerView::finish() {
  const std::string rest = takeFront(held, held.size());
  return part == Reasoning ? isFolded ? "" : dim(shownGenerated(rest)) : shownGenerated(rest);
}

} // namespace rapt::run
