// Linking real objects: what comes out exports one symbol, needs nothing, and has the same bytes anywhere.
#include "lib/Artifact/Link.h"
#include "lib/Artifact/Elf.h"
#include "lib/Artifact/Manifest.h"
#include "lib/Support/File.h"
#include "test/Unit/TemporaryFolder.h"
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace rapt;
using namespace rapt::artifact;

namespace {
class LinkTest : public testing::Test {
protected:
  std::string compile(const std::string &source) {
    std::ofstream(folder + "/x.c") << source;
    const std::string command = "clang-22 -O1 -fPIC -c -o " + folder + "/x.o " + folder + "/x.c";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return *readFile(folder + "/x.o", 1 << 20);
  }
  const test::TemporaryFolder own;
  const std::string folder = own.path;
};
const char *const goodSource =
    "#include <string.h>\nstatic char b[4096]; int helper(int n) { memset(b, n, n); return b[3]; }\n"
    "int (*const gpt2_module)(int) = helper;\n";
} // namespace

TEST_F(LinkTest, ExportsOneSymbolAndHasTheSameBytesAnywhere) {
  const std::string object = compile(goodSource);
  std::string first;
  for (const char *name : {"/a.so", "/b.so"}) {
    auto library = linkShared({object, folder + name, {"gpt2_module"}, folder});
    ASSERT_TRUE(library) << library.error().message;
    const std::string bytes = *library;
    std::ofstream(folder + name, std::ios::binary) << bytes;
    auto symbols = readElfSymbols(bytes);
    ASSERT_TRUE(symbols);
    EXPECT_EQ(symbols->defined, std::vector<std::string>{"gpt2_module"});
    EXPECT_EQ(symbols->undefined, std::vector<std::string>{"memset"});
    EXPECT_TRUE(first.empty() || first == bytes);
    first = bytes;
  }
  void *handle = dlopen((folder + "/a.so").c_str(), RTLD_NOW);
  ASSERT_TRUE(handle) << dlerror();
  EXPECT_EQ((*static_cast<int (**)(int)>(dlsym(handle, "gpt2_module")))(7), 7);
  dlclose(handle);
}

TEST_F(LinkTest, ForeignSymbolsAreRefused) {
  const std::string object = compile("float expf(float); float f(float x) { return expf(x); }\n"
                                     "float (*const gpt2_module)(float) = f;\n");
  auto library = linkShared({object, folder + "/a.so", {"gpt2_module"}, folder});
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().message, folder + "/a.so: the code leaves expf undefined");
}

TEST_F(LinkTest, AFailingOrKilledLinkerIsNamed) {
  const std::string object = compile(goodSource), linker = folder + "/ld.lld";
  auto with = [&](const char *script) {
    std::ofstream(linker) << script;
    std::filesystem::permissions(linker, std::filesystem::perms::all);
    auto library = linkShared({object, folder + "/a.so", {"gpt2_module"}, folder});
    return library ? std::string() : library.error().message;
  };
  EXPECT_EQ(with("#!/bin/sh\necho no space >&2; exit 3\n"),
            linker + ": the linker failed with exit status 3: no space");
  EXPECT_EQ(with("#!/bin/sh\nkill -9 $$\n"), linker + ": the linker was killed by signal 9 (Killed)");
}

TEST_F(LinkTest, IdentityIsThatOfTheLinkerTheExportsAndThePages) {
  auto identity = [&](const std::string &name, uint64_t pageBytes) {
    return *linkIdentity({"", "a.so", {name}, folder, pageBytes});
  };
  const std::string first = identity("gpt2_module", 4096);
  EXPECT_EQ(identity("gpt2_module", 4096), first);
  EXPECT_NE(identity("bert_module", 4096), first);
  EXPECT_NE(identity("gpt2_module", 65536), first);
  std::ofstream(folder + "/ld.lld") << "#!/bin/sh\n";
  std::filesystem::permissions(folder + "/ld.lld", std::filesystem::perms::all);
  const std::string beside = identity("gpt2_module", 4096);
  EXPECT_NE(beside, first);
  std::ofstream(folder + "/ld.lld", std::ios::app) << "exit 1\n";
  EXPECT_NE(identity("gpt2_module", 4096), beside);
}

TEST_F(LinkTest, ArchivesLinkIntoPrograms) {
  std::ofstream(folder + "/x.a") << makeArchive(compile(goodSource), {"gpt2_module"});
  std::ofstream(folder + "/m.c")
      << "extern int (*const gpt2_module)(int); int main(void) { return gpt2_module(5) - 5; }\n";
  const std::string command = "cd " + folder + " && clang-22 -fPIE m.c x.a -o m && ./m";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(Manifest, PrefixIsACIdentifier) {
  EXPECT_EQ(prefixOf("gpt2"), "gpt2");
  EXPECT_EQ(prefixOf("tiny-gpt.v1"), "tiny_gpt_v1");
  EXPECT_EQ(prefixOf("124M"), "m_124M");
  EXPECT_EQ(prefixOf("mod\xc3\xa8le"), "mod__le");
}

TEST(Manifest, IsJsonWithTheAgreedKeysInOrder) {
  Manifest manifest;
  manifest.version = "0.1.0";
  manifest.name = "m";
  manifest.model = rapt::ModelFacts{.family = "gpt2", .task = "decoder", .layers = 2, .endTokens = {50256}};
  manifest.weightsFile = "m-00000000.weights";
  manifest.parameters.resize(2);
  manifest.parameters[1].readByRows = true;
  manifest.parameters[0].name = "w";
  manifest.parameters[0].shape = {2, 3};
  auto value = json::parse(writeManifest(manifest));
  ASSERT_TRUE(value) << value.error().message;
  std::string keys;
  for (const auto &[key, member] : *value->asObject())
    keys += key + " ";
  EXPECT_EQ(keys, "rapt name model interface_id content_id target bounds weights parameters entries ");
  EXPECT_EQ(value->find("parameters")->asArray()->front().find("layout")->asString()[0], "row-major");
  EXPECT_EQ(value->find("parameters")->asArray()->front().find("read_by_rows"), nullptr);
  EXPECT_NE(value->find("parameters")->asArray()->back().find("read_by_rows"), nullptr);
  EXPECT_EQ(value->find("model")->find("eos")->asArray()->front().asInteger(), 50256);
}

TEST(Elf, BrokenFilesAreRefusedNotRead) {
  EXPECT_FALSE(readElfSymbols(""));
  std::string bytes("\x7f"
                    "ELF\2",
                    5);
  bytes.resize(64, '\xff');
  EXPECT_FALSE(readElfSymbols(bytes));
  EXPECT_FALSE(readElfSection(bytes, ".text"));
}
