#include "lib/Generation/CommandLine/Conversation/AnswerView.h"
#include <gtest/gtest.h>

using rapt::run::AnswerView;

namespace {

/// What a terminal gets for an answer that comes in pieces of `length` bytes.
std::string shown(const std::string &answer, size_t length, bool isOpened = false, bool isFolded = false,
                  bool hasDim = false) {
  AnswerView view(hasDim);
  view.begin(isOpened, isFolded);
  std::string all;
  for (size_t at = 0; at < answer.size(); at += length)
    all += view.show(std::string_view(answer).substr(at, length));
  return all + view.finish();
}

/// Without what makes characters dim, which pieces may end and begin anywhere.
std::string withoutDim(std::string text) {
  for (const std::string mark : {"\x1b[22m\x1b[2m", "\x1b[2m", "\x1b[22m"})
    for (size_t at; (at = text.find(mark)) != text.npos;)
      text.erase(at, mark.size());
  return text;
}

TEST(AnswerView, ShowsAllOfTheText) {
  for (const char *answer :
       {"", "a", "<think>why</think>so", " \n<think>why\n</think>\n\nso", "<thin ice>", "<", "<think", "  ",
        "<think>never closed </thin", "<think></think>", "a <think>b</think>", "<think>a<</</think</think>b</think>"})
    for (size_t length : {1, 2, 3, 7, 100}) {
      EXPECT_EQ(shown(answer, length), answer) << length;
      EXPECT_EQ(withoutDim(shown(answer, length, false, false, true)), answer) << length;
    }
  EXPECT_EQ(shown("<think>\x1b[31m</think>\x07", 100), "<think>\\x1B[31m</think>\\x07") << "control characters";
}

TEST(AnswerView, DimsReasoning) {
  EXPECT_EQ(shown("\n<think>why</think>so", 100, false, false, true), "\x1b[2m\n<think>why</think>\x1b[22mso");
  EXPECT_EQ(shown("so <think>why</think>", 100, false, false, true), "so <think>why</think>") << "not ahead";
  EXPECT_EQ(shown("<think>why", 100, false, false, true), "\x1b[2m<think>why\x1b[22m") << "it is not left on";
}

TEST(AnswerView, FoldsReasoning) {
  for (size_t length : {1, 2, 5, 100}) {
    EXPECT_EQ(shown("\n<think>why\nnot</think>\n\nso", length, false, true), "<think>...</think>\n\nso") << length;
    EXPECT_EQ(shown("<think>why", length, false, true), "<think>...") << length;
    EXPECT_EQ(shown("so<think>why</think>", length, false, true), "so<think>why</think>") << length;
    EXPECT_EQ(shown("why</think>so", length, true, true), "<think>...</think>so") << length;
  }
  EXPECT_EQ(shown("<think>why</think>so", 100, false, true, true),
            "\x1b[2m<think>...\x1b[22m\x1b[2m</think>\x1b[22mso");
}

TEST(AnswerView, ReasoningMayBeOpen) {
  for (const char *end : {"<think>", "<|assistant|><think>\n", "<think> \n\n"})
    EXPECT_TRUE(AnswerView::opensReasoning(end)) << end;
  for (const char *end : {"", "<think>a", "<think>\n</think>\n", "<think", "\n"})
    EXPECT_FALSE(AnswerView::opensReasoning(end)) << end;
  for (size_t length : {1, 4, 100})
    EXPECT_EQ(shown("why</think>so", length, true), "<think>why</think>so") << length;
  EXPECT_EQ(shown("", 1, true), "") << "nothing came";
}

TEST(AnswerView, BeginsAnewWithEachAnswer) {
  AnswerView view(true);
  view.begin(false, false);
  EXPECT_EQ(view.show("<think>why"), "\x1b[2m<think>why\x1b[22m");
  EXPECT_EQ(view.show("</thi"), "");
  EXPECT_EQ(view.finish(), "\x1b[2m</thi\x1b[22m");
  EXPECT_EQ(view.finish(), "");
  view.begin(false, false);
  EXPECT_EQ(view.show("so"), "so");
}

} // namespace
