#include "lib/Generation/ChatTemplate.h"
#include "lib/Generation/Chat/Evaluator.h"
#include "lib/Generation/Chat/Parser.h"
#include "lib/Generation/Chat/Syntax.h"
#include "lib/Generation/Chat/Text.h"
#include "lib/Support/File.h"
#include "test/Unit/Folders.h"
#include <chrono>
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

/// So does what a tool's author wrote, names of members among it.
TEST(ChatTemplate, TellsNamesOfMembersApart) {
  Expected<ChatTemplate> chat =
      ChatTemplate::parse("{{ tools|tojson }}{{ tools[0] }}{% for k in tools[0] %}{{ k }}{% endfor %}");
  ASSERT_TRUE(bool(chat));
  Expected<std::vector<ChatPiece>> pieces = chat->render(*json::parse(R"({"tools": [{"</s>": 1}]})"), 0);
  ASSERT_TRUE(bool(pieces));
  for (const ChatPiece &piece : *pieces)
    EXPECT_EQ(piece.fromUser, piece.text == "</s>") << piece.text;
}

TEST(ChatTemplate, RefusesWithTheLine) {
  const std::string line2 = "chat template, line 2: ";
  const std::pair<const char *, const char *> cases[] = {
      {"\n{% include 'x' %}", "the tag 'include' needs another template, and a chat template stands alone"},
      {"\n{% do x %}", "the tag 'do' is none of Jinja's"},
      {"\n{{ 1|words }}", "the filter 'words' is none of Jinja's"},
      {"\n{{ 1 is big }}", "the test 'big' is none of Jinja's"},
      {"\n{% if 1 %}{{ 1|words }}{% endif %}", "the filter 'words' is none of Jinja's"},
      {"\n{{ [].append(1) }}", "'append' of list is not for templates"},
      {"\n{{ {}.__class__.x }}", "'__class__' of dict is not for templates"},
      {"\n{{ cycler() }}", "'cycler' needs items, and takes no names"},
      {"\n{{ dict(**5) }}", "'**' needs a dict, not int"},
      {"\n{{ range(a=1, a=2) }}", "the argument 'a' is given twice"},
      {"{% macro f(a) %}{% endmacro %}\n{{ f(b=1) }}", "the macro 'f' has no parameter 'b'"},
      {"{% macro f(a) %}{% endmacro %}\n{{ f(1, 2) }}", "too many arguments for the macro 'f'"},
      {"{% macro f(a) %}\n{{ a.b }}{% endmacro %}{{ f() }}", "the parameter 'a' was not given"},
      {"\n{% call range() %}{% endcall %}", "'range' needs 1 to 3 numbers"},
      {"\n{% call f %}{% endcall %}", "the tag 'call' needs a call"},
      {"\n{% block a %}{% endblock %}{% block a %}{% endblock %}", "the block 'a' stands here twice"},
      {"\n{% block a required %}{% endblock %}", "the block 'a' is required from another template, and there is none"},
      {"\n{% set true = 1 %}", "'true' cannot be set"},
      {"\n{{ dict([1]) }}", "int is not iterable"},
      {"\n{{ dict(['abc']) }}", "'dict' of a list needs pairs"},
      {"\n{{ {[]: 1} }}", "list is no key of a dict, since it can change"},
      {"\n{{ 1 is lt 'a' }}", "'<' between int and str"},
      {"\n{{ [1, 'a']|sort }}", "'<' between str and int"},
      {"\n{{ [1]|tojson(separators=',') }}", "'tojson' needs two strings for separators"},
      {"\n{{ range(3)|tojson }}", "'tojson' of range, which JSON lacks"},
      {"\n{{ 'a'|center(width='x') }}", "'center' needs a whole number, not str"},
      {"\n{{ 'a'|center(1, 2) }}", "'center' takes at most 1 arguments"},
      {"\n{{ 'a'|center(size=1) }}", "'center' has no parameter 'size'"},
      {"\n{{ 'a'|center(1, width=2) }}", "'center' is given 'width' twice"},
      {"\n{{ 'a'|replace('b') }}", "'replace' needs 'new'"},
      {"\n{{ 'a'.strip(5) }}", "'strip' needs a string, not int"},
      {"\n{{ '{x}'.format() }}", "'format' finds no 'x'"},
      {"\n{{ '{'.format() }}", "'format' has a '{' without its '}'"},
      {"\n{{ '%d' % 'a' }}", "'%d' of str"},
      {"\n{{ '%s %s' % 1 }}", "'%' has too few values for its format"},
      {"\n{{ '{:q}'.format(1) }}", "no format of int: 'q'"},
      {"\n{{ x.y.z }}", "'x' is undefined"},
      {"\n{{ {}.y.z }}", "dict has no 'y'"},
      {"\n{{ (1 if false).z }}", "the condition does not hold, and there is no 'else'"},
      {"\n{{ 'a' + 1 }}", "'+' between str and int"},
      {"\n{{ 1 < 'a' }}", "'<' between int and str"},
      {"\n{{ 1 // 0 }}", "a division by zero"},
      {"\n{{ (-8) ** 0.5 }}", "a fractional power of a negative number"},
      {"\n{{ range(100001) }}", "'range' has more than 100000 numbers"},
      {"\n{% for x in [1] %}{{ loop([2]) }}{% endfor %}", "the loop is called, but is not marked 'recursive'"},
      {"\n{% set a, b = [1] %}", "cannot unpack 1 items into 2 names"},
      {"\n{% set a.b = 1 %}", "'a' is no namespace, whose members could be set"},
      {"\n{% filter length %}{% endfilter %}", "the tag 'filter' makes no text, but int"},
      {"\n{{ 5() }}", "int cannot be called"},
      {"\n{% if 1 %}", "the template ends too early"},
      {"\n{{ 1 ", "an expression {{ is not closed"},
      {"\n{# x", "a comment {# is not closed"},
      {"\n{% raw %}x", "the tag 'raw' has no 'endraw'"},
      {"\n{{ 'x }}", "a string is not closed"},
      {"\n{{ '\\x1' }}", "a string has a bad escape"},
      {"\n{{ '\\N{DASH}' }}", "a string has an escape \\N, and names of characters are not supported: write \\u"},
      {"\n{{ ! }}", "unexpected character '!'"},
      {"\n{{ '{0.{a}}'.format(1) }}", "'format' has a '{' in the name of a field"},
      {"\n{% macro f(a, a) %}{% endmacro %}", "two parameters have the name 'a'"},
      {"\n{{ 1 is odd is even }}", "a test follows a test"},
      {"\n{{ 01 }}", "unexpected '1'"},
      {"\n{{ dict(x) }}", "'x' is undefined"},
      {"\n{% break %}", "'break' outside of a loop"},
      {"\n{% for loop in x %}{% endfor %}", "'loop' cannot be set in a loop"},
      {"\n{% macro m(caller) %}{{ caller }}{% endmacro %}", "the parameter 'caller' has no default"},
      {"\n{{ raise_exception('no') }}", "the template refuses these messages: no"},
  };
  for (const auto &[source, message] : cases)
    EXPECT_EQ(rendered(source), line2 + message);
}

