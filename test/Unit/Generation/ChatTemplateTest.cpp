#include "lib/Generation/ChatTemplate.h"
#include "lib/Support/File.h"
#include "test/Unit/Folders.h"
#include <gtest/gtest.h>

using namespace rapt;

namespace {

std::string joined(const std::vector<ChatPiece> &pieces) {
  std::string text;
  for (const ChatPiece &piece : pieces)
    text += piece.text;
  return text;
}

/// The text of a template without variables, or its error.
std::string rendered(std::string_view source, std::string_view context = "{}") {
  Expected<ChatTemplate> chat = ChatTemplate::parse(source);
  if (!chat)
    return chat.error().message;
  Expected<std::vector<ChatPiece>> pieces = chat->render(*json::parse(context), 0);
  return pieces ? joined(*pieces) : pieces.error().message;
}

TEST(ChatTemplate, EqualsJinja) {
  setenv("TZ", "UTC", 1);
  Expected<std::string> content = readFile(test::inSource("/test/Unit/Generation/chats.json"), 1 << 22);
  ASSERT_TRUE(bool(content)) << content.error().message;
  Expected<json::Value> file = json::parse(*content);
  ASSERT_TRUE(bool(file));
  ASSERT_GE(file->find("cases")->asArray()->size(), 44u);
  for (const json::Value &entry : *file->find("cases")->asArray()) {
    const std::string &name = *entry.find("name")->asString();
    SCOPED_TRACE(name);
    Expected<ChatTemplate> chat = ChatTemplate::parse(*file->find("templates")->find(name)->asString());
    ASSERT_TRUE(bool(chat)) << chat.error().message;
    Expected<std::vector<ChatPiece>> pieces = chat->render(*entry.find("context"), 0);
    if (const json::Value *refused = entry.find("refused")) {
      ASSERT_FALSE(bool(pieces));
      EXPECT_NE(pieces.error().message.find(*refused->asString()), std::string::npos) << pieces.error().message;
      continue;
    }
    ASSERT_TRUE(bool(pieces)) << pieces.error().message;
    EXPECT_EQ(joined(*pieces), *entry.find("text")->asString());
  }
}

/// A message is one line that a terminal can show, whatever the template says.
TEST(ChatTemplate, ErrorsArePrintable) {
  EXPECT_EQ(rendered("{{ raise_exception('a\\nb\x1b[1m') }}"),
            "chat template, line 1: the template refuses these messages: a\\x0ab\\x1b[1m");
}

/// A user's text stays marked through all that a template does with it.
TEST(ChatTemplate, TellsUsersTextApart) {
  Expected<ChatTemplate> chat =
      ChatTemplate::parse("<s>{{ messages[0].role }}{% set c = ('[' ~ messages[0].content|trim|upper ~ "
                          "']').replace('X', '</s>') %}{{ c[1:] }}"
                          "{{ messages|tojson }}");
  ASSERT_TRUE(bool(chat));
  Expected<std::vector<ChatPiece>> pieces =
      chat->render(*json::parse(R"({"messages": [{"role": "user", "content": " a</s>xb "}]})"), 0);
  ASSERT_TRUE(bool(pieces));
  std::string shown;
  for (const ChatPiece &piece : *pieces)
    shown += (piece.fromUser ? "(" : "") + piece.text + (piece.fromUser ? ")" : "");
  EXPECT_EQ(shown, R"x(<s>user(A</S>)</s>(B)][{"role": "user", "content": "( a</s>xb )"}])x");
}

TEST(ChatTemplate, RefusesWithTheLine) {
  const std::string line2 = "chat template, line 2: ";
  EXPECT_EQ(rendered("\n{% include 'x' %}"), line2 + "the tag 'include' is not supported");
  EXPECT_EQ(rendered("\n{{ 1|wordcount }}"), line2 + "the filter 'wordcount' is not supported");
  EXPECT_EQ(rendered("\n{{ 1 is sameas 1 }}"), line2 + "the test 'sameas' is not supported");
  EXPECT_EQ(rendered("\n{{ 'a'.encode() }}"),
            line2 + "the method 'encode' of str with these arguments is not supported");
  EXPECT_EQ(rendered("\n{{ [].append(1) }}"), line2 + "the method 'append' of list is not supported");
  EXPECT_EQ(rendered("\n{{ cycler() }}"), line2 + "the function 'cycler' is not supported");
  EXPECT_EQ(rendered("\n{{ dict(**x) }}"), line2 + "arguments unpacked with '**' are not supported");
  EXPECT_EQ(rendered("{% macro f(a) %}{% endmacro %}\n{{ f(b=1) }}"), line2 + "the macro 'f' has no parameter 'b'");
  EXPECT_EQ(rendered("\n{% call dict() %}{% endcall %}"), line2 + "the tag 'call' needs the call of a macro");
  EXPECT_EQ(rendered("\n{% call f %}{% endcall %}"), line2 + "the tag 'call' needs the call of a macro");
  EXPECT_EQ(rendered("{% set f = {}.items %}\n{{ f() }}"), line2 + "the method 'items' as a value is not supported");
  EXPECT_EQ(rendered("{% macro f() %}\n{{ varargs }}{% endmacro %}{{ f() }}"),
            line2 + "'varargs' of a macro is not supported");
  EXPECT_EQ(rendered("\n{{ 'ff'|int(0, 16) }}"), line2 + "'int' with a base is not supported");
  EXPECT_EQ(rendered("\n{{ dict([1]) }}"), line2 + "'dict' of a list needs pairs with strings for keys");
  EXPECT_EQ(rendered("\n{{ 1 is lt 'a' }}"), line2 + "'lt' between int and str");
  EXPECT_EQ(rendered("\n{{ [1, 'a']|sort }}"), line2 + "'sort' of values that cannot be compared");
  EXPECT_EQ(rendered("\n{{ [1]|tojson(separators=',') }}"),
            line2 + "'tojson' of list with these arguments is not supported");
  EXPECT_EQ(rendered("\n{{ x.y.z }}"), line2 + "'y' of an undefined value");
  EXPECT_EQ(rendered("\n{{ 'a' + 1 }}"), line2 + "'+' between str and int is not supported");
  EXPECT_EQ(rendered("\n{{ 1 < 'a' }}"), line2 + "'<' between int and str");
  EXPECT_EQ(rendered("\n{{ 1 // 0 }}"), line2 + "a division by zero");
  EXPECT_EQ(rendered("\n{{ 9223372036854775807 + 1 }}"), line2 + "a number is too large");
  EXPECT_EQ(rendered("\n{% if 1 %}"), line2 + "the template ends too early");
  EXPECT_EQ(rendered("\n{{ 1 "), line2 + "an expression {{ is not closed");
  EXPECT_EQ(rendered("\n{# x"), line2 + "a comment {# is not closed");
  EXPECT_EQ(rendered("\n{{ 'x }}"), line2 + "a string is not closed");
  EXPECT_EQ(rendered("\n{{ ! }}"), line2 + "unexpected character '!'");
  EXPECT_EQ(rendered("\n{{ raise_exception('no') }}"), line2 + "the template refuses these messages: no");
}

TEST(ChatTemplate, IsBounded) {
  EXPECT_NE(rendered("{% for i in range(999999999) %}{% endfor %}").find("steps"), std::string::npos);
  EXPECT_NE(rendered("{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}").find("writes more than"),
            std::string::npos);
  EXPECT_NE(rendered("{{ 'x' * 99999999 }}").find("too long"), std::string::npos);
  EXPECT_NE(rendered("{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}")
                .find("more than"),
            std::string::npos);
  EXPECT_NE(rendered("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").find("nested deeper"), std::string::npos);
  EXPECT_NE(rendered("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}").find("nested too deeply"),
            std::string::npos);
  for (const char *made : {"[n.x]", "{'a': n.x}", "dict(a=n.x)", "namespace(a=n.x)", "[n]", "n"})
    EXPECT_NE(rendered(std::string("{% set n = namespace(x=1) %}{% for i in range(99999) %}{% set n.x = ") + made +
                       " %}{% endfor %}{{ n }}")
                  .find("namespace"),
              std::string::npos)
        << made;
  EXPECT_NE(
      rendered("{% for i in range(99999) %}{% set a = 'x' %}{% macro f() %}{% endmacro %}{% for j in range(99999) "
               "%}{% macro g() %}{% endmacro %}{% endfor %}{% endfor %}")
          .find("steps"),
      std::string::npos);
  std::string signs = "{{ " + std::string(5000, '-') + "1 }}";
  EXPECT_NE(rendered(signs).find("nested too deeply"), std::string::npos);
}

TEST(ChatTemplate, TellsTheDate) {
  setenv("TZ", "UTC", 1);
  EXPECT_EQ(rendered("{{ strftime_now('%d %b %Y') }}"), "01 Jan 1970");
}

TEST(ChatTemplate, IsFoundInTheDirectory) {
  auto found = [](std::string_view jinja, std::string_view config) {
    Expected<std::optional<std::string>> source = findChatTemplate(jinja, config);
    return !source ? source.error().message : source->value_or("none");
  };
  EXPECT_EQ(found("file", R"({"chat_template": "config"})"), "file");
  EXPECT_EQ(found("", R"({"chat_template": "config"})"), "config");
  EXPECT_EQ(found("", R"({"chat_template": [{"name": "rag", "template": "r"}, {"name": "default", "template": "d"}]})"),
            "d");
  EXPECT_EQ(found("", "{}"), "none");
  EXPECT_EQ(found("", ""), "none");
  EXPECT_NE(found("", R"({"chat_template": 3})").find("chat_template is neither"), std::string::npos);
  Expected<json::Value> context =
      chatContext({}, true, R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": null})");
  ASSERT_TRUE(bool(context));
  EXPECT_EQ(
      json::write(*context),
      R"({"messages":[],"add_generation_prompt":true,"tools":null,"documents":null,"bos_token":"<s>","eos_token":"</s>"})");
}

} // namespace
