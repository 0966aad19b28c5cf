// Narrow matrices of adapters as tensors: any piece of them, of weights in both orders, zeros behind an adapter's rank.
#include "lib/Formats/HuggingFace/AdapterTensors.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace rapt;
using namespace rapt::huggingface;
using artifact::DType;

namespace {

class NoTensors : public artifact::TensorReader {
public:
  const artifact::TensorInfo *find(std::string_view) const override { return nullptr; }
  Status read(std::string_view, uint64_t, std::span<std::byte>) const override { return Error{"no tensor"}; }
};

/// A change of rank 2 of a weight [3, 4]: left [3, 2], right [2, 4].
const LowRankChange change{3, 4, 2, {1, 2, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60, 70, 80}};

std::vector<float> read(AdapterTensor tensor, int64_t first, int64_t count) {
  auto tensors = std::make_shared<AdapterTensors>();
  (*tensors)["t"] = std::move(tensor);
  auto reader = withAdapters(std::make_unique<NoTensors>(), tensors);
  EXPECT_EQ(reader->find("t"), &tensors->at("t").info);
  EXPECT_EQ(reader->find("u"), nullptr);
  std::vector<float> numbers(count, -1);
  Status status = reader->read("t", uint64_t(first) * sizeof(float), std::as_writable_bytes(std::span(numbers)));
  EXPECT_TRUE(status);
  return numbers;
}

TEST(AdapterTensors, RowsOfTheFirstAndColumnsOfTheSecond) {
  const artifact::TensorInfo a{DType::F32, {3, 4}}, b{DType::F32, {3, 3}};
  EXPECT_EQ(read({a, &change, true}, 0, 12), (std::vector<float>{10, 20, 30, 40, 50, 60, 70, 80, 0, 0, 0, 0}));
  EXPECT_EQ(read({a, &change, true}, 3, 6), (std::vector<float>{40, 50, 60, 70, 80, 0}));
  EXPECT_EQ(read({b, &change, false}, 0, 9), (std::vector<float>{1, 2, 0, 3, 4, 0, 5, 6, 0}));
  EXPECT_EQ(read({b, &change, false}, 4, 2), (std::vector<float>{4, 0}));
  EXPECT_EQ(read({a, nullptr, true}, 5, 3), (std::vector<float>{0, 0, 0}));
}

/// A change [out, in] of a weight [in, out], and one of the checkpoint's orientation, for both readers.
TEST(AdapterTensors, Orientations) {
  LowRankChange turned = change;
  transpose(turned);
  EXPECT_EQ(turned.left, (std::vector<float>{10, 50, 20, 60, 30, 70, 40, 80}));
  EXPECT_EQ(turned.right, (std::vector<float>{1, 3, 5, 2, 4, 6}));
  LowRankChange stored = turned;
  stored.isAsStored = true;
  for (const bool asStored : {true, false}) {
    std::vector<LowRankChange> changes = {change, stored};
    ASSERT_TRUE(orientChanges(changes, "w", {4, 3}, /*isConv1D=*/true, asStored));
    for (const LowRankChange &own : changes)
      EXPECT_EQ(own.left, asStored ? turned.left : change.left);
    changes = {change};
    ASSERT_TRUE(orientChanges(changes, "w", {3, 4}, /*isConv1D=*/false, asStored));
    EXPECT_EQ(changes[0].left, change.left);
  }
  std::vector<LowRankChange> other = {change};
  other[0].origin = "f: tensors a and b";
  Status status = orientChanges(other, "w", {4, 3}, /*isConv1D=*/false, true);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "f: tensors a and b do not fit \"w\" [4, 3]: the adapter is of another base model");
}

TEST(AdapterTensors, SumsOfChanges) {
  const LowRankChange sum = joinChanges({change, {3, 4, 1, {7, 8, 9}, {1, 2, 3, 4}}});
  EXPECT_EQ(sum.rank, 3);
  EXPECT_EQ(sum.left, (std::vector<float>{1, 2, 7, 3, 4, 8, 5, 6, 9}));
  EXPECT_EQ(sum.right, (std::vector<float>{10, 20, 30, 40, 50, 60, 70, 80, 1, 2, 3, 4}));
}

TEST(AdapterTensors, LongPiecesAndNumbersThatDoNotFit) {
  LowRankChange wide{1, 5000, 1, {1}, std::vector<float>(5000, 2)};
  wide.right[4999] = 1e6f;
  EXPECT_EQ(read({{DType::F32, {1, 5000}}, &wide, true}, 1, 4999).back(), 1e6f);
  auto tensors = std::make_shared<AdapterTensors>();
  (*tensors)["t"] = {{DType::F16, {1, 5000}}, &wide, true};
  auto reader = withAdapters(std::make_unique<NoTensors>(), tensors);
  std::vector<std::byte> bytes(10000);
  Status status = reader->read("t", 0, bytes);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "tensor \"t\": the adapter has numbers that f16 cannot hold");
  EXPECT_TRUE(reader->read("t", 0, std::span(bytes).first(9998)));
}

TEST(AdapterTensors, Names) {
  for (const char *name : {"a", "Style_2.b-c", "0"})
    EXPECT_TRUE(isAdapterName(name)) << name;
  for (const std::string &name :
       {std::string(), std::string("."), std::string(".a"), std::string("-a"), std::string("a/b"), std::string("a=b"),
        std::string("a,b"), std::string("a b"), std::string("\xc3\xa4"), std::string(64, 'a')})
    EXPECT_FALSE(isAdapterName(name)) << name;
  EXPECT_TRUE(isAdapterName(std::string(63, 'a')));
}

} // namespace