/// What Jinja has and a template here has not.
TEST(ChatTemplate, NamesWhatIsNotSupported) {
  EXPECT_EQ(rendered("{{ [1]|random }}"), "chat template, line 1: the filter 'random' is not supported");
  EXPECT_EQ(rendered("{{ ''|striptags }}"), "chat template, line 1: the filter 'striptags' is not supported");
  EXPECT_EQ(rendered("{{ ''|urlize }}"), "chat template, line 1: the filter 'urlize' is not supported");
  EXPECT_EQ(rendered("{{ lipsum() }}"), "chat template, line 1: the function 'lipsum' is not supported");
  EXPECT_EQ(rendered("{{ 'a'.encode() }}"), "chat template, line 1: the method 'encode' is not supported");
  EXPECT_EQ(rendered("{{ (''|safe).striptags() }}"), "chat template, line 1: the method 'striptags' is not supported");
  EXPECT_EQ(rendered("{{ (''|safe).unescape() }}"), "chat template, line 1: the method 'unescape' is not supported");
  EXPECT_EQ(rendered("{{ (''|safe).escape('') }}"), "chat template, line 1: the method 'escape' is not supported");
  EXPECT_EQ(rendered("{{ ''.striptags() }}"), "chat template, line 1: str has no 'striptags'");
}

