// A file that is no image, or not one that can be used, is refused in one line.
#include "lib/Image/Decode.h"
#include "lib/Image/Preprocess.h"
#include "test/Unit/Image/Fixtures.h"

using namespace rapt;
using namespace rapt::image;
using namespace rapt::test;

static std::string problemOf(std::string_view file) {
  Expected<Image> image = decode(file);
  return image ? "" : image.error().message;
}

TEST(DecodeFaults, NotAnImage) {
  EXPECT_EQ(problemOf(""), "the image file is empty");
  EXPECT_EQ(problemOf("GIF89a\1\2\3"),
            "is neither a JPEG, a PNG nor a WebP image (it begins with \"GIF89a\\x01\\x02\")");
}

/// Every proper beginning of a file is an error, and none of them crashes.
TEST(DecodeFaults, Truncated) {
  for (const char *name : {"rgb-420.jpg", "rgb-progressive.jpg", "cmyk.jpg", "color2-8.png", "interlaced.png",
                           "rgb-lossy.webp", "rgba-lossy.webp", "turned-8.webp"}) {
    std::string file = readFixture(name);
    for (size_t bytes = 0; bytes < file.size(); ++bytes)
      ASSERT_NE(problemOf(std::string_view(file).substr(0, bytes)), "") << name << " cut at " << bytes;
    EXPECT_EQ(problemOf(file), "") << name;
  }
  std::string jpeg = readFixture("rgb-420.jpg"), png = readFixture("color2-8.png");
  EXPECT_EQ(problemOf(std::string_view(jpeg).substr(0, jpeg.size() - 20)),
            "the JPEG image cannot be decoded: it is truncated");
  EXPECT_EQ(problemOf(std::string_view(png).substr(0, png.size() - 30)),
            "the PNG image cannot be decoded: it is truncated");
  EXPECT_EQ(problemOf(readFixture("rgb-lossy.webp").substr(0, 200)),
            "the WebP image cannot be decoded: it is truncated");
}

/// Any one byte changed: an error or pixels, never more.
TEST(DecodeFaults, Damaged) {
  for (const char *name : {"rgb-422.jpg", "turned-6.jpg", "palette-4.png", "turned.png", "rgb-lossless.webp",
                           "rgba-lossy.webp", "turned-6.webp"}) {
    std::string file = readFixture(name);
    for (size_t at = 0; at < file.size(); ++at)
      for (int change : {1, 0x80, 0xFF}) {
        std::string damaged = file;
        damaged[at] = char(damaged[at] ^ change);
        // A size that the header claims by accident would only cost time here.
        if (Expected<Image> image = decode(damaged); image) {
          ASSERT_EQ(int64_t(image->pixels.size()), image->width * image->height * 3);
        }
      }
  }
}

TEST(DecodeFaults, DamagedChecksum) {
  std::string png = readFixture("color6-8.png");
  png[png.find("IDAT") + 6] ^= 1;
  EXPECT_NE(problemOf(png).find("the PNG image cannot be decoded: "), std::string::npos) << problemOf(png);
}

