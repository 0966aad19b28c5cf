// Outputs that would destroy a file that a command reads or writes, however their paths are spelled.
#include "lib/Support/CommandFiles.h"
#include "test/Unit/TemporaryFolder.h"
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace rapt;
namespace fs = std::filesystem;

namespace {
class CommandFilesTest : public testing::Test {
protected:
  void SetUp() override {
    fs::create_directory(root / "m");
    std::ofstream(root / "m/config.json") << "{}";
  }
  /// The check's message when `output` is written and m/config.json is read.
  std::string against(const std::string &output) const {
    CommandFiles files;
    files.addInput((root / "m/config.json").string(), "the input");
    files.addOutput((root / output).string(), "the output");
    Status status = files.check();
    return status ? "" : status.error().message;
  }
  const test::TemporaryFolder own;
  const fs::path root = own.path;
};
} // namespace

TEST_F(CommandFilesTest, SeesOneFileUnderAnyName) {
  fs::create_hard_link(root / "m/config.json", root / "hard.so");
  fs::create_symlink("m/config.json", root / "soft.so");
  fs::create_directory_symlink("m", root / "folder");
  for (const char *output : {"m/config.json", "hard.so", "soft.so", "folder/config.json", "m/../m/./config.json"})
    EXPECT_NE(against(output).find("as the output would overwrite"), std::string::npos) << output;
  EXPECT_NE(against("hard.so").find("config.json, which is the same file (the input)"), std::string::npos);
  EXPECT_EQ(against("m/x.so"), "");
  EXPECT_EQ(against("absent/config.json"), "");
}

TEST_F(CommandFilesTest, ALinkThatIsReadIsAnInputItself) {
  fs::create_symlink("config.json", root / "m/link.json");
  CommandFiles files;
  files.addInput((root / "m/link.json").string(), "the input");
  EXPECT_TRUE(files.isInput((root / "m/link.json").string()));
  EXPECT_TRUE(files.isInput((root / "m/config.json").string()));
  EXPECT_FALSE(files.isInput((root / "m/other.json").string()));
}

TEST_F(CommandFilesTest, OutputsThatDoNotExistYet) {
  fs::create_directory_symlink("m", root / "folder");
  CommandFiles files;
  files.addOutput((root / "m/o.h").string(), "the header");
  files.addOutput((root / "m/o.so").string(), "the output");
  EXPECT_TRUE(files.check());
  files.addOutput((root / "folder/o.h").string(), "--save-weights");
  EXPECT_NE(files.check().error().message.find("as --save-weights would overwrite"), std::string::npos);
  EXPECT_NE(files.check().error().message.find("m/o.h, which is the same file (the header)"), std::string::npos);
}

TEST_F(CommandFilesTest, NamesThatArePartlyKnown) {
  std::ofstream(root / "m/attentions-layer0.png") << "x";
  auto check = [&](const std::string &input) {
    CommandFiles files;
    files.addInput((root / input).string(), "--image");
    files.addOutputs((root / "m").string(), "attentions-", "--attention-weights");
    return bool(files.check());
  };
  EXPECT_FALSE(check("m/attentions-layer0.png"));
  EXPECT_TRUE(check("m/config.json"));
  fs::create_hard_link(root / "m/attentions-layer0.png", root / "cat.png");
  EXPECT_FALSE(check("cat.png"));
}

TEST_F(CommandFilesTest, WritingToADeviceOverwritesNothing) {
  CommandFiles files;
  files.addInput("/dev/null", "the input");
  files.addOutput("/dev/null", "the output");
  files.addOutput("/dev/null", "--profile");
  EXPECT_TRUE(files.check());
}

TEST_F(CommandFilesTest, TheStandardInputIsAnInputWhereItIsAFile) {
  auto check = [&](const fs::path &output) {
    CommandFiles files;
    files.addStandardInput();
    files.addOutput(output.string(), "the output");
    return files.check();
  };
  const int saved = dup(STDIN_FILENO), file = open((root / "m/config.json").c_str(), O_RDONLY);
  dup2(file, STDIN_FILENO);
  const Status same = check(root / "m/config.json"), other = check(root / "m/other.json");
  dup2(saved, STDIN_FILENO);
  close(saved), close(file);
  EXPECT_TRUE(other);
  ASSERT_FALSE(same);
  EXPECT_NE(same.error().message.find("as the output would overwrite it (the standard input)"), std::string::npos);
}

TEST_F(CommandFilesTest, WhateverIsBelowAFolder) {
  fs::create_directories(root / "tree/f");
  std::ofstream(root / "tree/f/x.mlir") << "x";
  auto check = [&](const std::string &input) {
    CommandFiles files;
    files.addInput((root / input).string(), "the input");
    files.addOutputs((root / "tree").string(), "", "--mlir-print-ir-tree-dir");
    return bool(files.check());
  };
  EXPECT_FALSE(check("tree/f/x.mlir"));
  EXPECT_TRUE(check("m/config.json"));
}