TEST(ChatTemplate, SnippetsEqualJinja) {
  setenv("TZ", "UTC", 1);
  Expected<std::string> content = readFile(test::inSource("/test/Unit/Generation/snippets.json"), 1 << 22);
  ASSERT_TRUE(bool(content)) << content.error().message;
  Expected<json::Value> snippets = json::parse(*content);
  ASSERT_TRUE(bool(snippets));
  const char *people =
      R"({"people": [{"name": "bo", "age": 3, "tags": ["x"]}, {"name": "Al", "age": 2}, {"name": "cy", "age": 3}]})";
  ASSERT_GE(snippets->asArray()->size(), 190u);
  for (const json::Value &snippet : *snippets->asArray()) {
    const json::Array &pair = *snippet.asArray();
    const std::string text = rendered(*pair[0].asString(), people);
    SCOPED_TRACE(*pair[0].asString());
    if (pair[1].isNull())
      EXPECT_TRUE(text.starts_with("chat template, line 1: ")) << text;
    else
      EXPECT_EQ(text, *pair[1].asString());
  }
}

/// `body` often enough for any bound, by loops in each other.
std::string often(const std::string &body) {
  return "{% for i in range(1000) %}{% for j in range(100000) %}" + body + "{% endfor %}{% endfor %}";
}

TEST(ChatTemplate, IsBounded) {
  auto fails = [](const std::string &source, const char *how) {
    const std::string message = rendered(source);
    EXPECT_NE(message.find(how), std::string::npos) << source.substr(0, 200) << "\n" << message.substr(0, 200);
  };
  fails(often(""), "takes more than 10000000 steps");
  fails(often("{{ 'x' * 1000 }}"), "writes more than 4194304 characters");
  fails("{{ 'x' * 4194305 }}", "too long");
  fails("{% set n = namespace(x='ab') %}" + often("{% set n.x = n.x ~ n.x %}"), "more than 4194304 characters");
  fails("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nested deeper than 400");
  fails(
      "{% macro f() %}" +
          [] {
            std::string ifs;
            for (int i = 0; i < 40; ++i)
              ifs += "{% if 1 %}";
            ifs += "{{ f() }}";
            for (int i = 0; i < 40; ++i)
              ifs += "{% endif %}";
            return ifs;
          }() +
          "{% endmacro %}{{ f() }}",
      "nested deeper than 400");
  fails("{{ " + std::string(101, '(') + "1" + std::string(101, ')') + " }}", "nested deeper than 100");
  fails("{{ " + std::string(101, '-') + "1 }}", "nested deeper than 100");
  std::string sum = "1", filters = "1";
  for (int i = 0; i < 401; ++i) {
    sum += "+1";
    filters += "|d";
  }
  fails("{{ " + sum + " }}", "more than 400 operators, filters or statements stand in each other");
  fails("{{ " + filters + " }}", "more than 400 operators");
  fails("{% set n = namespace(x=[]) %}" + often("{% set n.x = [n.x] %}"), "nests values deeper than 100");
  fails("{% set n = namespace(x=1) %}" + often("{% set n.x = cycler(n.x) %}"), "nests values deeper than 100");
  fails("{% set n = namespace(x=1) %}" + often("{% for y in [n.x] %}{% set n.x = loop %}{% endfor %}"),
        "nests values deeper than 100");
  fails("{% set n = namespace() %}{% set n.n = n %}" + often("{% set n.n = namespace(n=n.n) %}") + "{{ n }}",
        "takes more than 10000000 steps");
  fails("{% set n = namespace(n=1) %}{% for i in range(200) %}{% set n.n = namespace(n=n.n) %}{% endfor %}{{ n }}",
        "nests values deeper than 100");
  fails("{{ 10 ** 4300 }}", "shows a number of more than 4300 digits");
  fails("{{ 9 ** 99999 }}", "makes a number of more than 4300 digits");
  fails("{{ 1" + std::string(4300, '0') + " }}", "a number has more than 4300 digits");
}