/// Sizes are refused from the header: these files have no pixels at all.
TEST(DecodeFaults, Huge) {
  std::string jpeg = readFixture("rgb-444.jpg");
  size_t frame = jpeg.find("\xFF\xC0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, std::string("\xFF\0\xFF\0", 4));
  EXPECT_NE(problemOf(jpeg).find("too large: at most 65535 on a side and 67108864 in all"), std::string::npos);
  std::string webp = readFixture("turned-8.webp"); // a canvas of 16,384 x 16,384, in 24 bits each, less one
  webp.replace(webp.find("VP8X") + 12, 6, std::string("\xFF\x3F\0\xFF\x3F\0", 6));
  EXPECT_NE(problemOf(webp).find("cannot be decoded: it is damaged"), std::string::npos) << problemOf(webp);
  EXPECT_FALSE(bool(checkSize(65536, 1)));
  EXPECT_FALSE(bool(checkSize(8192, 8193)));
  EXPECT_FALSE(bool(checkSize(0, 8)));
  EXPECT_TRUE(bool(checkSize(8192, 8192)));
}

TEST(DecodeFaults, Animated) {
  std::string webp = readFixture("turned-6.webp");
  webp[webp.find("VP8X") + 8] |= 2;
  EXPECT_EQ(problemOf(webp), "the WebP image cannot be decoded: it is animated; save one of its frames as an image");
}

TEST(ResizeFaults, Sizes) {
  Image wide{65535, 1, std::vector<uint8_t>(65535 * 3)};
  Expected<Image> result = resize(wide, int64_t(16384) * 65535, 16384, Filter::Bilinear);
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(result.error().message, "an image of 65535 x 1 pixels would be resized to 1073725440 x 16384, which is too "
                                    "large: at most 67108864 pixels");
  EXPECT_FALSE(bool(resize(wide, 0, 1, Filter::Box)));
}

TEST(ExifOrientation, Damaged) {
  EXPECT_EQ(exifOrientation(""), 1);
  EXPECT_EQ(exifOrientation("II*"), 1);
  std::string block("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0", 22);
  EXPECT_EQ(exifOrientation(block), 6);
  EXPECT_EQ(exifOrientation(block.substr(0, 21)), 1);
  block[18] = 9;
  EXPECT_EQ(exifOrientation(block), 1);
  block[4] = block[5] = block[6] = block[7] = '\xFF';
  EXPECT_EQ(exifOrientation(block), 1);
}

TEST(PreprocessingFaults, Named) {
  auto problem = [](const char *json) {
    Expected<Preprocessing> how = readPreprocessing(json);
    return how ? "" : how.error().message;
  };
  const std::string file = "preprocessor_config.json: ";
  EXPECT_EQ(problem("[]"), file + "is not a JSON object");
  EXPECT_EQ(problem(R"({"crop_pct": 0.875})"),
            file + "crop_pct is 0.875, which could change the numbers and is not supported");
  EXPECT_EQ(problem(R"({"crop_pct": null, "do_pad": false, "do_convert_rgb": true})"), "");
  EXPECT_EQ(problem(R"({"image_processor_type": "SamImageProcessor"})"),
            file + "image_processor_type is SamImageProcessor, which is not supported; supported are "
                   "BeitImageProcessor, BitImageProcessor, CLIPImageProcessor, ConvNextImageProcessor, "
                   "DINOv3ViTImageProcessor, DeiTImageProcessor, Gemma4ImageProcessor, Gemma4UnifiedImageProcessor, "
                   "Qwen2VLImageProcessor, SiglipImageProcessor, ViTImageProcessor");
  EXPECT_EQ(problem(R"({"resample": 6})"), file + "resample is 6, but must be one of Pillow's filters 0-5");
  EXPECT_EQ(problem(R"({"do_resize": 1})"), file + "do_resize: is neither true nor false");
  EXPECT_EQ(problem(R"({"image_std": [1, 0, 1]})"),
            file + "image_std is [1,0,1], but must be three finite numbers other than 0");
  EXPECT_EQ(problem(R"({"image_mean": [1, 2]})"), file + "image_mean is [1,2], but must be three finite numbers");
  for (const char *size :
       {"0", "16385", "{}", R"({"height": 3})", R"({"shortest_edge": 3, "longest_edge": 9})", "\"x\""})
    EXPECT_NE(problem((std::string("{\"size\": ") + size + "}").c_str()).find("from 1 to 16384"), std::string::npos);
  EXPECT_EQ(problem(R"({"do_center_crop": true, "crop_size": {"shortest_edge": 4}})"),
            file + "crop_size has shortest_edge, but needs height and width");
  EXPECT_EQ(problem(R"({"rescale_factor": "x"})"), file + "rescale_factor is \"x\", but must be a finite number");
  EXPECT_EQ(problem(R"({"data_format": "channels_last"})"),
            file + "data_format is \"channels_last\", but only channels_first is supported");
  const std::string convNext = R"({"image_processor_type": "ConvNextImageProcessor", )";
  EXPECT_EQ(problem((convNext + R"("size": {"height": 224, "width": 224}})").c_str()),
            file + "size has height and width, but needs shortest_edge");
  EXPECT_EQ(problem((convNext + R"("crop_pct": 0})").c_str()),
            file + "crop_pct is 0, but must be a number from 0.001 to 1000");
  EXPECT_EQ(problem((convNext + R"("size": 100, "crop_pct": 0.002})").c_str()),
            file + "size / crop_pct is not from 1 to 16384");
  const std::string gemma4 = R"({"image_processor_type": "Gemma4ImageProcessor", )";
  EXPECT_EQ(problem((gemma4 + R"("max_soft_tokens": 256})").c_str()),
            file + "max_soft_tokens is 256, but must be one of 70, 140, 280, 560 and 1120");
  EXPECT_EQ(problem((gemma4 + R"("patch_size": 0})").c_str()), file + "patch_size is 0, but must be from 1 to 256");
  EXPECT_EQ(problem((gemma4 + R"("pooling_kernel_size": 17})").c_str()),
            file + "pooling_kernel_size is 17, but must be from 1 to 16");
  EXPECT_EQ(problem(R"({"max_soft_tokens": 70})"),
            file + "max_soft_tokens is 70, which could change the numbers and is not supported");
  EXPECT_EQ(problem((convNext + R"("do_center_crop": true})").c_str()),
            file + "do_center_crop is true, which could change the numbers and is not supported");
  EXPECT_EQ(problem(R"({"image_processor_type": "DINOv3ViTImageProcessorFast", "resample": 1})"),
            file + "resample is 1, but images that are rescaled first can be resized by 2 (bilinear) and 3 (bicubic)");
}

TEST(PreprocessingFaults, OfSquares) {
  const std::string qwen = R"({"image_processor_type": "Qwen2VLImageProcessor", )", file = "preprocessor_config.json: ";
  auto problem = [&](const std::string &members) {
    Expected<Preprocessing> how = readPreprocessing(qwen + members + "}");
    return how ? "" : how.error().message;
  };
  EXPECT_EQ(problem(R"("patch_size": 0)"), file + "patch_size is 0, but must be from 1 to 256");
  EXPECT_EQ(problem(R"("merge_size": 17)"), file + "merge_size is 17, but must be from 1 to 16");
  EXPECT_EQ(problem(R"("temporal_patch_size": "2")"), file + "temporal_patch_size is \"2\", but must be from 1 to 16");
  EXPECT_EQ(problem(R"("min_pixels": -1)"), file + "min_pixels is -1, but must be from 1 to 268435456");
  EXPECT_EQ(problem(R"("size": {"height": 3, "width": 3})"),
            file +
                "size is {\"height\":3,\"width\":3}, but must have shortest_edge and longest_edge, which are numbers "
                "of pixels");
  EXPECT_EQ(problem(R"("size": {"shortest_edge": 3, "longest_edge": 268435457})"),
            file + "size.longest_edge is 268435457, but must be from 1 to 268435456");
  EXPECT_EQ(problem(R"("min_pixels": 9000, "max_pixels": 8000)"),
            file + "the least pixels of an image, 9000, are more than the most, 8000");
  EXPECT_EQ(problem(R"("min_pixels": 1, "max_pixels": 700)"),
            file + "an image has at most 700 pixels, fewer than the 784 of a square of patches");
  EXPECT_EQ(problem(R"("do_center_crop": true)"),
            file + "do_center_crop is true, which could change the numbers and is not supported");
  Expected<Preprocessing> kept = readPreprocessing(qwen + R"("patch_size": 4, "do_resize": false})");
  ASSERT_TRUE(bool(kept)) << kept.error().message;
  Expected<PixelValues> odd = preprocess(readFixture("color2-8.png"), *kept);
  ASSERT_FALSE(bool(odd));
  EXPECT_EQ(odd.error().message,
            "an image of 21 x 26 pixels is not resized (do_resize), but its sides must be multiples of 8");
}
