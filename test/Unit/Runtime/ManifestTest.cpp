// Manifests from hostile files, and what is known about processors.
#include "lib/Runtime/Manifest.h"
#include "lib/Runtime/Cpu.h"
#include "test/Unit/Folders.h"
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <sstream>

using namespace rapt::runtime;

namespace {

std::string goodManifest() {
  char *text = nullptr;
  size_t bytes = 0;
  EXPECT_EQ(readManifestSection(rapt::test::inBuild("/test/fake/fake.so").c_str(), &text, &bytes, Report(nullptr, 0)),
            RAPT_OK);
  std::string result(text, bytes);
  free(text);
  return result;
}

rapt_status parse(const std::string &text, std::string *why = nullptr) {
  char message[512];
  Manifest *manifest = nullptr;
  rapt_status status = parseManifest(text.data(), text.size(), "x.so", &manifest, Report(message, sizeof message));
  EXPECT_EQ(manifest != nullptr, status == RAPT_OK);
  delete manifest;
  if (why)
    *why = message;
  return status;
}

TEST(Manifest, EveryCutIsRefused) {
  std::string good = goodManifest();
  EXPECT_EQ(parse(good), RAPT_OK);
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_EQ(parse(good.substr(0, length)), RAPT_BAD_FILE) << length;
}

/// A cache whose layers have a window, and a second one beside a cache of all tokens.
TEST(Manifest, CachesOfWindows) {
  const std::string good = goodManifest(), end = R"("bytes_per_token": 8})",
                    cache = R"({"layout": "x", "dtype": "i32", "block": 8, "block_bytes": 64, "bytes_per_token": 8)";
  auto with = [&](const std::string &window, const std::string &second) {
    std::string text = good;
    return text.replace(text.find(end), end.size(), R"("bytes_per_token": 8)" + window + "}" + second);
  };
  const std::string second = ", \"window_cache\": " + cache;
  EXPECT_EQ(parse(with(R"(, "window": 4)", "")), RAPT_OK);
  EXPECT_EQ(parse(with("", second + R"(, "window": 4})")), RAPT_OK);
  std::string why;
  EXPECT_EQ(parse(with(R"(, "window": 0)", ""), &why), RAPT_BAD_FILE);
  const std::string other = second.substr(0, second.find("\"block\": 8")) +
                            R"("block": 4, "block_bytes": 64, "bytes_per_token": 8, "window": 4})";
  for (const std::string &bad :
       {with("", second + "}"), with(R"(, "window": 4)", second + R"(, "window": 4})"), with("", other)}) {
    EXPECT_EQ(parse(bad, &why), RAPT_BAD_FILE) << bad;
    EXPECT_NE(why.find("\"window_cache\" has no \"window\", or \"cache\" has one or other blocks"), std::string::npos)
        << why;
  }
  std::string alone = with("", second + R"(, "window": 4})");
  alone.replace(alone.find("\"cache\": "), 9, "\"other\": ");
  EXPECT_EQ(parse(alone, &why), RAPT_BAD_FILE);
  EXPECT_NE(why.find("\"window_cache\" is there without \"cache\""), std::string::npos) << why;
}

TEST(Manifest, WhatIsNotJsonIsToldByItsPlace) {
  std::string why;
  for (const char *text : {"{\"rapt\": x}", "{\"rapt\": 1e999}", "{\"rapt\": \"\n"}) {
    EXPECT_EQ(parse(text, &why), RAPT_BAD_FILE);
    EXPECT_TRUE(why.starts_with("x.so: the manifest is not JSON from byte ")) << why; // and no word of the library's
    EXPECT_TRUE(why.ends_with(" on")) << why;
  }
}

TEST(Manifest, KeysOccurOnce) {
  std::string why;
  EXPECT_EQ(parse("{\"rapt\": 1, \"rapt\": 2}", &why), RAPT_BAD_FILE);
  EXPECT_EQ(why, "x.so: the manifest is wrong at byte 22: the key \"rapt\" occurs twice in one object");
}

TEST(Manifest, ChangedBytesNeverCrash) {
  std::string good = goodManifest();
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    for (int n = 0; n < 1 + i % 3; ++n)
      bad[random() % bad.size()] = "{}[]\",:0123456789-eE.nulltrue\\\x80\xff"[random() % 33];
    parse(bad);
  }
}

