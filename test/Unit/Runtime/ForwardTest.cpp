// forward on tensors: types, masks, refusals (fault 60).
#include "FakeModel.h"
#include <cstring>

using namespace rapt::test;

namespace {

rapt_tensor tensor(void *data, std::initializer_list<int64_t> shape, uint8_t code, uint8_t bits) {
  rapt_tensor t{};
  t.size = sizeof t;
  t.data = data;
  t.device_type = RAPT_DEVICE_CPU;
  t.dtype_code = code;
  t.dtype_bits = bits;
  t.dtype_lanes = 1;
  t.rank = int32_t(shape.size());
  t.shape = shape.begin();
  return t;
}

struct Fixture {
  static constexpr int64_t batch = 3, length = 70;
  std::vector<int64_t> ids = std::vector<int64_t>(batch * length), mask = std::vector<int64_t>(batch * length, 1);
  std::vector<float> logits = std::vector<float>(batch * length * vocabulary, -1.f);
  int64_t inShape[2] = {batch, length}, outShape[3] = {batch, length, vocabulary};
  rapt_tensor tensors[3];
  const char *names[3] = {"input_ids", "logits", "attention_mask"};
  Context context;

  explicit Fixture(rapt_context_options options = {}) : context(options) {
    Text text = someText(batch * length, 9);
    std::copy(text.begin(), text.end(), ids.begin());
    tensors[0] = tensor(ids.data(), {0, 0}, RAPT_DTYPE_INT, 64);
    tensors[1] = tensor(logits.data(), {0, 0, 0}, RAPT_DTYPE_FLOAT, 32);
    tensors[2] = tensor(mask.data(), {0, 0}, RAPT_DTYPE_INT, 64);
    tensors[0].shape = tensors[2].shape = inShape;
    tensors[1].shape = outShape;
  }
  rapt_status run(size_t count, const char *entry = "forward") {
    return rapt_run(context, entry, count, names, tensors, context.message.text, context.message.size);
  }
  testing::AssertionResult rowIsRight(int64_t row, int64_t valid) {
    Text text(ids.begin() + row * length, ids.begin() + (row + 1) * length);
    for (int64_t t = 0; t < length; ++t) {
      const float *at = &logits[(row * length + t) * vocabulary];
      if (t < valid) {
        if (auto result = isAnswer(at, text, t); !result)
          return result;
      } else
        for (int v = 0; v < vocabulary; ++v)
          if (at[v] != 0.f)
            return testing::AssertionFailure() << "padding " << row << " " << t << " is not 0";
    }
    return testing::AssertionSuccess();
  }
};

/// With buffers for one row, for two, and for all.
TEST(Forward, WithoutMask) {
  for (int64_t tokens : {72, 150, 1000}) {
    rapt_context_options options{};
    options.cache_tokens = tokens;
    Fixture f(options);
    ASSERT_EQ(f.run(2), RAPT_OK) << f.context.message.text;
    for (int64_t row = 0; row < f.batch; ++row)
      EXPECT_TRUE(f.rowIsRight(row, f.length)) << row;
    EXPECT_EQ(rapt_context_available(f.context), rapt_context_capacity(f.context));
  }
}

TEST(Forward, ACacheTooSmallForOneRow) {
  rapt_context_options options{};
  options.cache_tokens = 64;
  Fixture f(options);
  EXPECT_FAILS(f.run(2), RAPT_FULL, f.context.message, "70 tokens", "64 tokens");
  EXPECT_EQ(rapt_context_available(f.context), 64);
}

TEST(Forward, PaddedOnTheRight) {
  Fixture f;
  const int64_t valid[3] = {f.length, 5, 0};
  for (int64_t row = 0; row < f.batch; ++row)
    for (int64_t t = valid[row]; t < f.length; ++t) {
      f.mask[row * f.length + t] = 0;
      f.ids[row * f.length + t] = -100; // never read
    }
  ASSERT_EQ(f.run(3), RAPT_OK) << f.context.message.text;
  for (int64_t row = 0; row < f.batch; ++row)
    EXPECT_TRUE(f.rowIsRight(row, valid[row])) << row;
}

TEST(Forward, MasksThatAreRefusedNameTheRow) {
  Fixture f;
  f.mask[1 * f.length] = 0; // padded on the left
  EXPECT_FAILS(f.run(3), RAPT_INVALID, f.context.message, "attention_mask row 1", "right");
  EXPECT_EQ(f.logits[0], -1.f); // found before row 0 was run
  f.mask[1 * f.length] = 1;
  f.mask[2 * f.length + 8] = 0; // a hole
  EXPECT_FAILS(f.run(3), RAPT_INVALID, f.context.message, "row 2", "at 9", "at 8");
}

TEST(Forward, OtherTypesAndStrides) {
  Fixture f;
  std::vector<int32_t> wide(size_t(f.batch * f.length * 4), -5);
  for (int64_t row = 0; row < f.batch; ++row)
    for (int64_t t = 0; t < f.length; ++t)
      wide[size_t(2 * t * f.batch + row)] = int32_t(f.ids[row * f.length + t]);
  const int64_t strides[2] = {1, 2 * f.batch};
  f.tensors[0].data = wide.data();
  f.tensors[0].dtype_bits = 32;
  f.tensors[0].strides = strides;
  ASSERT_EQ(f.run(2), RAPT_OK) << f.context.message.text;
  for (int64_t row = 0; row < f.batch; ++row)
    EXPECT_TRUE(f.rowIsRight(row, f.length)) << row;
}

TEST(Forward, RefusesWrongTensors) {
  const rapt_tensor *good;
  auto expect = [&](auto change, rapt_status status, std::initializer_list<const char *> parts, size_t count = 3) {
    Fixture f;
    good = f.tensors;
    change(f);
    EXPECT_EQ(f.run(count), status) << f.context.message.text;
    for (const char *part : parts)
      EXPECT_NE(strstr(f.context.message.text, part), nullptr) << part << " is not in: " << f.context.message.text;
  };
  const int64_t other[3] = {3, 70, 256}, zero[2] = {0, 70}, column[3] = {1, 1, 1};
  const int64_t far[2] = {INT64_MAX, 1}, farBack[2] = {INT64_MIN, 1}, farTogether[2] = {INT64_MAX / 4, INT64_MAX / 69};
  const int64_t farOut[3] = {INT64_MAX / 8, vocabulary, 1};
  expect([](Fixture &f) { f.ids[7] = 257; }, RAPT_INVALID, {"input_ids[0, 7] is 257", "0 to 256"});
  expect([](Fixture &f) { f.ids[75] = -1; }, RAPT_INVALID, {"input_ids[1, 5] is -1"});
  expect([](Fixture &f) { f.names[0] = "ids"; }, RAPT_INVALID, {"no tensor ids", "input_ids"});
  expect([](Fixture &f) { f.names[2] = "logits"; }, RAPT_INVALID, {"twice"});
  expect([](Fixture &) {}, RAPT_OK, {}, 1); // outputs may be left out
  expect([](Fixture &f) { f.tensors[0].size = 1; }, RAPT_INVALID, {"size 1"});
  expect([](Fixture &f) { f.tensors[0].dtype_code = RAPT_DTYPE_FLOAT; }, RAPT_INVALID, {"i64 or i32"});
  expect([](Fixture &f) { f.tensors[2].dtype_bits = 8; }, RAPT_INVALID, {"attention_mask"});
  expect([](Fixture &f) { f.tensors[1].dtype_bits = 64; }, RAPT_INVALID, {"f32"});
  expect([](Fixture &f) { f.tensors[1].rank = 2; }, RAPT_INVALID, {"logits", "rank 2"});
  expect([&](Fixture &f) { f.tensors[1].shape = other; }, RAPT_INVALID, {"[3, 70, 256]", "[3, 70, 257]"});
  expect([&](Fixture &f) { f.tensors[0].shape = zero; }, RAPT_INVALID,
         {"dimension 0 is 0, not between 1 and 2147483647"});
  // Nothing is allocated for an empty tensor: its shape is what is wrong.
  expect([&](Fixture &f) { f.tensors[0].shape = zero, f.tensors[0].data = nullptr; }, RAPT_INVALID,
         {"dimension 0 is 0"});
  expect([](Fixture &f) { f.mask[3] = 2; }, RAPT_INVALID, {"attention_mask row 0 is 2 at 3, neither 0 nor 1"});
  expect([&](Fixture &f) { f.tensors[1].strides = column; }, RAPT_INVALID, {"strides"});
  for (const int64_t *strides : {far, farBack, farTogether})
    expect([&](Fixture &f) { f.tensors[0].strides = strides; }, RAPT_INVALID, {"input_ids", "beyond any memory"});
  expect([&](Fixture &f) { f.tensors[1].strides = farOut; }, RAPT_INVALID, {"logits", "beyond any memory"});
  expect([](Fixture &f) { f.tensors[0].shape = reinterpret_cast<int64_t *>(reinterpret_cast<char *>(f.inShape) + 4); },
         RAPT_INVALID, {"shape or strides are not aligned"});
  expect([](Fixture &f) { f.tensors[0].device_type = 2; }, RAPT_INVALID, {"device type 2"});
  expect([](Fixture &f) { f.tensors[0].data = reinterpret_cast<char *>(f.ids.data()) + 1; }, RAPT_INVALID, {"aligned"});
  expect([](Fixture &f) { f.tensors[0].data = f.logits.data() + 100; }, RAPT_INVALID, {"shares memory"});
  expect([](Fixture &f) { f.tensors[2].data = f.logits.data(); }, RAPT_INVALID, {"shares memory"});
  expect([](Fixture &f) { f.tensors[0].data = nullptr; }, RAPT_INVALID, {"no data"});
  expect([](Fixture &f) { f.inShape[1] = f.outShape[1] = 257; }, RAPT_TOO_LONG, {"257 tokens", "256 positions"});
  Fixture f;
  EXPECT_FAILS(f.run(2, "encode"), RAPT_UNSUPPORTED, f.context.message, "encode", "forward");
  EXPECT_EQ(rapt_run(f.context, nullptr, 0, nullptr, nullptr, nullptr, 0), RAPT_INVALID);
}

} // namespace
