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

TEST(Options, ProgressIsAutomaticUnlessAskedFor) {
  EXPECT_EQ(parseOptions({"dir"})->progress, "auto");
  EXPECT_EQ(parseOptions({"dir", "--progress=never"})->progress, "never");
}

TEST(Options, UsageErrorsSayWhatToWrite) {
  EXPECT_NE(failure({}).find("no model given"), std::string::npos);
  EXPECT_NE(failure({"a", "b"}).find("two inputs: 'a' and 'b'"), std::string::npos);
  EXPECT_NE(failure({"a", "--nonsense"}).find("unknown option '--nonsense' ("), std::string::npos);
  EXPECT_NE(failure({"a", "-o"}).find("-o needs a value"), std::string::npos);
  EXPECT_NE(failure({"a", "-o", "x.txt"}).find("none of .so, .a and .o"), std::string::npos);
  EXPECT_NE(failure({"a", "-o", "x.so", "-c"}).find("another kind of file"), std::string::npos);
  EXPECT_NE(failure({"a", "--max-batch=0"})
                .find("invalid value '0' for --max-batch; expected a whole number from 1 to 65536"),
            std::string::npos);
  EXPECT_NE(failure({"a", "--max-seq-len=12x"}).find("invalid value '12x' for --max-seq-len"), std::string::npos);
  for (const char *cpus : {"", "a,", ",a", "a,,b"})
    EXPECT_NE(
        failure({"a", std::string("--mcpu=") + cpus}).find("invalid value '" + std::string(cpus) + "' for --mcpu"),
        std::string::npos);
  EXPECT_NE(failure({"a", "--mcpu=a,b,a"}).find("names a twice"), std::string::npos);
  EXPECT_NE(failure({"a", "--mcpu=a,b", "-S"}).find("give one --mcpu, not 2"), std::string::npos);
  EXPECT_NE(failure({"a", "--target=gpu"}).find("invalid value 'gpu' for --target; expected cpu, cuda or generic"),
            std::string::npos);
  EXPECT_NE(failure({"a", "--quantize=w2"}).find("invalid value 'w2' for --quantize; expected none, w8a8, w8 or w4"),
            std::string::npos);
  EXPECT_NE(failure({"a", "--quantize=w4", "--quantize-group=48"})
                .find("invalid value '48' for --quantize-group; expected 32, 64 or 128"),
            std::string::npos);
  EXPECT_NE(failure({"a", "--quantize=w8a8", "--quantize-group=64"}).find("has no groups"), std::string::npos);
  EXPECT_NE(failure({"a", "--quantize-group=64"}).find("--quantize=none has no groups"), std::string::npos);
  EXPECT_NE(failure({"a", "--quantize=w8", "--quantize-zero-point"}).find("is for --quantize=w4"), std::string::npos);
  EXPECT_EQ(failure({"a", "--quantize=w4", "--quantize-group=128", "--quantize-zero-point"}), "");
  EXPECT_NE(failure({"a", "--cache-dtype=f8"})
                .find("invalid value 'f8' for --cache-dtype; expected auto, f32, bf16, f16 or int8"),
            std::string::npos);
  EXPECT_EQ(failure({"a", "--cache-dtype=int8"}), "");
  EXPECT_NE(failure({"a", "--progress=yes"}).find("invalid value 'yes' for --progress; expected auto, always or never"),
            std::string::npos);
  EXPECT_NE(failure({"a", "--save-weights=w.safetensors"}).find("needs --random-weights=SEED"), std::string::npos);
  EXPECT_NE(failure({"a", "--emit=elf"}).find("invalid value 'elf' for --emit; expected imported, "),
            std::string::npos);
  EXPECT_EQ(failure({"a", "--quantize=none", "--cache-dtype=auto"}), "");
}

TEST(Options, TheEnvironmentNamesTheObjectCache) {
  unsetenv("RAPT_OBJECT_CACHE");
  unsetenv("RAPT_CHECK_OBJECT_CACHE");
  EXPECT_EQ(parseOptions({"dir"})->objectCache, "");
  EXPECT_NE(failure({"dir", "--check-object-cache"}).find("RAPT_OBJECT_CACHE=DIR in the environment"),
            std::string::npos);
  setenv("RAPT_OBJECT_CACHE", "/some/folder", 1);
  EXPECT_EQ(parseOptions({"dir"})->objectCache, "/some/folder");
  EXPECT_EQ(parseOptions({"dir"})->cacheCheck.oneIn, 0u);
  EXPECT_EQ(parseOptions({"dir", "--check-object-cache"})->cacheCheck.oneIn, 1u);
  EXPECT_EQ(parseOptions({"--check-object-cache=20:7", "dir"})->cacheCheck.oneIn, 20u);
  EXPECT_EQ(parseOptions({"--check-object-cache=20:7", "dir"})->cacheCheck.seed, 7u);
  setenv("RAPT_CHECK_OBJECT_CACHE", "30:8", 1);
  EXPECT_EQ(parseOptions({"dir"})->cacheCheck.oneIn, 30u);
  EXPECT_EQ(parseOptions({"dir"})->cacheCheck.seed, 8u);
  EXPECT_EQ(parseOptions({"dir", "--check-object-cache"})->cacheCheck.oneIn, 1u); // the command line goes before it
  for (const char *wrong : {"0:1", "20", "20:", ":1", "20:-1", "20:1x", "x"}) {
    setenv("RAPT_CHECK_OBJECT_CACHE", wrong, 1);
    EXPECT_EQ(failure({"dir"}), "invalid value '" + std::string(wrong) +
                                    "' for RAPT_CHECK_OBJECT_CACHE; expected N:SEED: one in N of the objects, drawn by "
                                    "a seed, such as 20:1");
  }
  unsetenv("RAPT_CHECK_OBJECT_CACHE");
  unsetenv("RAPT_OBJECT_CACHE");
}