TEST(Manifest, DeepAndLargeNumbers) {
  std::string why;
  EXPECT_EQ(parse(std::string(100000, '['), &why), RAPT_BAD_FILE);
  EXPECT_NE(why.find("deeper than 16"), std::string::npos) << why;
  auto with = [&](const std::string &from, const std::string &to) {
    std::string text = goodManifest();
    return text.replace(text.find(from), from.size(), to);
  };
  for (const char *number :
       {"-1", "1.5", "1e3", "18446744073709551615", "99999999999999999999999", "\"8\"", "null", "[]"}) {
    EXPECT_EQ(parse(with("\"block\": 8", std::string("\"block\": ") + number), &why), RAPT_BAD_FILE) << number;
    EXPECT_NE(why.find("x.so: the manifest"), std::string::npos) << why;
  }
  EXPECT_EQ(parse(with("\"eos\": [256]", "\"eos\": [-1]")), RAPT_BAD_FILE);
  EXPECT_EQ(parse(with("\"name\": \"fake\"", "\"name\": \"fa\\u0000ke\"")), RAPT_BAD_FILE);
  EXPECT_EQ(parse(with("\"weights\": {", "\"weights\": null, \"unused\": {")), RAPT_OK); // a bare kernel
}

/// Tables lie in the weights, whose 64 bytes the fake model's manifest tells. Other parameters are not read.
TEST(Manifest, TablesThatAreReadByRows) {
  const std::string good = goodManifest(), none = R"("parameters": [])";
  auto with = [&](const std::string &place) {
    return std::string(good).replace(good.find(none), none.size(), R"("parameters": [{"name": "t", )" + place + "}]");
  };
  const std::string mark = R"(, "read_by_rows": true)";
  const std::string text = with(R"("offset": 16, "stride": 24, "layers": 2)" + mark);
  Manifest *read = nullptr;
  ASSERT_EQ(parseManifest(text.data(), text.size(), "x.so", &read, Report(nullptr, 0)), RAPT_OK);
  const std::unique_ptr<Manifest> manifest(read);
  ASSERT_EQ(manifest->tables.size(), 1u);
  EXPECT_EQ(manifest->tables[0].offset, 16u);
  EXPECT_EQ(manifest->tables[0].bytes, 48u);
  for (const std::string beyond :
       {R"("offset": 17, "stride": 24, "layers": 2)", R"("offset": 65, "stride": 0, "layers": 1)",
        R"("offset": 0, "stride": 4503599627370496, "layers": 4096)"}) {
    std::string why;
    EXPECT_EQ(parse(with(beyond)), RAPT_OK) << beyond;
    EXPECT_EQ(parse(with(beyond + mark), &why), RAPT_BAD_FILE) << beyond;
    EXPECT_EQ(why, R"(x.so: the manifest parameter "t" does not lie in the 64 bytes of weights)");
  }
  EXPECT_EQ(parse(with(R"("offset": 0, "stride": 64)" + mark)), RAPT_BAD_FILE); // no layers
}

TEST(Manifest, SourcesThatAreImages) {
  std::string good = goodManifest(), why;
  const std::string from = "\"model\": {";
  auto read = [&](const std::string &members) {
    std::string text = good;
    text.replace(text.find(from), from.size(), from + members);
    Manifest *manifest = nullptr;
    EXPECT_EQ(parseManifest(text.data(), text.size(), "x.so", &manifest, Report(nullptr, 0)), RAPT_OK);
    return std::unique_ptr<Manifest>(manifest);
  };
  std::unique_ptr<Manifest> image = read("\"image_channels\": 3, \"image_height\": 8, \"image_width\": 12, "
                                         "\"grid_height\": 2, \"grid_width\": 3, \"source_positions\": 6,");
  EXPECT_EQ(image->gridHeight * image->gridWidth, image->sourcePositions);
  EXPECT_EQ(image->sourceExtents().rank, 3);
  EXPECT_EQ(image->sourceExtents().sizes[2], 12);
  std::unique_ptr<Manifest> sound = read("\"feature_channels\": 80, \"feature_frames\": 3000,");
  EXPECT_EQ(sound->imageHeight, 0);
  EXPECT_EQ(sound->sourceExtents().rank, 2);
  EXPECT_EQ(sound->sourceExtents().sizes[1], 3000);
  good.replace(good.find(from), from.size(), from + "\"image_width\": -1,");
  EXPECT_EQ(parse(good, &why), RAPT_BAD_FILE);
  EXPECT_NE(why.find("image_width"), std::string::npos) << why;
}

