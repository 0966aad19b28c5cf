// The C++ header gives back what it holds.
#include "FakeModel.h"
#include "rapt/rapt.hpp"

using namespace rapt::test;

namespace {

TEST(Raii, EverythingTogether) {
  rapt::Module module;
  rapt::Pool pool;
  ASSERT_TRUE(rapt::Module::open(rapt::test::inBuild("/test/fake/fake.so").c_str(), module));
  ASSERT_TRUE(rapt::Pool::make(2, pool));
  EXPECT_EQ(module.info().vocabulary, vocabulary);
  auto options = rapt::sized<rapt_context_options>();
  options.pool = pool.get();
  rapt::Context context;
  ASSERT_TRUE(rapt::Context::make(module, options, context));
  module = {}; // the context keeps its own
  {
    rapt::Sequence a, b, c;
    ASSERT_TRUE(rapt::Sequence::make(context, a));
    Text text = someText(20, 1);
    rapt_chunk chunk = a.chunk(text);
    ASSERT_TRUE(context.step(chunk));
    EXPECT_TRUE(isAnswer(chunk.logits, text, 19));
    ASSERT_TRUE(a.fork(b));
    std::vector<char> state;
    ASSERT_TRUE(a.save(state));
    ASSERT_TRUE(rapt::Sequence::load(context, state, c));
    ASSERT_TRUE(b.truncate(3));
    EXPECT_EQ(a.length(), 20);
    EXPECT_EQ(b.length(), 3);
    EXPECT_EQ(c.length(), 20);
    b = std::move(c);
    EXPECT_EQ(b.length(), 20);
    Text more = {1};
    std::vector<rapt_chunk> chunks = {a.chunk(more), b.chunk(more)};
    ASSERT_TRUE(context.step(chunks));
    text.push_back(1);
    EXPECT_TRUE(isAnswer(chunks[1].logits, text, 20));
  }
  EXPECT_EQ(context.available(), context.capacity());
}

TEST(Raii, OutcomesSayWhy) {
  rapt::Module module;
  rapt::Outcome outcome = rapt::Module::open("/absent.so", module);
  EXPECT_FALSE(outcome);
  EXPECT_EQ(outcome.status, RAPT_IO);
  EXPECT_NE(outcome.message.find("/absent.so"), std::string::npos);
  EXPECT_EQ(module.get(), nullptr);
}

} // namespace
