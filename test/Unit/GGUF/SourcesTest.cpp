// Tensors of a file that are read in another order, in part, or of which a directory has others.
#include "lib/Formats/GGUF/Sources.h"
#include "lib/Formats/HuggingFace/TensorRequest.h"
#include "test/Unit/TemporaryFolder.h"
#include <array>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

using namespace rapt;
using namespace rapt::gguf;
using huggingface::StoredTensor;

namespace {

/// Numbers 0, 1, .. of one type.
class Numbers : public testing::Test {
protected:
  StoredTensor tensor(const char *type, std::vector<int64_t> shape) {
    const std::string path = folder.path + "/numbers";
    {
      std::ofstream file(path, std::ios::binary);
      for (int i = 0; i < 4096; ++i)
        if (const float number = float(i); std::string_view(type) == "F32")
          file.write(reinterpret_cast<const char *>(&number), 4);
        else
          file.write(reinterpret_cast<const char *>(&number) + 2, 2);
    }
    StoredTensor stored{.name = "x", .dtype = type, .shape = std::move(shape)};
    stored.file = *InputFile::open(path);
    stored.bytes = std::string_view(type) == "F32" ? 4 : 2;
    for (int64_t extent : stored.shape)
      stored.bytes *= uint64_t(extent);
    return stored;
  }

  /// `count` f32 from `first` on.
  static std::vector<float> read(const StoredTensor &stored, size_t first, size_t count) {
    auto reader = huggingface::openSafeTensors(huggingface::TensorTable::of("numbers", {stored}));
    std::vector<float> values(count);
    Status status = reader->read(stored.name, first * 4, std::as_writable_bytes(std::span(values)));
    EXPECT_TRUE(bool(status)) << (status ? "" : status.error().message);
    return values;
  }

  const test::TemporaryFolder folder;
};

} // namespace

TEST_F(Numbers, RowsOfPairs) {
  EXPECT_EQ(*rowsOfPairs(2, 4), (std::vector<int64_t>{0, 2, 1, 3, 4, 6, 5, 7}));
  StoredTensor stored = tensor("F32", {8, 3});
  stored.rows = rowsOfPairs(2, 4);
  const std::vector<float> all = {0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11, 12, 13, 14, 18, 19, 20, 15, 16, 17, 21, 22, 23};
  for (size_t first = 0; first < all.size(); ++first) // of any piece, from within a row on
    for (size_t count = 0; first + count <= all.size(); ++count)
      EXPECT_EQ(read(stored, first, count), std::vector(all.begin() + first, all.begin() + first + count));
}

TEST_F(Numbers, RowsOfGroups) {
  // Four queries, two keys, two values of one channel: the first key has the first two queries.
  EXPECT_EQ(*rowsOfGroups(4, 2, 1), (std::vector<int64_t>{0, 1, 4, 6, 2, 3, 5, 7}));
  EXPECT_EQ(*rowsOfGroups(1, 1, 2), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST_F(Numbers, Parts) {
  const StoredTensor stored = tensor("F32", {4, 2, 3});
  const StoredTensor one = oneOf(stored, "x", 2), some = someRows(stored, "x", 1, 2);
  EXPECT_EQ(one.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(read(one, 0, 6), (std::vector<float>{12, 13, 14, 15, 16, 17}));
  EXPECT_EQ(some.shape, (std::vector<int64_t>{2, 2, 3}));
  EXPECT_EQ(read(some, 1, 3), (std::vector<float>{7, 8, 9}));
}

TEST_F(Numbers, OnePlus) {
  for (const char *type : {"F32", "BF16"}) {
    StoredTensor stored = tensor(type, {100});
    stored.made = huggingface::Made::OnePlus;
    EXPECT_EQ(stored.type(), artifact::DType::F32);
    EXPECT_EQ(read(stored, 3, 4), (std::vector<float>{2, 3, 4, 5})) << type;
  }
}

TEST_F(Numbers, NegativeExponential) {
  const std::array<float, 5> decays = {-1, -std::exp(1.5f), -std::exp(-20.0f), 0, std::nanf("")};
  const std::string path = folder.path + "/decays";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(decays.data()), sizeof(decays));
  StoredTensor stored{.name = "a", .dtype = "F32", .shape = {5}};
  stored.file = *InputFile::open(path);
  stored.bytes = sizeof(decays);
  stored.made = huggingface::Made::NegativeExponential;
  const std::vector<float> own = read(stored, 0, 3);
  EXPECT_EQ(own[0], 0);
  EXPECT_FLOAT_EQ(own[1], 1.5f);
  EXPECT_FLOAT_EQ(own[2], -20);
  auto reader = huggingface::openSafeTensors(huggingface::TensorTable::of("numbers", {stored}));
  for (const size_t wrong : {3, 4}) {
    float value = 0;
    const Status status = reader->read("a", wrong * 4, std::as_writable_bytes(std::span(&value, 1)));
    ASSERT_FALSE(bool(status));
    EXPECT_TRUE(status.error().message.ends_with("tensor \"a\": a decay must be below 0"));
  }
}