TEST(Manifest, ExtentsOfOutputs) {
  const std::string good = goodManifest(), old = "[\"wanted\", 257]";
  auto with = [&](const std::string &text) {
    std::string changed = good;
    return changed.replace(changed.find(old), old.size(), "[\"" + text + "\", 257]");
  };
  for (const char *text : {"wanted+1", "wanted/16", "tokens/2*rows/3+17", "tokens*rows"})
    EXPECT_EQ(parse(with(text)), RAPT_OK) << text;
  std::string why;
  for (const char *text : {"", "+1", "wanted+", "wanted+-1", "wanted+x", "wanted+9999999999", "wanted/0", "wanted/",
                           "/2", "wanted*", "wanted*rows*tokens", "width/2", "wanted/2/2"}) {
    EXPECT_EQ(parse(with(text), &why), RAPT_BAD_FILE) << text;
    EXPECT_NE(why.find("x.so: the manifest"), std::string::npos) << why;
  }
  std::string input = good;
  input.replace(input.find("[\"rows+1\"]"), 10, "[\"rows/2\"]");
  EXPECT_EQ(parse(input, &why), RAPT_BAD_FILE);
  EXPECT_NE(why.find("extent \"rows/2\" of an input is no dim"), std::string::npos) << why;
}

TEST(Manifest, DispatchesOfVariants) {
  const std::string good = goodManifest();
  auto with = [&](const std::string &lists) {
    std::string changed = good;
    return changed.insert(changed.find("\"features\""), "\"dispatches\": [" + lists + "], ");
  };
  std::string why;
  EXPECT_EQ(parse(with("[-1]")), RAPT_OK); // it has one entry
  EXPECT_EQ(parse(with("[-1], [-1]"), &why), RAPT_BAD_FILE);
  EXPECT_NE(why.find("has \"dispatches\" of 2 entries in a variant, not of 1"), std::string::npos) << why;
  EXPECT_EQ(parse(with("0"), &why), RAPT_BAD_FILE);
  EXPECT_NE(why.find("are not a list for each entry"), std::string::npos) << why;
  EXPECT_EQ(parse(with("[99]"), &why), RAPT_BAD_FILE);
  EXPECT_NE(why.find("has a dispatch of op 99 in a variant, but entry"), std::string::npos) << why;
}

TEST(Manifest, ChangedLibrariesNeverCrash) {
  std::ifstream file(rapt::test::inBuild("/test/fake/fake.so"), std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  std::string good = content.str(), path = testing::TempDir() + "rapt-changed.so";
  std::mt19937 random(4);
  for (int i = 0; i < 500; ++i) {
    std::string bad = good;
    for (int n = 0; n < 4; ++n) { // the header, or the section table at the end
      size_t at = n % 2 ? random() % 64 : bad.size() - 1 - random() % 1500;
      bad[at] = char(random());
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bad;
    char *text = nullptr;
    size_t bytes = 0;
    readManifestSection(path.c_str(), &text, &bytes, Report(nullptr, 0));
    free(text);
  }
  remove(path.c_str());
}

/// The features that the compiler's own library finds are present, and no others. /proc/cpuinfo is no reference: a
/// virtual machine's kernel leaves out features that programs can use.
TEST(Cpu, AgreesWithTheCompilersLibrary) {
#ifdef __x86_64__
  __builtin_cpu_init();
#define EXPECT_SAME(NAME)                                                                                              \
  EXPECT_EQ(feature(NAME) == FeatureState::Present, static_cast<bool>(__builtin_cpu_supports(NAME))) << NAME
  EXPECT_SAME("sse2");
  EXPECT_SAME("sse4.2");
  EXPECT_SAME("avx");
  EXPECT_SAME("avx2");
  EXPECT_SAME("fma");
  EXPECT_SAME("f16c");
  EXPECT_SAME("bmi");
  EXPECT_SAME("bmi2");
  EXPECT_SAME("movbe");
  EXPECT_SAME("popcnt");
  EXPECT_SAME("lzcnt");
  EXPECT_SAME("avx512f");
  EXPECT_SAME("avx512bw");
  EXPECT_SAME("avx512vl");
  EXPECT_SAME("avx512dq");
  EXPECT_SAME("avx512cd");
  EXPECT_SAME("avx512vnni");
  EXPECT_SAME("avx512bf16");
  EXPECT_SAME("avxvnni");
  EXPECT_SAME("gfni");
  EXPECT_SAME("vaes");
  EXPECT_SAME("amx-tile");
  EXPECT_SAME("amx-bf16");
  EXPECT_SAME("amx-int8");
  EXPECT_SAME("fsgsbase");
  EXPECT_SAME("xsavec");
  EXPECT_SAME("sse4a");
#undef EXPECT_SAME
#endif
  EXPECT_EQ(feature("no-such-feature"), FeatureState::Unknown);
  EXPECT_EQ(feature("fast-gather"), FeatureState::Present); // tuning
}

} // namespace
