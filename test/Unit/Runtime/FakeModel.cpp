#include "FakeModel.h"
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rapt::test {

Text someText(int64_t count, uint32_t seed) {
  Text text;
  for (int64_t i = 0; i < count; ++i)
    text.push_back(int32_t((seed = seed * 1664525u + 1013904223u) >> 16) % vocabulary);
  return text;
}

float expectedLogit(const Text &text, int64_t position, int v) {
  uint32_t hash = 42;
  for (int64_t p = 0; p <= position; ++p)
    hash = hash * 31u + (uint32_t(text[p]) * 1000003u + uint32_t(p));
  return float(((hash ^ uint32_t(v) * 2654435761u) * 2246822519u) >> 8) / 1048576.0f;
}

testing::AssertionResult isAnswer(const float *logits, const Text &text, int64_t position) {
  if (!logits)
    return testing::AssertionFailure() << "no logits";
  for (int v = 0; v < vocabulary; ++v)
    if (logits[v] != expectedLogit(text, position, v))
      return testing::AssertionFailure() << "logit " << v << " of position " << position << " is " << logits[v]
                                         << ", not " << expectedLogit(text, position, v);
  return testing::AssertionSuccess();
}

std::string readAll(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

void writeAll(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), std::streamsize(bytes.size()));
}

void patch(const std::string &path, const std::string &from, const std::string &to) {
  std::string bytes = readAll(path);
  size_t at = bytes.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  ASSERT_EQ(from.size(), to.size());
  writeAll(path, bytes.replace(at, from.size(), to));
}

void overwrite(const std::string &path, size_t offset, const std::string &bytes) {
  std::string all = readAll(path);
  ASSERT_LE(offset + bytes.size(), all.size());
  writeAll(path, all.replace(offset, bytes.size(), bytes));
}

FakeCopy::FakeCopy() {
  for (const char *file : {"fake.so", "fake-0000cafe.weights"})
    writeAll(directory + "/" + file, readAll(inBuild(std::string("/test/fake/") + file)));
}

rapt_module *fakeModule() {
  static rapt_module *module = [] {
    rapt_module *opened = nullptr;
    Message message;
    rapt_module_open(inBuild("/test/fake/fake.so").c_str(), nullptr, &opened, message.text, message.size);
    EXPECT_NE(opened, nullptr) << message.text;
    return opened;
  }();
  return module;
}

Context::Context(rapt_context_options options, rapt_module *module) {
  options.size = sizeof options;
  EXPECT_EQ(rapt_context_new(module, &options, &context, message.text, message.size), RAPT_OK) << message.text;
}

rapt_sequence Context::sequence() {
  rapt_sequence made = 0;
  EXPECT_EQ(rapt_sequence_new(context, &made, message.text, message.size), RAPT_OK) << message.text;
  return made;
}

rapt_chunk makeChunk(rapt_sequence sequence, const Text &tokens, int32_t want) {
  rapt_chunk chunk{};
  chunk.size = sizeof chunk;
  chunk.sequence = sequence;
  chunk.tokens = tokens.data();
  chunk.count = int64_t(tokens.size());
  chunk.want = want;
  return chunk;
}

rapt_status Context::append(rapt_sequence sequence, const Text &tokens) {
  rapt_chunk chunk = makeChunk(sequence, tokens);
  rapt_status status = rapt_step(context, &chunk, 1, message.text, message.size);
  logits = chunk.logits;
  return status;
}

testing::AssertionResult Context::appendAndCheck(rapt_sequence sequence, Text &text, const Text &more) {
  if (rapt_status status = append(sequence, more))
    return testing::AssertionFailure() << rapt_status_name(status) << ": " << message.text;
  text.insert(text.end(), more.begin(), more.end());
  if (rapt_sequence_length(context, sequence) != int64_t(text.size()))
    return testing::AssertionFailure() << "length is " << rapt_sequence_length(context, sequence);
  return isAnswer(logits, text, int64_t(text.size()) - 1);
}

} // namespace rapt::test
