// Arguments by a table of options: forms of names and values, and what is said of wrong ones.
#include "lib/Support/CommandLine.h"
#include <gtest/gtest.h>

using namespace rapt;

namespace {

constexpr OptionName names[] = {{"max-tokens", "n n-predict", "N", "stop there"},
                                {"stats", "", nullptr, "tell times"},
                                {"profile", "", "[=FILE]", "measure"},
                                {"j", "jobs", "N", "threads", false, true},
                                {"###", "secret", nullptr, "show commands", true},
                                {"measure", "", "[FILE]", "a text"},
                                {"layers", "ngl", "N", "nothing to choose", false, false, true}};

/// "max-tokens=3 . stats" for arguments that are right, else the message.
std::string read(std::vector<const char *> arguments) {
  arguments.insert(arguments.begin(), "tool");
  auto read = readArguments(int(arguments.size()), arguments.data(), names);
  if (!read)
    return read.error().message;
  std::string text;
  for (const Argument &argument : *read)
    text += (text.empty() ? "" : " ") + (argument.option ? std::string(argument.option->name) : "") +
            (argument.hasValue ? "="
             : argument.option ? ""
                               : "'") +
            argument.text;
  return text;
}

} // namespace

TEST(CommandLine, FormsOfOptions) {
  EXPECT_EQ(read({"a", "-n", "3", "--stats"}), "'a max-tokens=3 stats");
  EXPECT_EQ(read({"--max-tokens=3", "-max-tokens", "-4", "--n-predict="}), "max-tokens=3 max-tokens=-4 max-tokens=");
  EXPECT_EQ(read({"--profile", "--profile=x=y", "-"}), "profile profile=x=y '-");
  EXPECT_EQ(read({"-j2", "-j", "3", "-j=4", "--jobs=5"}), "j=2 j=3 j=4 j=5");
  EXPECT_EQ(read({"-###", "--secret"}), "### ###");
  EXPECT_EQ(read({"-stats", "--", "--stats", "-n"}), "stats '--stats '-n");
}

TEST(CommandLine, ValuesThatMayBeLeftOut) {
  EXPECT_EQ(read({"--measure", "a", "--measure", "--stats", "--measure=b", "--measure"}),
            "measure=a measure stats measure=b measure");
  EXPECT_EQ(read({"--measure", "-", "--profile", "a"}), "measure=- profile 'a");
}

TEST(CommandLine, OptionsOfOtherTools) {
  EXPECT_EQ(read({"-ngl", "99"}), "-ngl: nothing to choose");
  EXPECT_EQ(read({"--layers=3"}), "--layers: nothing to choose");
  EXPECT_EQ(read({"--layer"}), "unknown option '--layer'"); // not offered
}

TEST(CommandLine, WrongOptions) {
  EXPECT_EQ(read({"--max-token", "3"}), "unknown option '--max-token'; did you mean '--max-tokens'?");
  // An alias that is near offers the option's own name.
  EXPECT_EQ(read({"--n-predicts=3"}), "unknown option '--n-predicts'; did you mean '--max-tokens'?");
  EXPECT_EQ(read({"--n"}), "unknown option '--n'");
  EXPECT_EQ(read({"-n3"}), "unknown option '-n3'");
  EXPECT_EQ(read({"-jbos=2"}), "unknown option '-jbos'; did you mean '-j'?"); // no value of -j
  EXPECT_EQ(read({"--j2"}), "unknown option '--j2'");
  EXPECT_EQ(read({"--sekret"}), "unknown option '--sekret'"); // a hidden option is not offered
  EXPECT_EQ(read({"-###=1"}), "-### takes no value");
  EXPECT_EQ(read({"-x=3"}), "unknown option '-x'");
  EXPECT_EQ(read({"--stats=1"}), "--stats takes no value");
  EXPECT_EQ(read({"-n"}), "--max-tokens needs a value: N");
}

TEST(CommandLine, Values) {
  EXPECT_EQ(parseWholeNumber("8", 1, 8), 8);
  for (const char *text : {"0", "9", "", "1.0", " 1", "1x", "99999999999999999999"})
    EXPECT_FALSE(parseWholeNumber(text, 1, 8)) << text;
  EXPECT_EQ(parseRealNumber("-2.5"), -2.5);
  for (const char *text : {"nan", "inf", "", "1e999", "2,5"})
    EXPECT_FALSE(parseRealNumber(text)) << text;
  EXPECT_EQ(expectedNumber(1, 8), "a whole number from 1 to 8");
  EXPECT_EQ(expectedNumber(1, INT64_MAX), "a whole number from 1 on");
}

struct Settings {
  bool isOn = false;
  std::string text, file;
  std::optional<std::string> name;
  int64_t count = 7;
  std::optional<int64_t> most;
  uint64_t seed = 0;
  std::optional<uint64_t> other;
};

TEST(CommandLine, Setters) {
  Settings settings;
  EXPECT_EQ(setFlag<&Settings::isOn>(settings, ""), "");
  EXPECT_TRUE(settings.isOn);
  EXPECT_EQ(setText<&Settings::text>(settings, ""), "");
  EXPECT_EQ(setText<&Settings::name>(settings, ""), "");
  EXPECT_EQ(settings.name, "");
  EXPECT_EQ(setFile<&Settings::file>(settings, "a"), "");
  EXPECT_EQ(settings.file, "a");
  EXPECT_EQ(setFile<&Settings::file>(settings, ""), "a file");
  EXPECT_EQ((setNumber<&Settings::count, 1, 8>(settings, "8")), "");
  EXPECT_EQ(settings.count, 8);
  EXPECT_EQ((setNumber<&Settings::count, 1, 8>(settings, "9")), "a whole number from 1 to 8");
  EXPECT_EQ((setNumber<&Settings::most, 0>(settings, "3")), "");
  EXPECT_EQ(settings.most, 3);
  EXPECT_EQ((setNumber<&Settings::most, 0>(settings, "-1")), "a whole number from 0 on");
  EXPECT_EQ(setSeed<&Settings::seed>(settings, "18446744073709551615"), "");
  EXPECT_EQ(settings.seed, UINT64_MAX);
  for (const char *text : {"-1", "", "1x", "18446744073709551616"})
    EXPECT_EQ(setSeed<&Settings::other>(settings, text), "a whole number from 0 to 2^64 - 1") << text;
}

TEST(CommandLine, NamedFiles) {
  std::vector<std::pair<std::string, std::string>> files;
  EXPECT_EQ(addNamedFile(files, "a=b=c"), "");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0], std::pair(std::string("a"), std::string("b=c")));
  for (const char *text : {"", "a", "a=", "=b"})
    EXPECT_EQ(addNamedFile(files, text), "NAME=FILE.npy") << text;
}

TEST(CommandLine, Help) {
  EXPECT_EQ(listOptions(names, 24), "  -n, --max-tokens N    stop there\n"
                                    "      --stats           tell times\n"
                                    "      --profile[=FILE]  measure\n"
                                    "      -j N              threads\n"
                                    "      --measure [FILE]  a text\n");
  EXPECT_NE(listOptions(names, 24, true).find("      -###              show commands\n"), std::string::npos);
}
