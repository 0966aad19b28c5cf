// The arguments that a model's last line shows, by its task and by how it takes texts.
#include "lib/Support/Example.h"
#include <gtest/gtest.h>

using namespace rapt;

namespace {

std::string example(std::string_view task, ExampleTexts texts, int64_t positions = 256) {
  return exampleArguments({task, std::move(texts), positions, 100});
}

const ExampleTexts none = {}, reads = {.hasTokenizer = true}, chats = {.hasTokenizer = true, .chatTokens = 20};

} // namespace

TEST(Example, Texts) {
  EXPECT_EQ(example("decoder", reads), "-p \"Once upon a time\"");
  EXPECT_EQ(example("decoder", none), "--tokens 1,2,3 -n 8");
  EXPECT_EQ(example("text-classification", none), "--tokens 1,2,3");
  EXPECT_EQ(example("question-answering", none), "");
  EXPECT_EQ(example("decoder", reads, 63), "--tokens 1,2,3 -n 8");
}

TEST(Example, Chats) {
  for (const char *task : {"decoder", "text2text-generation", "image-text-to-text"})
    EXPECT_EQ(example(task, chats), "--chat -p \"Who are you?\"") << task;
  EXPECT_EQ(example("decoder", chats, 21), "--chat -p \"Who are you?\"");
  EXPECT_EQ(example("decoder", chats, 20), "--tokens 1,2,3 -n 8"); // no room for an answer
  EXPECT_EQ(example("feature-extraction", chats), "-p \"Once upon a time\"");
}

TEST(Example, Masks) {
  EXPECT_EQ(example("fill-mask", {.hasTokenizer = true, .mask = "<mask>"}), "-p 'Paris is the <mask> of France.'");
  EXPECT_EQ(example("fill-mask", reads), "-p 'Paris is the [MASK] of France.'");
  EXPECT_EQ(example("fill-mask", none), "--tokens 1,2,3");
  EXPECT_EQ(example("fill-mask", reads, 24), ""); // ids of a text need the mask among them
}

TEST(Example, FilesAndNumbers) {
  EXPECT_EQ(example("automatic-speech-recognition", chats), "--audio FILE, a WAV, FLAC, Ogg or MP3 file");
  EXPECT_EQ(example("image-classification", none), "--image FILE, a JPEG, PNG or WebP image");
  EXPECT_EQ(example("image-feature-extraction", none),
            "--output last_hidden_state=FILE.npy --image FILE, a JPEG, PNG or WebP image");
  EXPECT_EQ(example("zero-shot-image-classification", reads),
            "-p \"a cat\" -p \"a dog\" --image FILE, a JPEG, PNG or WebP image");
  EXPECT_EQ(example("tabular-regression", none), "--vector X,Y,..., once for each vector");
  EXPECT_EQ(example("", reads), "");
}