TEST(Options, TheLevelIsShippedUnlessAskedFor) {
  unsetenv("RAPT_CODEGEN");
  EXPECT_EQ(parseOptions({"dir"})->codegen, "shipped");
  EXPECT_EQ(parseOptions({"dir", "--codegen=quick"})->codegen, "quick");
  EXPECT_NE(failure({"dir", "--codegen=fast"}).find("invalid value 'fast' for --codegen; expected shipped or quick"),
            std::string::npos);
  setenv("RAPT_CODEGEN", "quick", 1);
  EXPECT_EQ(parseOptions({"dir"})->codegen, "quick");
  EXPECT_EQ(parseOptions({"dir", "--codegen=shipped"})->codegen, "shipped");
  setenv("RAPT_CODEGEN", "fast", 1);
  EXPECT_EQ(failure({"dir"}), "invalid value 'fast' for RAPT_CODEGEN; expected shipped or quick");
  unsetenv("RAPT_CODEGEN");
}

TEST(Options, OtherCompilersNames) {
  for (const char *form : {"-mcpu=haswell", "--march=haswell", "-march=haswell", "--mcpu=haswell"})
    EXPECT_EQ(parseOptions({"dir", form})->cpus, std::vector<std::string>{"haswell"}) << form;
  EXPECT_EQ(parseOptions({"dir", "-mcpu", "haswell"})->cpus, std::vector<std::string>{"haswell"});
  for (const char *form : {"-h", "-help", "--help"})
    EXPECT_TRUE(parseOptions({form})->help) << form;
  EXPECT_TRUE(parseOptions({"-version"})->version);
  EXPECT_TRUE(parseOptions({"dir", "--verbose"})->verbose);
  EXPECT_TRUE(parseOptions({"dir", "--save-temps"})->saveTemps);
  EXPECT_EQ(parseOptions({"dir", "--output=x.so"})->output, "x.so");
  EXPECT_EQ(parseOptions({"dir", "-mtriple=aarch64-linux-gnu"})->triple, "aarch64-linux-gnu");
  EXPECT_EQ(parseOptions({"dir", "-emit=asm"})->emit, "asm");
}

TEST(Options, TheNearestNameIsOffered) {
  for (const auto &[written, meant] :
       std::vector<std::pair<const char *, const char *>>{{"--emti=so", "--emit"},
                                                          {"-mpcu=native", "--mcpu"},
                                                          {"--quantice=w8", "--quantize"},
                                                          {"--cpu=native", "--mcpu"},
                                                          {"--cache-type=f16", "--cache-dtype"},
                                                          {"--chek-tensors", "--check-tensors"}})
    EXPECT_NE(failure({"a", written}).find("; did you mean '" + std::string(meant) + "'?"), std::string::npos)
        << failure({"a", written});
  for (const char *written : {"-x", "-O3", "--entirely-different"})
    EXPECT_EQ(failure({"a", written}).find("did you mean"), std::string::npos) << failure({"a", written});
  EXPECT_NE(failure({"a", "--strict=1"}).find("--strict takes no value"), std::string::npos);
}

TEST(Options, HiddenOptionsAreListedOnlyWhenAskedFor) {
  for (const char *name : {"--inject-fault", "-###", "--save-temps", "--codegen", "--help-hidden"}) {
    EXPECT_EQ(helpText(false).find(name), std::string::npos) << name;
    EXPECT_NE(helpText(true).find(std::string("      ") + name), std::string::npos) << name;
  }
  for (const char *line : {"\n      -o F ", "\n  -h, --help ", "\n  -v, --verbose ",
                           "\n      --attention-weights[=LAYERS/", "\n      --attention-log-sum-exp[=LAYERS/"})
    EXPECT_NE(helpText(false).find(line), std::string::npos) << line;
  EXPECT_EQ(failure({"a", "--inject-falt"}).find("did you mean"), std::string::npos);
}

TEST(Options, PluginsAndPassesMayBeRepeated) {
  auto options = parseOptions({"dir", "--load-pass-plugin=a.so", "--load-pass-plugin", "b.so",
                               "--run-passes=imported:cse,x{n=1:2}", "--run-passes=tiled:y"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->passPlugins, (std::vector<std::string>{"a.so", "b.so"}));
  ASSERT_EQ(options->runPasses.size(), 2u);
  EXPECT_EQ(options->runPasses[0].stage, "imported");
  EXPECT_EQ(options->runPasses[0].pipeline, "cse,x{n=1:2}");
  EXPECT_EQ(options->runPasses[1].stage, "tiled");
}

TEST(Options, EmptyValues) {
  EXPECT_EQ(failure({"a", "-o", ""}), "invalid value '' for -o; expected a file");
  EXPECT_EQ(failure({"a", "--weights="}),
            "invalid value '' for --weights; expected a model directory or a weight file");
  EXPECT_EQ(failure({"a", "--emit="}),
            "invalid value '' for --emit; expected imported, canonical, laid-out, tiled, backend, "
            "llvm-dialect, llvm-ir, asm, ptx, obj, a or so");
}