/// The text or the error of a template that may take fewer steps.
std::string renderedIn(int64_t steps, const std::string &source) {
  Expected<chat::Syntax> syntax = chat::parseTemplate(source);
  if (!syntax)
    return syntax.error().message;
  chat::Bounds bounds;
  bounds.steps = steps;
  Expected<chat::Text> text = chat::Evaluator(*syntax, 0, bounds).render(*json::parse("{}"), {});
  return text ? chat::bytesOf(*text) : text.error().message;
}

/// A value of 2^30 others, of which each is made of two that are one: all that walks values counts each of them.
TEST(ChatTemplate, CountsValuesThatAreShared) {
  auto shared = [](const std::string &name, const std::string &first, const std::string &made) {
    return "{% set " + name + " = namespace(x=" + first + ") %}{% for i in range(30) %}{% set " + name +
           ".x = " + made + " %}{% endfor %}";
  };
  const std::string lists = shared("n", "[1]", "[n.x, n.x]") + shared("m", "[1]", "[m.x, m.x]");
  const std::string tuples = shared("n", "(1,)", "(n.x, n.x)");
  const std::string dicts = shared("n", "{1: 1}", "{1: n.x, 2: n.x}") + shared("m", "{1: 1}", "{1: m.x, 2: m.x}");
  for (const char *walk : {"{{ n.x }}", "{{ n.x|tojson }}", "{{ n.x|pprint }}", "{{ '%s' % [n.x] }}",
                           "{{ '{}'.format(n.x) }}", "{{ [n.x]|join }}", "{{ n.x ~ 1 }}", "{{ n.x == m.x }}"})
    for (const std::string &made : {lists, dicts})
      EXPECT_NE(renderedIn(100000, made + walk).find("takes more than 100000 steps"), std::string::npos) << walk;
  for (const char *walk : {"{{ n.x < m.x }}", "{{ n.x in [m.x] }}", "{{ [m.x].index(n.x) }}", "{{ [m.x].count(n.x) }}",
                           "{{ [m.x, n.x]|sort }}"})
    EXPECT_NE(renderedIn(100000, lists + walk).find("takes more than 100000 steps"), std::string::npos) << walk;
  for (const char *walk : {"{{ {n.x: 1} }}", "{{ [n.x]|unique|list }}", "{{ {}.get(n.x) }}", "{{ n.x in {} }}"})
    EXPECT_NE(renderedIn(100000, tuples + walk).find("takes more than 100000 steps"), std::string::npos) << walk;
}

