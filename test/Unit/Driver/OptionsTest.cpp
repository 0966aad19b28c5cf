// The command line, and the nesting check that stands before the MLIR parser.
#include "lib/Driver/Options.h"
#include <gtest/gtest.h>

using namespace rapt::driver;

namespace {
std::string failure(std::vector<std::string> arguments) {
  auto options = parseOptions(arguments);
  return options ? std::string() : options.error().message;
}
} // namespace

TEST(Options, FormsOfValues) {
  for (const auto &arguments : std::vector<std::vector<std::string>>{
           {"dir", "-o", "x.a", "--mcpu=x86-64-v3", "-j2"}, {"-ox.a", "-march=x86-64-v3", "-j", "2", "--", "dir"}}) {
    auto options = parseOptions(arguments);
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->input, "dir");
    EXPECT_EQ(options->output, "x.a");
    EXPECT_EQ(options->emit, "a");
    EXPECT_EQ(options->cpus, std::vector<std::string>{"x86-64-v3"});
    EXPECT_EQ(options->jobs, 2u);
  }
  EXPECT_EQ(parseOptions({"dir"})->emit, "so");
  EXPECT_EQ(parseOptions({"dir", "--mcpu=a", "--mcpu", "b,c"})->cpus, (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(parseOptions({"--mcpu=help"})->listCpus);
  EXPECT_EQ(parseOptions({"dir", "-S"})->emit, "asm");
  EXPECT_EQ(*parseOptions({"dir", "--random-weights=18446744073709551615"})->randomSeed, UINT64_MAX);
}

TEST(Options, UsageErrorsSayWhatToWrite) {
  EXPECT_NE(failure({}).find("no model given"), std::string::npos);
  EXPECT_NE(failure({"a", "b"}).find("two inputs: 'a' and 'b'"), std::string::npos);
  EXPECT_NE(failure({"a", "--nonsense"}).find("unknown option --nonsense"), std::string::npos);
  EXPECT_NE(failure({"a", "-o"}).find("-o needs a value"), std::string::npos);
  EXPECT_NE(failure({"a", "-o", "x.txt"}).find("none of .so, .a and .o"), std::string::npos);
  EXPECT_NE(failure({"a", "-o", "x.so", "-c"}).find("another kind of file"), std::string::npos);
  EXPECT_NE(failure({"a", "--max-batch=0"}).find("from 1 to 65536, not '0'"), std::string::npos);
  EXPECT_NE(failure({"a", "--max-seq-len=12x"}).find("not '12x'"), std::string::npos);
  for (const char *cpus : {"", "a,", ",a", "a,,b"})
    EXPECT_NE(failure({"a", std::string("--mcpu=") + cpus}).find(std::string("--mcpu=") + cpus + " has an empty name"),
              std::string::npos);
  EXPECT_NE(failure({"a", "--mcpu=a,b,a"}).find("names a twice"), std::string::npos);
  EXPECT_NE(failure({"a", "--mcpu=a,b", "-S"}).find("give one --mcpu, not 2"), std::string::npos);
  EXPECT_NE(failure({"a", "--target=cuda"}).find("--target=cpu is"), std::string::npos);
  EXPECT_NE(failure({"a", "--quantize=w2"}).find("is none of none, w8a8, w8 and w4"), std::string::npos);
  EXPECT_NE(failure({"a", "--quantize=w4", "--quantize-group=48"}).find("is none of 32, 64 and 128"),
            std::string::npos);
  EXPECT_NE(failure({"a", "--quantize=w8a8", "--quantize-group=64"}).find("has no groups"), std::string::npos);
  EXPECT_NE(failure({"a", "--quantize-group=64"}).find("--quantize=none has no groups"), std::string::npos);
  EXPECT_NE(failure({"a", "--quantize=w8", "--quantize-zero-point"}).find("is for --quantize=w4"), std::string::npos);
  EXPECT_EQ(failure({"a", "--quantize=w4", "--quantize-group=128", "--quantize-zero-point"}), "");
  EXPECT_NE(failure({"a", "--cache-dtype=f8"}).find("is none of auto, f32, bf16, f16 and int8"), std::string::npos);
  EXPECT_EQ(failure({"a", "--cache-dtype=int8"}), "");
  EXPECT_NE(failure({"a", "--save-weights=w.safetensors"}).find("needs --random-weights=SEED"), std::string::npos);
  EXPECT_NE(failure({"a", "--emit=ptx"}).find("is no stage"), std::string::npos);
  EXPECT_EQ(failure({"a", "--quantize=none", "--cache-dtype=auto"}), "");
}

TEST(Nesting, CountsBracketsOutsideStringsAndComments) {
  EXPECT_EQ(nestingDepth("module { func.func @f() -> (i32) { } }"), 2u);
  EXPECT_EQ(nestingDepth("\"((((\" // ((((\n(<[{}]>)"), 4u);
  EXPECT_EQ(nestingDepth(std::string(4000, '[') + std::string(4000, ']')), 4000u);
}
