// Conversations with models in C, whose answers are a hash of all tokens in the cache: one that was left there
// wrongly, or read at another place, changes them.
#include "lib/Generation/CommandLine/Conversation/Conversation.h"
#include "lib/Generation/CommandLine/Conversation/ChatCommands.h"
#include "lib/Generation/CommandLine/Tasks.h"
#include "test/Unit/Runtime/FakeModel.h"
#include <algorithm>

using namespace rapt;
using rapt::run::Conversation;
using rapt::run::Ids;

namespace {

constexpr const char *jinja = "{% for m in messages %}{{ m.role[0] }}{{ m.content }}|{% endfor %}a";
constexpr int endId = 256, newTokens = 8;

/// A conversation with a model of test/fake, and what it printed.
struct Talk {
  std::string printed;
  std::function<void()> onText = [] {};
  std::unique_ptr<Conversation> conversation;

  explicit Talk(const std::string &library, run::Options options = {}, const char *source = jinja) {
    options.library = test::inBuild("/test/fake/" + library + ".so");
    options.maxNewTokens = options.maxNewTokens.value_or(newTokens);
    options.temperature = options.temperature.value_or(0);
    run::Model model;
    run::Text text;
    EXPECT_TRUE(run::openModule(options, model));
    EXPECT_TRUE(run::openText(model, true, text));
    text::ChatTemplate chat;
    const Outcome opened = text::ChatTemplate::open(text::viewOf(source), {}, chat);
    EXPECT_TRUE(opened) << opened.message;
    conversation = std::make_unique<Conversation>(options, std::move(model), std::move(text), std::move(chat),
                                                  [this](std::string_view piece) {
                                                    printed += piece;
                                                    onText();
                                                    return Status();
                                                  });
    const Outcome outcome = conversation->open();
    EXPECT_TRUE(outcome) << outcome.message;
  }
  Conversation *operator->() const { return conversation.get(); }
  /// The answer to a message; what is wrong where there is none.
  std::string answer(const std::string &message) {
    printed.clear();
    const Outcome outcome = conversation->say(message);
    return outcome ? printed : outcome.message;
  }
  std::string retry() {
    printed.clear();
    const Outcome outcome = conversation->retry();
    return outcome ? printed : outcome.message;
  }
  /// "user: a, assistant: b"
  std::string roles() const {
    std::string all;
    for (const run::Message &one : conversation->messages())
      all += (all.empty() ? "" : ", ") + one.role + ": " + one.content;
    return all;
  }
};

/// The ids of the text that the template writes: a token a byte.
Ids promptOf(const std::vector<run::Message> &messages, const std::string &message) {
  std::string text;
  for (const run::Message &one : messages)
    text += one.role.substr(0, 1) + one.content + "|";
  text += "u" + message + "|a";
  Ids ids;
  for (char c : text)
    ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

/// The most likely tokens behind a prompt, by the test's own logits of the model in C.
Ids expectedTokens(Ids text) {
  const size_t given = text.size();
  while (text.size() < given + newTokens) {
    int best = 0;
    for (int v = 1; v < test::vocabulary; ++v)
      if (test::expectedLogit(text, int64_t(text.size()) - 1, v) >
          test::expectedLogit(text, int64_t(text.size()) - 1, best))
        best = v;
    if (best == endId)
      break;
    text.push_back(best);
  }
  text.erase(text.begin(), text.begin() + ptrdiff_t(given));
  return text;
}

std::string textOf(const Talk &talk, const Ids &ids) {
  run::Text text;
  std::string content;
  EXPECT_TRUE(run::openText(talk->getModel(), true, text));
  EXPECT_TRUE(text.writer.decode(ids, content));
  return content;
}

size_t commonPrefix(const Ids &a, const Ids &b) {
  return size_t(std::mismatch(a.begin(), a.begin() + ptrdiff_t(std::min(a.size(), b.size())), b.begin()).first -
                a.begin());
}

TEST(Conversation, AnswersFollowAllThatWasSaid) {
  Talk talk("fake");
  Ids held; // what the cache must hold
  for (const char *message : {"one", "two", "", "a longer message of several words", "x"}) {
    const Ids prompt = promptOf(talk->messages(), message), made = expectedTokens(prompt);
    const size_t common = std::min(commonPrefix(held, prompt), prompt.size() - 1);
    EXPECT_EQ(talk.answer(message), textOf(talk, made)) << message;
    EXPECT_EQ(talk->lastAnswer().prompt, prompt.size());
    EXPECT_EQ(talk->lastAnswer().cached, common) << message;
    EXPECT_EQ(talk->lastAnswer().made, made.size());
    held = prompt;
    held.insert(held.end(), made.begin(), made.end());
    if (made.size() == newTokens)
      held.pop_back(); // the last one was not read
    EXPECT_EQ(talk->tokensInCache(), int64_t(held.size()));
  }
  EXPECT_GT(talk->lastAnswer().cached, 50u);
}

TEST(Conversation, UndoTruncatesTheCache) {
  Talk talk("fake");
  const std::string first = talk.answer("one"), second = talk.answer("two");
  ASSERT_TRUE(talk->undo());
  EXPECT_EQ(talk.roles(), "user: one, assistant: " + first);
  // "uone|a" and the answer as far as its text gives the same tokens; at most "|u" behind it.
  EXPECT_LE(talk->tokensInCache(), int64_t(promptOf(talk->messages(), "").size()));
  EXPECT_EQ(talk.answer("two"), second);
  ASSERT_TRUE(talk->undo());
  ASSERT_TRUE(talk->undo());
  EXPECT_EQ(talk->tokensInCache(), 1) << "the letter of the role begins every conversation";
  EXPECT_EQ(talk->undo().message, "there is no message to undo");
  EXPECT_EQ(talk->retry().message, "there is no message to answer again");
  EXPECT_EQ(talk.answer("one"), first);
  ASSERT_TRUE(talk->clear());
  EXPECT_EQ(talk->tokensInCache(), 0);
  EXPECT_EQ(talk.roles(), "");
}

TEST(Conversation, RetryDrawsAnew) {
  run::Options options;
  options.temperature = 1;
  options.seed = 7;
  Talk talk("fake", options), other("fake", options);
  const std::string first = talk.answer("one");
  EXPECT_EQ(other.answer("one"), first) << "the seed decides";
  const std::string second = talk.retry();
  EXPECT_NE(first, second);
  EXPECT_EQ(talk.roles(), "user: one, assistant: " + second);
  EXPECT_EQ(talk->lastAnswer().cached, talk->lastAnswer().prompt - 1);
  ASSERT_TRUE(talk->set("temp", "0"));
  const std::string greedy = talk.retry();
  EXPECT_EQ(talk.retry(), greedy);
}

TEST(Conversation, SettingsAreThoseOfTheCommandLine) {
  Talk talk("fake");
  const std::string eight = talk.answer("one");
  EXPECT_EQ(talk->settings(), "greedy");
  ASSERT_TRUE(talk->set("n", "2"));
  ASSERT_TRUE(talk->set("temperature", "0.5"));
  ASSERT_TRUE(talk->set("seed", "3"));
  EXPECT_EQ(talk->settings(), "seed 3, temperature 0.5, top-k 0, top-p 1, min-p 0; set: max-new-tokens 2, temperature "
                              "0.5, seed 3");
  talk.retry();
  EXPECT_EQ(talk->lastAnswer().made, 2u);
  EXPECT_EQ(talk->lastAnswer().reason, "length");
  EXPECT_EQ(talk->set("temperature", "hot").error().message,
            "invalid value 'hot' for temperature; expected a number from 0 on");
  EXPECT_EQ(talk->set("threads", "2").error().message,
            "there is no setting threads; expected temperature, top-k, top-p, min-p, repetition-penalty, seed, stop, "
            "no-repeat-ngram, max-new-tokens, min-new-tokens or think");
  for (const char *name : {"temp", "max-new-tokens", "seed"})
    ASSERT_TRUE(talk->set(name, "default"));
  EXPECT_EQ(talk->settings(), "greedy");
  EXPECT_EQ(talk.retry(), eight);
}

TEST(Conversation, WhatDoesNotFitIsRefusedUnread) {
  run::Options options;
  options.context = 64;
  Talk talk("fake", options);
  talk.answer("one");
  const std::string before = talk.roles();
  const int64_t held = talk->tokensInCache();
  const std::string message(60, 'x');
  const size_t tokens = promptOf(talk->messages(), message).size();
  EXPECT_EQ(talk.answer(message),
            "the prompt has " + std::to_string(tokens) + " tokens and 8 new ones are asked for, together " +
                std::to_string(tokens + 8) + "; the cache (--context) holds 64 tokens; --context gives a larger one; " +
                std::to_string(held) +
                " tokens of the cache hold the conversation so far: /undo takes back a message, /clear all of them");
  EXPECT_EQ(talk.roles(), before);
  EXPECT_EQ(talk->tokensInCache(), held);
  const Outcome longSystem = talk->setSystem(message);
  EXPECT_EQ(longSystem.status, RAPT_TOO_LONG);
  EXPECT_NE(longSystem.message.find("/undo takes back a message"), std::string::npos) << longSystem.message;
  EXPECT_FALSE(talk->getSystem());
  // What replaces the conversation finds no more room where there is none.
  const Outcome loaded = talk->setMessages({{"user", message}, {"assistant", "y"}});
  EXPECT_EQ(loaded.status, RAPT_TOO_LONG);
  EXPECT_TRUE(loaded.message.ends_with("; the cache (--context) holds 64 tokens; --context gives a larger one"))
      << loaded.message;
  EXPECT_EQ(talk.roles(), before);
}

TEST(Conversation, KnowsWhereReasoningIsOpen) {
  Talk plain("fake"), open("fake", {}, "{{ messages[-1].content }}<think>\n");
  plain.answer("<think>");
  EXPECT_FALSE(plain->isReasoningOpen()) << "the prompt goes on behind the message";
  open.answer("one");
  EXPECT_TRUE(open->isReasoningOpen());
  EXPECT_FALSE(open->foldsReasoning());
  ASSERT_TRUE(open->set("think", "hide"));
  EXPECT_TRUE(open->foldsReasoning());
  EXPECT_EQ(open->settings(), "greedy; set: think hide");
  EXPECT_EQ(open->set("think", "no").error().message, "invalid value 'no' for think; expected show or hide");
  ASSERT_TRUE(open->set("think", "default"));
  EXPECT_FALSE(open->foldsReasoning());
}

TEST(Conversation, ACancelKeepsWhatWasSaid) {
  Talk talk("fake");
  const std::string whole = talk.answer("one");
  ASSERT_TRUE(talk->undo());
  talk.onText = [&] { rapt_cancel(talk->getModel().context.get()); };
  const std::string part = talk.answer("one");
  talk.onText = [] {};
  EXPECT_EQ(talk->lastAnswer().reason, "interrupted");
  EXPECT_EQ(talk.roles(), "user: one, assistant: " + part);
  EXPECT_LT(part.size(), whole.size());
  const Ids prompt = promptOf(talk->messages(), "two");
  EXPECT_EQ(talk.answer("two"), textOf(talk, expectedTokens(prompt)));

  // Before there is a text, the message is taken back, or the answer before stays.
  const std::string before = talk.roles();
  rapt_cancel(talk->getModel().context.get());
  EXPECT_EQ(talk.answer("three"), "stopped before the answer began: the message is taken back");
  rapt_cancel(talk->getModel().context.get());
  EXPECT_EQ(talk.retry(), "stopped before the answer began: the one before it is kept");
  EXPECT_EQ(talk.roles(), before);
  rapt_cancel(talk->getModel().context.get());
  talk->dropCancel();
  const Ids next = promptOf(talk->messages(), "three");
  EXPECT_EQ(talk.answer("three"), textOf(talk, expectedTokens(next)));
}

TEST(Conversation, TheSystemMayBeChanged) {
  Talk talk("fake");
  talk.answer("one");
  ASSERT_TRUE(talk->setSystem("be brief"));
  EXPECT_EQ(talk->messages()[0].content, "be brief");
  const Ids prompt = promptOf(talk->messages(), "two");
  EXPECT_EQ(talk.answer("two"), textOf(talk, expectedTokens(prompt)));
  ASSERT_TRUE(talk->setSystem(std::nullopt));
  EXPECT_EQ(talk->messages()[0].role, "user");

  Talk refusing(
      "fake", {},
      "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}{{ messages[-1].content }}");
  EXPECT_NE(refusing->setSystem("be").message.find("no system"), std::string::npos);
  EXPECT_FALSE(refusing->getSystem());
}

TEST(Conversation, OtherModelsHoldNone) {
  const test::FakeCopy copy;
  test::patch(copy.library(), "\"decoder\"", "\"encoder\"");
  run::Options options;
  options.library = copy.library();
  run::Model model;
  ASSERT_TRUE(run::openModule(options, model));
  testing::internal::CaptureStderr();
  options.converses = true;
  EXPECT_EQ(run::runTask(options, std::move(model)), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "rapt-run: error: fake: encoder cannot hold a conversation; give it something to run, as rapt-run " +
                copy.library() + " says\n");
}

/// Models whose layers keep the last tokens alone, all of them or some.
class ForgetfulModels : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Generation, ForgetfulModels,
                         testing::Values("fake", "fake-window-3", "fake-window-11", "fake-mixed-3", "fake-mixed-8"));

/// Answers of a long conversation are those of one that reads all messages at once.
TEST_P(ForgetfulModels, AnswerAsOneThatReadsAllAtOnce) {
  Talk talk(GetParam());
  auto expect = [&](const std::string &answer) {
    Talk fresh(GetParam());
    std::vector<run::Message> messages = talk->messages();
    const std::string last = messages[messages.size() - 2].content;
    messages.resize(messages.size() - 2);
    ASSERT_TRUE(fresh->setMessages(messages));
    EXPECT_EQ(fresh.answer(last), answer) << last;
  };
  for (const char *message : {"the first of all messages", "two", "a third one, which is longer", "four", "five"}) {
    expect(talk.answer(message));
    expect(talk.retry());
    EXPECT_EQ(talk->lastAnswer().cached, talk->lastAnswer().prompt - 1) << "no token is read again for " << message;
  }
  ASSERT_TRUE(talk->undo());
  ASSERT_TRUE(talk->undo());
  expect(talk.answer("other"));
  EXPECT_GT(talk->lastAnswer().cached, 40u);
}

TEST(ChatCommands, AreToldFromMessages) {
  for (const char *line : {"/help", "/set temp 1", "/x"})
    EXPECT_TRUE(run::ChatCommands::isCommand(line)) << line;
  for (const char *line : {"", "/", "help", " /help", "/usr/bin", "/ x", "/help\nme", "/3"})
    EXPECT_FALSE(run::ChatCommands::isCommand(line)) << line;
}

TEST(ChatCommands, Run) {
  Talk talk("fake");
  run::Options options;
  options.library = test::inBuild("/test/fake/fake.so");
  std::string told;
  run::ChatCommands commands(options, *talk.conversation, [&](const std::string &line) { told += line + "\n"; });
  auto run = [&](const std::string &line) {
    told.clear();
    const Outcome outcome = commands.run(line);
    return outcome ? told : outcome.message;
  };
  const test::TemporaryFolder folder;
  const std::string file = folder.path + "/a talk.json";
  EXPECT_NE(run("/help").find("/undo"), std::string::npos);
  EXPECT_EQ(run("/stat"),
            "there is no command /stat; did you mean /stats? /help lists them; a message may begin with a blank");
  EXPECT_EQ(run("/quit"), "there is no command /quit; /help lists them; a message may begin with a blank");
  EXPECT_EQ(run("/save"), "/save needs FILE");
  EXPECT_EQ(run("/undo 2"), "/undo takes no argument");
  EXPECT_EQ(run("/system be brief"), "");
  EXPECT_EQ(run("/save " + file), "1 message is in " + file + "\n");
  EXPECT_EQ(run("/load " + file), "1 message of " + file + " replaces the conversation\n");
  const std::string answer = talk.answer("one");
  EXPECT_EQ(run("/save " + file), "3 messages are in " + file + "\n");
  EXPECT_EQ(run("/stats").substr(0, 44), "16 tokens before the answer, 0 of them in th");
  const std::string said = talk.roles();
  EXPECT_EQ(run("/undo"), "11 of 256 tokens are in the cache\n");
  EXPECT_EQ(run("/clear"), "");
  EXPECT_EQ(run("/system"), "");
  EXPECT_EQ(talk.roles(), "");
  EXPECT_EQ(run("/load " + file), "3 messages of " + file + " replace the conversation\n");
  EXPECT_EQ(talk.roles(), said);
  EXPECT_EQ(run("/load " + file + "x"), file + "x: No such file or directory");
  EXPECT_NE(run("/save " + options.library).find("the model"), std::string::npos);
  EXPECT_EQ(run("/set n 3"), "greedy; set: max-new-tokens 3\n");
  EXPECT_EQ(run("/set"), "greedy; set: max-new-tokens 3\n");
  EXPECT_EQ(run("/retry"), "");
  EXPECT_EQ(talk->lastAnswer().made, 3u);
  EXPECT_FALSE(commands.isOver());
  EXPECT_EQ(run("/exit"), "");
  EXPECT_TRUE(commands.isOver());
}

} // namespace
