#include "lib/Formats/HuggingFace/ConfigReader.h"
#include <gtest/gtest.h>

using namespace rapt;
using namespace rapt::huggingface;

static ConfigReader readerOf(std::string_view text, std::vector<std::string> ignored = {}) {
  auto value = json::parse(text);
  EXPECT_TRUE(bool(value));
  return ConfigReader(*value, "dir/config.json", std::make_shared<UnknownKeys>(std::move(ignored)));
}
static std::string errorOf(const Status &status) { return status ? "" : status.error().message; }

TEST(ConfigReader, ReadsValuesAliasesAndFallbacks) {
  ConfigReader config =
      readerOf(R"({"hidden_size": 32.0, "n_inner": null, "eps": 1e-5, "tied": false, "act": "relu"})");
  EXPECT_EQ(config.getInt({"n_embd", "hidden_size"}, 1, 64), 32);
  EXPECT_EQ(config.getOptionalInt("n_inner", 1, 64), std::nullopt);
  EXPECT_EQ(config.getInt("n_inner", 1, 64, 7), 7);
  EXPECT_EQ(config.getPositive("eps", 1), 1e-5);
  EXPECT_FALSE(config.getBool("tied", true));
  EXPECT_EQ(config.getEnum("act", {"gelu", "relu"}), "relu");
  EXPECT_EQ(errorOf(config.finish({})), "");
}

TEST(ConfigReader, ReadsHeightAndWidth) {
  ConfigReader config =
      readerOf(R"({"square": 3, "pair": [2, 7], "null": null, "three": [1, 2, 3], "large": [1, 10], "text": "4"})");
  auto read = [&](const char *key) {
    HeightWidth size = config.getHeightWidth(key, 1, 9, 5);
    return std::pair(size.height, size.width);
  };
  EXPECT_EQ(read("square"), std::pair(int64_t(3), int64_t(3)));
  EXPECT_EQ(read("pair"), std::pair(int64_t(2), int64_t(7)));
  EXPECT_EQ(read("null"), std::pair(int64_t(5), int64_t(5)));
  EXPECT_EQ(errorOf(config.errors()), "");
  for (const char *key : {"three", "large", "text"})
    EXPECT_EQ(read(key), std::pair(int64_t(5), int64_t(5)));
  const std::string needed = ", must be an integer from 1 to 9, or two, [height, width]";
  EXPECT_EQ(errorOf(config.errors()), "dir/config.json: three is [1,2,3]" + needed + "; large is [1,10]" + needed +
                                          "; text is \"4\" (a string)" + needed);
}

TEST(ConfigReader, NamesEveryWrongKeyInOneMessage) {
  ConfigReader config = readerOf(R"({"a": 0, "b": 1.5, "c": "x", "d": 1, "e": 2, "f": 3, "g": 4, "act": "mish"})");
  EXPECT_EQ(config.getInt("a", 1, 9), 1);
  config.getInt("b", 1, 9);
  config.getBool("c", false);
  config.getInt({"d", "e"}, 1, 9);
  config.getSize({"f", "g"}, 1, 9, 1);
  config.getEnum("act", {"gelu", "relu"});
  config.getInt("gone", 1, 9);
  EXPECT_EQ(errorOf(config.finish({})),
            "dir/config.json: a is 0, must be an integer from 1 to 9; b is 1.5, must be an integer from 1 to 9; "
            "c is \"x\" (a string), must be true or false; d is 1 and e, which means the same, is 2; "
            "f is 3 and g, which means the same, is 4; "
            "act is \"mish\" (a string), must be gelu or relu; gone is missing, must be an integer from 1 to 9");
}

TEST(ConfigReader, UnknownKeysAreErrorsUnlessEmptyHarmlessOrIgnored) {
  std::string_view text =
      R"({"x": 1, "y": null, "z": false, "w": [], "v": {}, "u": "", "pdrop": 0.1, "use_cache": true})";
  ConfigReader config = readerOf(text);
  EXPECT_EQ(errorOf(config.finish({"pdrop"})), "dir/config.json: unknown key x with value 1 may change the results; if "
                                               "it does not: --ignore-config-key=x");
  EXPECT_EQ(errorOf(readerOf(text, {"x"}).finish({"pdrop"})), "");
}

