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

TEST(Preprocessing, ReadsTheProcessorsOfEveryFamily) {
  auto read = [](const std::string &type, const std::string &members = "") {
    Expected<Preprocessing> how = readPreprocessing("{\"image_processor_type\": \"" + type + "\"" + members + "}");
    EXPECT_TRUE(bool(how)) << how.error().message;
    return how ? *how : Preprocessing();
  };
  Preprocessing beit = read("BeitImageProcessor", ", \"do_reduce_labels\": true");
  EXPECT_TRUE(beit.crops && beit.size.width == 256 && beit.crop.width == 224 && beit.filter == Filter::Bicubic);
  EXPECT_EQ(beit.mean[0], 0.5);
  Preprocessing bit = read("BitImageProcessor");
  EXPECT_TRUE(bit.crops && bit.size.shortestEdge == 224 && bit.crop.height == 224 && bit.filter == Filter::Bicubic);
  EXPECT_EQ(bit.mean[1], 0.4578275);
  Preprocessing siglip = read("SiglipImageProcessor");
  EXPECT_TRUE(!siglip.crops && siglip.size.width == 224 && siglip.filter == Filter::Bicubic);
  EXPECT_EQ(siglip.deviation[2], 0.5);
  for (const char *type : {"DINOv3ViTImageProcessor", "DINOv3ViTImageProcessorFast"}) {
    Preprocessing dinov3 = read(type);
    EXPECT_TRUE(!dinov3.crops && dinov3.rescalesFirst && dinov3.filter == Filter::Bilinear);
    EXPECT_EQ(dinov3.deviation[0], 0.229);
  }
}

/// Sides in squares of 8 pixels, of images of 36 x 23, 21 x 26, 3 x 6, 39 x 1 and 38 x 13 pixels, as smart_resize of
/// transformers gives them. 36 is as far from 32 as from 40, and goes to the even number of squares.
TEST(Preprocessing, QwenKeepsProportionsInSquares) {
  const std::pair<const char *, std::array<int64_t, 8>> images[] = {{"color6-16.png", {32, 24, 40, 32, 24, 8, 8, 8}},
                                                                    {"color2-8.png", {24, 24, 32, 40, 16, 16, 8, 8}},
                                                                    {"palette-2.png", {8, 16, 24, 48, 8, 16, 8, 16}},
                                                                    {"rgb-422.jpg", {56, 8, 200, 8, 56, 8, 56, 8}},
                                                                    {"color0-4.png", {40, 16, 56, 24, 32, 8, 16, 8}}};
  const char *sizes[] = {R"("size": {"shortest_edge": 64, "longest_edge": 4096})",
                         R"("max_pixels": 4096, "size": {"shortest_edge": 64, "longest_edge": 64}, "min_pixels": 1000)",
                         R"("size": {"shortest_edge": 64, "longest_edge": 400})",
                         R"("size": {"shortest_edge": 64, "longest_edge": 128})"};
  for (size_t i = 0; i < std::size(sizes); ++i) {
    Expected<Preprocessing> how = readPreprocessing(
        std::string(R"({"image_processor_type": "Qwen2VLImageProcessorFast", "patch_size": 4, "merge_size": 2, )") +
        sizes[i] + "}");
    ASSERT_TRUE(bool(how)) << how.error().message;
    for (const auto &[file, sides] : images) {
      Expected<PixelValues> values = preprocess(readFixture(file), *how);
      ASSERT_TRUE(bool(values)) << values.error().message;
      EXPECT_EQ(values->width, sides[2 * i]) << file << ": " << sizes[i];
      EXPECT_EQ(values->height, sides[2 * i + 1]) << file << ": " << sizes[i];
    }
  }
  Expected<Preprocessing> usual = readPreprocessing(R"({"image_processor_type": "Qwen2VLImageProcessor"})");
  ASSERT_TRUE(bool(usual));
  ASSERT_TRUE(usual->squares);
  const auto *budget = std::get_if<PixelBudget>(&usual->squares->budget);
  EXPECT_TRUE(usual->squares->side() == 28 && budget && budget->least == 3136 && budget->most == 1003520);
  EXPECT_TRUE(usual->filter == Filter::Bicubic && usual->mean[1] == 0.4578275 && !usual->crops);
}

