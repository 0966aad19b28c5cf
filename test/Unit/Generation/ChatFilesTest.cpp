// Files of a conversation, and how a model's text is shown on a terminal.
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Conversation/History.h"
#include "lib/Generation/CommandLine/Conversation/Messages.h"
#include "test/Unit/TemporaryFolder.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace rapt;
using namespace rapt::run;

namespace {

TEST(ChatMessages, AreReadAsTheyWereWritten) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path + "/talk.json";
  const std::vector<Message> messages = {
      {"system", "be \"brief\"\n"}, {"user", "é漢😀\t"}, {"assistant", ""}, {"user", "</s>"}, {"assistant", "\x1b[2J"}};
  ASSERT_TRUE(writeMessages(path, messages));
  const auto read = readMessages(path);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), messages.size());
  for (size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ((*read)[i].role, messages[i].role);
    EXPECT_EQ((*read)[i].content, messages[i].content);
  }
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_FALSE(writeMessages(folder.path + "/none/talk.json", messages));
}

TEST(ChatMessages, OthersAreRefused) {
  const auto why = [](const char *text) {
    const auto read = parseMessages(text);
    return read ? std::string() : read.error().message;
  };
  const std::string user = R"({"role": "user", "content": "a"})", answer = R"({"role": "assistant", "content": "b"})";
  const auto of = [&](const std::string &list) { return why((R"({"messages": [)" + list + "]}").c_str()); };
  EXPECT_EQ(of(user + "," + answer), "");
  EXPECT_EQ(of(""), "");
  EXPECT_NE(why("{"), "");
  EXPECT_EQ(why("[]"), R"(is no conversation: expected {"messages": [{"role": ..., "content": ...}, ...]})");
  EXPECT_EQ(why(R"({"messages": 3})"),
            R"(is no conversation: expected {"messages": [{"role": ..., "content": ...}, ...]})");
  EXPECT_EQ(of(user), "message 1 has no answer");
  EXPECT_EQ(of(answer), "message 1: the role is assistant; expected system or user");
  EXPECT_EQ(of(user + "," + user), "message 2: the role is user; expected assistant");
  EXPECT_EQ(of(user + "," + answer + R"(,{"role": "system", "content": ""})"),
            "message 3: the role is system; expected user");
  for (const char *message : {"3", R"({"role": "user"})", R"({"role": "user", "content": null})",
                              R"({"role": "user", "content": "a", "name": "b"})"})
    EXPECT_EQ(of(message), R"(message 1: expected an object with the texts "role" and "content" and nothing else)");
}

TEST(ChatHistory, IsOneFileOfTheUserAlone) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path + "/state/rapt/chat-history";
  const History history(path);
  EXPECT_TRUE(history.load().empty());
  history.add("one\ntwo");
  History(path).add("é"); // of another conversation
  history.add(std::string(1 << 17, 'x'));
  EXPECT_EQ(history.load(), (std::vector<std::string>{"one\ntwo", "é"}));
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  std::ofstream(path, std::ios::app) << "no JSON\n3\n\"whole\"\n\"cut off";
  EXPECT_EQ(history.load(), (std::vector<std::string>{"one\ntwo", "é", "whole"}));
}

TEST(ChatHistory, IsShortened) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path + "/history";
  {
    std::ofstream file(path);
    for (int i = 0; i < 3001; ++i)
      file << '"' << i << "\"\n";
  }
  const History history(path);
  for (int time = 0; time < 2; ++time) {
    const auto entries = history.load();
    ASSERT_EQ(entries.size(), 1000u);
    EXPECT_EQ(entries.front(), "2001");
  }
  std::ifstream file(path);
  std::string first;
  std::getline(file, first);
  EXPECT_EQ(first, "\"2001\"");
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(Console, ControlCharactersAreEscaped) {
  for (const auto &[text, shown] : {std::pair{"plain é漢😀\n\t", "plain é漢😀\n\t"},
                                    {"\x1b[2J\r\a\x7f", "\\x1B[2J\\x0D\\x07\\x7F"},
                                    {"\u009b2J\u0085", "\\x9B2J\\x85"},
                                    {"a\u202eb\u2066\u200f\u061c", "a\\u202Eb\\u2066\\u200F\\u061C"},
                                    {"\u00a0\u2030\u200d", "\u00a0\u2030\u200d"},
                                    {"\xff\xe6\xbc", "\\xFF\\xE6\\xBC"}})
    EXPECT_EQ(shownGenerated(text), shown);
}

} // namespace
