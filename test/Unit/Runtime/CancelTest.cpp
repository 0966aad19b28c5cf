// rapt_cancel: the call that runs compiled code now, or else the next one, is canceled, whatever else is wrong with
// it, and none after it.
#include "FakeModel.h"
#include <functional>

using namespace rapt::test;

namespace {

struct Fixture {
  int64_t cancelAfter = INT64_MAX; ///< tokens, told by the progress
  bool cancelsByResult = false;
  Context context;
  rapt_sequence sequence;
  Text text;

  Fixture() : context(options()), sequence(context.sequence()) {}
  rapt_context_options options() {
    rapt_context_options options{};
    options.user = this;
    options.progress = [](void *user, int64_t done, int64_t) -> int {
      auto &self = *static_cast<Fixture *>(user);
      if (done < self.cancelAfter)
        return 0;
      rapt_cancel(self.context);
      return self.cancelsByResult;
    };
    return options;
  }
  rapt_status step(int64_t count) { return context.append(sequence, someText(count, 1)); }
  /// No cancel is left, and the sequence is as before.
  void expectSpent() { EXPECT_TRUE(context.appendAndCheck(sequence, text, someText(9, 2))); }
};

TEST(Cancel, ARefusedCallSpendsIt) {
  Fixture f;
  const char *message = f.context.message.text;
  const char *name = "nothing";
  rapt_chunk bad = makeChunk(999, f.text);
  rapt_source source{};
  source.size = sizeof source;
  const std::vector<std::function<rapt_status(Message &)>> calls = {
      [&](Message &) { return f.step(257); }, // TOO_LONG
      [&](Message &m) { return rapt_step(f.context, nullptr, 1, m.text, m.size); },
      [&](Message &m) { return rapt_step(f.context, &bad, 1, m.text, m.size); },
      [&](Message &m) { return rapt_encode(f.context, &source, 1, m.text, m.size); }, // the model has no encoder
      [&](Message &m) { return rapt_run(f.context, name, 0, nullptr, nullptr, m.text, m.size); },
      [&](Message &m) { return rapt_run(f.context, nullptr, 0, nullptr, nullptr, m.text, m.size); },
      [&](Message &m) { return rapt_run(f.context, "forward", 0, nullptr, nullptr, m.text, m.size); },
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_NE(calls[i](f.context.message), RAPT_OK) << i;
    rapt_cancel(f.context);
    EXPECT_EQ(calls[i](f.context.message), RAPT_CANCELLED) << i << ": " << message;
    EXPECT_STREQ(message, "canceled") << i;
    EXPECT_NE(calls[i](f.context.message), RAPT_CANCELLED) << i << ": " << message;
  }
  f.expectSpent();
}

TEST(Cancel, AStepWithoutFreeBlocksSpendsIt) {
  rapt_context_options options{};
  options.cache_tokens = 2 * block;
  Context context(options);
  Text text;
  rapt_sequence a = context.sequence(), b = context.sequence();
  ASSERT_TRUE(context.appendAndCheck(a, text, someText(block, 1)));
  rapt_cancel(context);
  EXPECT_EQ(context.append(b, someText(2 * block, 1)), RAPT_CANCELLED);
  EXPECT_EQ(context.append(b, someText(2 * block, 1)), RAPT_FULL);
  EXPECT_TRUE(context.appendAndCheck(a, text, someText(1, 2)));
}

TEST(Cancel, CallsThatRunNothingLeaveIt) {
  Fixture f;
  rapt_cancel(f.context);
  rapt_sequence other = f.context.sequence();
  EXPECT_EQ(rapt_sequence_truncate(f.context, other, 5, nullptr, 0), RAPT_INVALID);
  EXPECT_EQ(rapt_run_shape(f.context, "nothing", 0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0),
            RAPT_INVALID);
  int64_t shape[9];
  int32_t rank;
  EXPECT_EQ(rapt_run_shape(f.context, "nothing", 0, nullptr, nullptr, "logits", shape, &rank, nullptr, 0),
            RAPT_UNSUPPORTED);
  EXPECT_EQ(f.step(3), RAPT_CANCELLED);
  f.expectSpent();
}

TEST(Cancel, BehindTheLastPartTheStepIsCanceled) {
  Fixture f;
  f.cancelAfter = 70;
  EXPECT_EQ(f.step(70), RAPT_CANCELLED) << f.context.message.text;
  EXPECT_EQ(f.context.logits, nullptr);
  EXPECT_EQ(rapt_sequence_length(f.context, f.sequence), 0);
  f.expectSpent();
}

TEST(Cancel, TwoWaysAtOnceAreOneCancel) {
  Fixture f;
  f.cancelAfter = 64;
  f.cancelsByResult = true;
  EXPECT_EQ(f.step(70), RAPT_CANCELLED);
  EXPECT_NE(strstr(f.context.message.text, "64 of 70"), nullptr) << f.context.message.text;
  rapt_cancel(f.context);
  rapt_cancel(f.context);
  EXPECT_EQ(f.step(1), RAPT_CANCELLED);
  f.expectSpent();
}

TEST(Cancel, OfForward) {
  Fixture f;
  std::vector<int64_t> ids(70, 1);
  std::vector<float> logits(70 * vocabulary);
  const int64_t shape[3] = {1, 70, vocabulary};
  rapt_tensor tensors[2]{};
  for (rapt_tensor &t : tensors) {
    t.size = sizeof t;
    t.device_type = RAPT_DEVICE_CPU;
    t.shape = shape;
  }
  tensors[0].data = ids.data(), tensors[0].rank = 2, tensors[0].dtype_code = RAPT_DTYPE_INT;
  tensors[0].dtype_bits = 64;
  tensors[1].data = logits.data(), tensors[1].rank = 3, tensors[1].dtype_code = RAPT_DTYPE_FLOAT;
  tensors[1].dtype_bits = 32;
  const char *names[2] = {"input_ids", "logits"};
  auto run = [&] { return rapt_run(f.context, "forward", 2, names, tensors, nullptr, 0); };
  EXPECT_EQ(run(), RAPT_OK);
  rapt_cancel(f.context);
  EXPECT_EQ(run(), RAPT_CANCELLED);
  f.cancelAfter = 70;
  EXPECT_EQ(run(), RAPT_CANCELLED);
  f.cancelAfter = INT64_MAX;
  EXPECT_EQ(run(), RAPT_OK);
  f.expectSpent();
}

} // namespace