TEST(Preprocessing, ConvNextCropsSmallSizes) {
  auto read = [](const std::string &members) {
    Expected<Preprocessing> how =
        readPreprocessing("{\"image_processor_type\": \"ConvNextImageProcessor\"" + members + "}");
    EXPECT_TRUE(bool(how)) << how.error().message;
    return how ? *how : Preprocessing();
  };
  Preprocessing usual = read("");
  EXPECT_TRUE(!usual.crops && !usual.size.shortestEdge && usual.size.width == 384 && usual.filter == Filter::Bicubic);
  Preprocessing small = read(", \"size\": 224");
  EXPECT_TRUE(small.crops && small.size.shortestEdge == 256 && small.crop.width == 224 && small.crop.height == 224);
  Preprocessing share = read(", \"size\": {\"shortest_edge\": 100}, \"crop_pct\": 0.7");
  EXPECT_EQ(share.size.shortestEdge, 142);
  EXPECT_FALSE(read(", \"size\": 224, \"do_resize\": false").crops);
  Expected<Preprocessing> fast = readPreprocessing(R"({"image_processor_type": "ConvNextImageProcessorFast"})");
  ASSERT_TRUE(bool(fast));
  EXPECT_EQ(fast->filter, Filter::Bilinear);
}

TEST(Preprocessing, SquaresKeepProportions) {
  // Published files; some have a size, which nothing reads.
  Expected<Preprocessing> how = readPreprocessing(
      R"({"image_processor_type": "Gemma4ImageProcessor", "do_normalize": false, "image_seq_length": 280,
          "max_soft_tokens": 280, "patch_size": 16, "pooling_kernel_size": 3, "resample": 3,
          "size": {"height": 224, "width": 224}})");
  ASSERT_TRUE(bool(how)) << how.error().message;
  EXPECT_TRUE(how->resizes && how->rescales && !how->normalizes && !how->crops && how->filter == Filter::Bicubic);
  ASSERT_TRUE(how->squares);
  Squares squares = *how->squares;
  using Size = std::pair<int64_t, int64_t>;
  auto sizeOf = [&](int64_t width, int64_t height) { return *sizeInSquares(width, height, squares); };
  EXPECT_EQ(sizeOf(640, 480), Size(912, 672));
  EXPECT_EQ(sizeOf(480, 640), Size(672, 912));
  EXPECT_EQ(sizeOf(1, 1), Size(768, 768));
  EXPECT_EQ(sizeOf(1000, 1), Size(13440, 48)); // 280 squares, and not 1000
  EXPECT_EQ(sizeOf(1, 90), Size(48, 7584));
  EXPECT_EQ(sizeOf(960, 672), Size(960, 672));
  for (int64_t most : {70, 140, 280, 560, 1120})
    for (int64_t width = 1; width < 3000; width += 97)
      for (int64_t height = 1; height < 3000; height += 89) {
        squares.budget = most;
        auto [columns, rows] = sizeOf(width, height);
        EXPECT_TRUE(columns % 48 == 0 && rows % 48 == 0 && columns > 0 && rows > 0);
        EXPECT_LE(columns / 48 * (rows / 48), most) << width << " x " << height;
      }
}

TEST(ResizeRescaled, KeepsFractions) {
  // Halves of a ramp: pixels 0, 10, 20, 30 under the triangle of width 2, cut at the borders.
  Image ramp{4, 1, {}};
  for (uint8_t pixel : {0, 10, 20, 30})
    ramp.pixels.insert(ramp.pixels.end(), 3, pixel);
  Expected<std::vector<float>> half = resizeRescaled(ramp, 0.5, 2, 1, Filter::Bilinear);
  ASSERT_TRUE(bool(half)) << half.error().message;
  ASSERT_EQ(half->size(), 6u);
  // Weights of the first: 3/8, 3/8, 1/8 of 7/8.
  EXPECT_NEAR((*half)[0], 0.5 * (10 * 3 + 20) / 7, 1e-5);
  EXPECT_NEAR((*half)[3], 0.5 * (10 + 20 * 3 + 30 * 3) / 7, 1e-5);
  Expected<std::vector<float>> same = resizeRescaled(ramp, 2, 4, 1, Filter::Bicubic);
  ASSERT_TRUE(bool(same));
  EXPECT_EQ((*same)[9], 60);
  EXPECT_FALSE(bool(resizeRescaled(ramp, 1, 2, 1, Filter::Lanczos)));
}