/// Each walk over 5,000 values or 40,000 characters counts 5,000 steps: a hundred of them are too many, which a
/// hundred expressions alone are not.
TEST(ChatTemplate, CountsWhatIsWalked) {
  const std::string before =
      "{% set l = range(5000)|list %}{% set t = 'ab' * 20000 %}{% set d = {}.fromkeys(l) %}{% set u = 'ab' * 20000 %}";
  auto hundred = [&](const std::string &body) {
    return renderedIn(300000, before + "{% for i in range(100) %}{% set x = " + body + " %}{% endfor %}");
  };
  EXPECT_EQ(hundred("[i, l[i], t[i], d[i], l is none, t|default(1)]"), "");
  // Expressions, with ";;" between them.
  const std::string_view walks =
      R"(l|list ;; -1 in l ;; l[1:] ;; l + l ;; l * 2 ;; l.count(-1) ;; l.index(4999) ;; l|sum ;; l|max ;;
l|map('abs') ;; l|reverse ;; l|sort ;; l|unique ;; l|batch(9) ;; l|slice(9) ;; l|select('none') ;;
l|selectattr('a') ;; l|groupby(attribute=none) ;; l|join ;; l|last ;; l == l|list ;; cycler(*l) ;;
dict(**{}) == d or d|list ;; d.items()|list ;; dict(d) ;; namespace(d) ;; d == dict(d) ;;
d.values()|list ;; d|dictsort ;; d|items ;; {}.fromkeys(l) ;; range(5000)|list ;;
[l]|map('sum')|list ;; t.strip('ab') ;; t.find('x') ;; t.rfind('x') ;; t.count('bb') ;; 'x' in t ;;
t|upper ;; t == u ;; t < u ;; {t: 1} ;; t.split('x') ;; t.splitlines() ;; t|list ;;
t|replace('x', '') ;; t.isalpha() ;; t.islower() ;; t[1:] ;; t|e ;; t|wordcount ;; t|title ;;
t|trim ;; t|indent ;; t.partition('x') ;; t.startswith(u) ;; t ~ 1 ;; t + '1' ;; '%s' % t ;;
'{}'.format(t) ;; t|tojson ;; [t]|string ;; t|urlencode ;; t|wordwrap ;; t.translate({1: 2}) ;;
t.center(50000) ;; 'a'.center(50000) ;; '%50000d' % 1 ;; '{:50000}'.format(1) ;; t|reverse ;;
t.zfill(50000) ;; t.expandtabs() ;; d|xmlattr ;; t.removeprefix(u) ;; t.removesuffix(u))";
  for (size_t at = 0, end; at < walks.size(); at = end + 2) {
    end = std::min(walks.find(";;", at), walks.size());
    const std::string walk(walks.substr(at, end - at));
    EXPECT_NE(hundred(walk).find("takes more than 300000 steps"), std::string::npos) << walk;
  }
  for (const char *body : {"{% for x in l %}{% endfor %}", "{{ t }}"})
    EXPECT_NE(renderedIn(300000, before + "{% for i in range(100) %}" + body + "{% endfor %}").find("steps"),
              std::string::npos)
        << body;
}

/// A number of many digits takes time by their square to read and to write; each named argument is a step.
TEST(ChatTemplate, CountsDigitsAndNames) {
  const std::string text = "{% set n = '9' * 4000 %}", number = "{% set n = ('9' * 4000)|int %}",
                    names = "{% set n = {}.fromkeys(range(5000)|map('string')) %}";
  auto often = [](const std::string &before, const std::string &body) {
    return renderedIn(600000, before + "{% for i in range(200) %}{% set x = " + body + " %}{% endfor %}");
  };
  for (const std::string &before : {text, number, names})
    EXPECT_EQ(often(before, "[n, i]"), "");
  const std::pair<std::string, const char *> walks[] = {
      {text, "n|int"}, {number, "'%d' % n"}, {number, "'{:x}'.format(n)"}, {number, "n|string"}, {names, "dict(**n)"}};
  for (const auto &[before, walk] : walks)
    EXPECT_NE(often(before, walk).find("takes more than 600000 steps"), std::string::npos) << walk;
}

/// Names of parameters and arguments are not compared with each other.
TEST(ChatTemplate, HasManyArguments) {
  std::string parameters, arguments;
  for (int i = 0; i < 60000; ++i) {
    parameters += "a" + std::to_string(i) + ",";
    arguments += "a" + std::to_string(i) + "=1,";
  }
  parameters += "z";
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(rendered("{% macro m(" + parameters + ") %}{% endmacro %}"), "");
  EXPECT_EQ(rendered("{{ dict(" + arguments + ")|length }}"), "60000");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  EXPECT_NE(renderedIn(100000, "{% macro m(" + parameters + ") %}{% endmacro %}{{ m(z=1, a1=2, a0=3) }}").find("steps"),
            std::string::npos);
}

/// Comparing two lists takes a step for each pair of elements, even where an element is a number.
TEST(ChatTemplate, CountsElementsThatDiffer) {
  const std::string lists = "{% set a = range(5000)|list %}{% set b = range(5000)|list %}";
  for (const char *walk : {"a == b", "a < b", "[a] == [b]"}) {
    const std::string loop = lists + "{% for i in range(100) %}{% set x = " + walk + " %}{% endfor %}";
    EXPECT_NE(renderedIn(300000, loop).find("takes more than 300000 steps"), std::string::npos) << walk;
    EXPECT_EQ(renderedIn(900000, loop), "") << walk;
  }
}

