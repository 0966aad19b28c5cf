//===- FakeModel.h - Copies of the model in C, to use and to damage -------------===//
#pragma once
#include "rapt/rapt.h"
#include "test/Unit/Folders.h"
#include "test/Unit/TemporaryFolder.h"
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace rapt::test {

inline constexpr int vocabulary = 257, block = 8, positions = 256;

using Text = std::vector<int32_t>;

/// `count` tokens that differ from seed to seed.
Text someText(int64_t count, uint32_t seed);
/// The model's logit of token v after text[0..position].
float expectedLogit(const Text &text, int64_t position, int v);
/// All logits of one position.
testing::AssertionResult isAnswer(const float *logits, const Text &text, int64_t position);

/// A copy of the library and its weights in a directory of its own.
class FakeCopy {
public:
  FakeCopy();
  std::string library() const { return directory + "/fake.so"; }
  std::string weights() const { return directory + "/fake-0000cafe.weights"; }
  const rapt::test::TemporaryFolder own;
  const std::string directory = own.path;
};

/// Replaces the first occurrence of `from` in a file by `to`, of the same length.
void patch(const std::string &path, const std::string &from, const std::string &to);
void overwrite(const std::string &path, size_t offset, const std::string &bytes);
std::string readAll(const std::string &path);
void writeAll(const std::string &path, const std::string &bytes);

/// A buffer for messages, which are compared by parts.
struct Message {
  char text[1024] = "";
  size_t size = sizeof text;
};

/// The undamaged model, opened once.
rapt_module *fakeModule();

/// A context of its own for each test.
class Context {
public:
  explicit Context(rapt_context_options options = {}, rapt_module *module = fakeModule());
  ~Context() { rapt_context_free(context); }
  operator rapt_context *() const { return context; }
  rapt_sequence sequence();
  /// Appends tokens; the status, and the logits of the last in `logits`.
  rapt_status append(rapt_sequence sequence, const Text &tokens);
  /// Appends, and checks the answer against the whole text.
  testing::AssertionResult appendAndCheck(rapt_sequence sequence, Text &text, const Text &more);

  Message message;
  const float *logits = nullptr;

private:
  rapt_context *context = nullptr;
};

rapt_chunk makeChunk(rapt_sequence sequence, const Text &tokens, int32_t want = RAPT_LOGITS_LAST);

/// Expects a status and parts of the message.
#define EXPECT_FAILS(CALL, STATUS, MESSAGE, ...)                                                                       \
  do {                                                                                                                 \
    EXPECT_EQ(CALL, STATUS) << (MESSAGE).text;                                                                         \
    for (const std::string &part : std::vector<std::string>{__VA_ARGS__})                                              \
      EXPECT_NE(strstr((MESSAGE).text, part.c_str()), nullptr) << "\"" << part << "\" is not in: " << (MESSAGE).text;  \
  } while (false)

} // namespace rapt::test