TEST(ConfigReader, NeedlessIgnoresAreTold) {
  ConfigReader config = readerOf(R"({"x": 1, "n": 2, "use_cache": true})", {"x", "n", "use_cache", "y"});
  config.getInt("n", 1, 9);
  EXPECT_EQ(errorOf(config.finish({})), "");
  std::string start = "dir/config.json: --ignore-config-key=";
  EXPECT_EQ(config.needlessIgnores(),
            (std::vector<std::string>{start + "n was not needed: it is understood and was used",
                                      start + "use_cache was not needed: it does not change the results",
                                      start + "y was not needed: there is no such key"}));
}

/// The keys that the user ignores count for all files of a model, and so do texts that describe.
TEST(ConfigReader, FilesBesideShareWhatIsUnknown) {
  ConfigReader config = readerOf(R"({"author": "A. Person", "languages": ["en", "de"]})", {"x"});
  ConfigReader other =
      config.beside(*json::parse(R"({"x": 1, "license": "MIT", "norm_kind": "rms"})"), "dir/other.json");
  EXPECT_EQ(errorOf(other.finish({})),
            "dir/other.json: unknown key norm_kind with value \"rms\" (a string) may change the "
            "results; if it does not: --ignore-config-key=norm_kind");
  EXPECT_EQ(errorOf(config.finish({})), "");
  EXPECT_TRUE(config.needlessIgnores().empty());
  EXPECT_EQ(config.unreadTexts(),
            (std::vector<std::string>{"dir/config.json: nothing reads author (A. Person), languages (en, de)",
                                      "dir/other.json: nothing reads license (MIT)"}));
  EXPECT_TRUE(readerOf("{}").unreadTexts().empty());
  for (const char *text : {R"({"languages": ["en", 1]})", R"({"layer_kinds": ["a"]})"})
    EXPECT_NE(errorOf(readerOf(text).finish({})).find("may change the results"), std::string::npos) << text;
}

TEST(ConfigReader, RatesOfDropoutAreHarmless) {
  EXPECT_EQ(errorOf(readerOf(R"({"hidden_dropout": 0.1, "encoder_layerdrop": 0.2, "drop_path_rate": 0.3})").finish({})),
            "");
}

/// config.json had them before generation_config.json was.
TEST(ConfigReader, KeysOfGenerationAreHarmless) {
  EXPECT_EQ(errorOf(readerOf(R"({"top_h": 0.9, "force_words_ids": [[1]], "dola_layers": "low"})").finish({})), "");
}

TEST(ConfigReader, NestedObjectsNameTheirKeysInFull) {
  ConfigReader config =
      readerOf(R"({"rope_scaling": {"factor": 0, "type": "linear", "beta": 3}, "gone": null, "list": [1]})");
  EXPECT_FALSE(config.open("gone"));
  EXPECT_FALSE(config.open("absent"));
  auto scaling = config.open("rope_scaling");
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->getString("type", ""), "linear");
  EXPECT_EQ(scaling->getFloat("factor", 1, 64), 1.0);
  EXPECT_EQ(scaling->nameOf("factor"), "rope_scaling.factor");
  config.close(std::move(*scaling));
  EXPECT_FALSE(config.open("list"));
  const std::string errors = errorOf(config.finish({}));
  EXPECT_NE(errors.find("rope_scaling.factor is 0, must be a number from 1 to 64"), std::string::npos) << errors;
  EXPECT_NE(errors.find("rope_scaling.beta"), std::string::npos) << errors;
  EXPECT_NE(errors.find("list is "), std::string::npos) << errors;
}

TEST(ConfigReader, ObjectsInObjectsNameTheirKeysInFull) {
  ConfigReader config = readerOf(R"({"block": {"mixer": {"kind": "x", "causal": true}}})");
  auto block = config.open("block");
  auto mixer = block->open("mixer");
  mixer->getEnum("kind", {"y"}, "y");
  block->close(std::move(*mixer));
  config.close(std::move(*block));
  const std::string errors = errorOf(config.finish({}));
  EXPECT_NE(errors.find("block.mixer.kind is \"x\""), std::string::npos) << errors;
  EXPECT_NE(errors.find("unknown key block.mixer.causal"), std::string::npos) << errors;
}

TEST(ConfigReader, KeysOfNestedObjectsAreIgnoredByTheirFullNames) {
  auto errors = [](std::vector<std::string> ignored) {
    ConfigReader config = readerOf(R"({"rope_scaling": {"beta": 3}})", std::move(ignored));
    auto scaling = config.open("rope_scaling");
    config.close(std::move(*scaling));
    return errorOf(config.finish({}));
  };
  EXPECT_NE(errors({}).find("rope_scaling.beta"), std::string::npos);
  EXPECT_EQ(errors({"rope_scaling.beta"}), "");
}