/// Values count as long as they live.
TEST(ChatTemplate, CountsWhatIsKept) {
  EXPECT_NE(
      rendered("{% set t = 'x' * 100000 %}{% set n = namespace(y=()) %}" + often("{% set n.y = n.y + (t ~ i,) %}"))
          .find("keeps more than 128 MiB of values"),
      std::string::npos);
  EXPECT_EQ(rendered("{% for i in range(9) %}{% set x = 'x' * 4000000 %}{% endfor %}fine"), "fine");
}

TEST(ChatTemplate, TellsWhatKeepsItFromWriting) {
  auto problem = [](const char *source) { return findChatProblem(source, "{}").value_or("none"); };
  EXPECT_EQ(problem("{% for m in messages %}{{ m.content }}{% endfor %}"), "none");
  EXPECT_EQ(problem("{{ 1|words }}"),
            "chat template, line 1: the filter 'words' is none of Jinja's; rapt-run --chat will refuse it");
  EXPECT_EQ(problem("{{ messages[0].x.y }}"), "chat template, line 1: dict has no 'x'; rapt-run --chat will fail");
  EXPECT_EQ(problem("{{ messages[0].content }}{% if tools %}{{ tools[0].x.y }}{% endif %}"),
            "chat template, line 1: dict has no 'x'; a chat with tools cannot be written");
  EXPECT_EQ(problem("{{ messages[0].content }}{% if tools %}{{ raise_exception('no tools') }}{% endif %}"), "none");
  EXPECT_EQ(problem(""), "none");
  EXPECT_EQ(problem("{% for m in messages %}{% for part in m.content if part is mapping %}{{ part.text }}{% endfor %}"
                    "{% endfor %}"),
            "none");
  EXPECT_EQ(problem("{% for m in messages %}<{{ m.role }}>{% endfor %}"),
            "the chat template leaves out what the messages say; rapt-run --chat will refuse it");
  // A template of its own for tools.
  auto ofTwo = [](const std::string &usual, const std::string &tool) {
    const std::string list =
        R"([{"name": "default", "template": ")" + usual + R"("}, {"name": "tool_use", "template": ")";
    return findChatProblem("", R"({"chat_template": )" + list + tool + R"("}]})").value_or("none");
  };
  EXPECT_EQ(ofTwo("{{ messages[0].content }}", "{{ tools[0].function.name }}"), "none");
  EXPECT_EQ(ofTwo("{{ messages[0].content }}", "{{ 1|words }}"),
            "chat template, line 1: the filter 'words' is none of Jinja's; a chat with tools cannot be written");
  EXPECT_EQ(ofTwo("{{ messages[0].content }}", "{{ tools[0].x.y }}"),
            "chat template, line 1: dict has no 'x'; a chat with tools cannot be written");
  EXPECT_TRUE(ofTwo("{{ tools[0].x.y }}", "x").ends_with("; rapt-run --chat will fail"));
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
  EXPECT_EQ(found("", R"({"chat_template": {"rag": "r", "default": "d"}})"), "d");
  EXPECT_EQ(found("", R"({"chat_template": [{"name": "rag", "template": "r"}]})"),
            "none of the chat templates is named \"default\"");
  const char *both =
      R"({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]})";
  EXPECT_EQ(found("", both), "d");
  EXPECT_EQ(findChatTemplate("", both, /*hasTools=*/true)->value(), "t");
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

/// A tree of a million levels, which recursion could not free.
TEST(ChatTemplate, FreesTreesWithoutRecursion) {
  chat::NodePtr tree;
  for (int level = 0; level < 1'000'000; ++level) {
    chat::NodePtr parent(new chat::Node{chat::NodeKind::Not, 1});
    (level % 3 ? parent->children.emplace_back() : parent->condition) = std::move(tree);
    tree = std::move(parent);
  }
  tree.reset();
  EXPECT_FALSE(tree);
}
