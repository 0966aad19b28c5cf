// The bytes of Pillow and the numbers of NumPy; test/Image/make-fixtures.py made the expectations.
#include "lib/Image/Decode.h"
#include "lib/Image/Preprocess.h"
#include "test/Unit/Image/Fixtures.h"

using namespace rapt;
using namespace rapt::image;
using namespace rapt::test;

TEST(Pillow, DecodesTheSameBytes) {
  json::Array cases = readCases("decode");
  EXPECT_GE(cases.size(), 30u);
  for (const json::Value &entry : cases) {
    SCOPED_TRACE(text(entry, "file"));
    Expected<Image> image = decode(readFixture(text(entry, "file")));
    ASSERT_TRUE(bool(image)) << image.error().message;
    EXPECT_EQ(image->width, number(entry, "width"));
    EXPECT_EQ(image->height, number(entry, "height"));
    EXPECT_EQ(hashOf(image->pixels.data(), image->pixels.size()), text(entry, "hash"));
  }
}

TEST(Pillow, ResizesToTheSameBytes) {
  json::Array cases = readCases("resize");
  EXPECT_GE(cases.size(), 40u);
  for (const json::Value &entry : cases) {
    SCOPED_TRACE(json::write(entry));
    Image image{number(entry, "width"), number(entry, "height"), {}};
    uint64_t state = uint64_t(number(entry, "seed"));
    for (int64_t i = 0; i < image.width * image.height * 3; ++i) {
      state = state * 6364136223846793005 + 1442695040888963407;
      image.pixels.push_back(uint8_t(state >> 56));
    }
    Expected<Image> result =
        resize(image, number(entry, "to_width"), number(entry, "to_height"), Filter(number(entry, "filter")));
    ASSERT_TRUE(bool(result)) << result.error().message;
    EXPECT_EQ(hashOf(result->pixels.data(), result->pixels.size()), text(entry, "hash"));
  }
}

TEST(Pillow, PreprocessesToTheSameNumbers) {
  json::Array cases = readCases("preprocess");
  EXPECT_GE(cases.size(), 24u);
  for (const json::Value &entry : cases) {
    SCOPED_TRACE(json::write(entry));
    Expected<Preprocessing> how = readPreprocessing(text(entry, "config"));
    ASSERT_TRUE(bool(how)) << how.error().message;
    Expected<PixelValues> values = preprocess(readFixture(text(entry, "file")), *how);
    ASSERT_TRUE(bool(values)) << values.error().message;
    EXPECT_EQ(values->height, number(entry, "height"));
    EXPECT_EQ(values->width, number(entry, "width"));
    EXPECT_EQ(hashOf(values->values.data(), values->values.size() * sizeof(float)), text(entry, "hash"));
  }
}

TEST(Preprocessing, DefaultsFollowTheProcessor) {
  Expected<Preprocessing> vit = readPreprocessing("{}");
  ASSERT_TRUE(bool(vit));
  EXPECT_EQ(vit->filter, Filter::Bilinear);
  EXPECT_FALSE(vit->crops);
  EXPECT_EQ(vit->size.height, 224);
  Expected<Preprocessing> nulls =
      readPreprocessing(R"({"size": {"height": 20, "width": 30, "longest_edge": null, "shortest_edge": null}})");
  ASSERT_TRUE(bool(nulls)) << nulls.error().message;
  EXPECT_TRUE(nulls->size.height == 20 && nulls->size.width == 30 && !nulls->size.shortestEdge);
  Expected<Preprocessing> old = readPreprocessing(
      R"({"feature_extractor_type": "ViTFeatureExtractor", "size": 384, "resample": 3, "image_mean": 0.25})");
  ASSERT_TRUE(bool(old));
  EXPECT_EQ(old->size.width, 384);
  EXPECT_FALSE(old->size.shortestEdge);
  EXPECT_EQ(old->mean[2], 0.25);
  Expected<Preprocessing> clip =
      readPreprocessing(R"({"image_processor_type": "CLIPImageProcessorFast", "size": 32, "crop_size": 30})");
  ASSERT_TRUE(bool(clip));
  EXPECT_EQ(clip->size.shortestEdge, 32);
  EXPECT_EQ(clip->crop.width, 30);
  EXPECT_TRUE(clip->crops);
  EXPECT_EQ(clip->filter, Filter::Bicubic);
  Expected<Preprocessing> deit = readPreprocessing(R"({"image_processor_type": "DeiTImageProcessor"})");
  ASSERT_TRUE(bool(deit));
  EXPECT_EQ(deit->size.width, 256);
  EXPECT_EQ(deit->mean[0], 0.485);
}
