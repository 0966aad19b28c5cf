// Opening good and bad libraries and weight files (faults 25, 60, 68, 73, 90).
#include "FakeModel.h"
#include "fake_model.h"
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace rapt::test;

namespace {

struct Opened {
  rapt_module *module = nullptr;
  Message message;
  rapt_status status;
  explicit Opened(const std::string &path, rapt_module_options options = {}) {
    options.size = sizeof options;
    status = rapt_module_open(path.c_str(), &options, &module, message.text, message.size);
  }
  ~Opened() { rapt_module_release(module); }
};

rapt_module_options withFlags(uint32_t flags) {
  rapt_module_options options{};
  options.flags = flags;
  return options;
}

/// The model answers as the one that was copied.
void expectRuns(rapt_module *module) {
  ASSERT_NE(module, nullptr);
  Context context({}, module);
  Text text;
  EXPECT_TRUE(context.appendAndCheck(context.sequence(), text, someText(20, 1)));
}

TEST(Module, TellsWhatItIs) {
  rapt_module_info info{};
  info.size = sizeof info;
  ASSERT_EQ(rapt_module_get_info(fakeModule(), &info), RAPT_OK);
  EXPECT_STREQ(info.name, "fake");
  EXPECT_STREQ(info.task, "decoder");
  EXPECT_EQ(info.vocabulary, vocabulary);
  EXPECT_EQ(info.max_positions, positions);
  EXPECT_EQ(info.cache_block, block);
  EXPECT_EQ(info.eos_count, 1u);
  EXPECT_EQ(info.eos[0], 256);
  size_t bytes = 0;
  const char *manifest = rapt_module_manifest(fakeModule(), &bytes);
  EXPECT_EQ(strlen(manifest), bytes);
  auto *json = static_cast<const char *>(rapt_module_section(fakeModule(), "tokenizer.json", &bytes));
  ASSERT_GT(bytes, 1000u);
  EXPECT_EQ(json[0], '{');
  EXPECT_EQ(json[bytes - 1], '}');
  EXPECT_EQ(rapt_module_section(fakeModule(), "nothing.json", &bytes), nullptr);
  EXPECT_EQ(bytes, 0u);
}

TEST(Module, InfoOfAnOlderCallerIsNotOverrun) {
  rapt_module_info info;
  memset(&info, 0x55, sizeof info);
  info.size = offsetof(rapt_module_info, family);
  ASSERT_EQ(rapt_module_get_info(fakeModule(), &info), RAPT_OK);
  EXPECT_STREQ(info.name, "fake");
  EXPECT_EQ(uintptr_t(info.family), UINT64_C(0x5555555555555555));
}

TEST(Module, OpensEveryWay) {
  FakeCopy copy;
  for (uint32_t flags : {0, int(RAPT_READ_WEIGHTS), int(RAPT_POPULATE), int(RAPT_VERIFY)})
    expectRuns(Opened(copy.library(), withFlags(flags)).module);

  rapt_module_options options{};
  std::string elsewhere = copy.directory + "/other name.weights";
  std::filesystem::rename(copy.weights(), elsewhere);
  options.weights_path = elsewhere.c_str();
  expectRuns(Opened(copy.library(), options).module);

  options = {};
  int file = open(elsewhere.c_str(), O_RDONLY);
  options.weights_fd = &file;
  lseek(file, 100, SEEK_SET);
  Opened byDescriptor(copy.library(), options);
  close(file);
  expectRuns(byDescriptor.module);

  options = {};
  std::string bytes = readAll(elsewhere);
  auto *memory = static_cast<char *>(aligned_alloc(64, (bytes.size() + 64) / 64 * 64 + 64));
  memcpy(memory, bytes.data(), bytes.size());
  options.weights_data = memory;
  options.weights_bytes = bytes.size();
  expectRuns(Opened(copy.library(), options).module);
  options.weights_data = memory + 4;
  Opened misaligned(copy.library(), options);
  EXPECT_FAILS(misaligned.status, RAPT_INVALID, misaligned.message, "multiple of 64");
  free(memory);
}

TEST(Module, FindsWeightsBesideTheRealLibrary) {
  FakeCopy copy, other;
  std::string link = other.directory + "/link.so";
  symlink(copy.library().c_str(), link.c_str());
  expectRuns(Opened(link).module);
}

TEST(Module, OpensTheTableOfALinkedModel) {
  rapt_module *module = nullptr;
  Message message;
  rapt_module_options options{};
  options.size = sizeof options;
  // Without a path the weights are looked for beside this program.
  EXPECT_FAILS(rapt_module_from_artifact(&fake_module, nullptr, &module, message.text, message.size), RAPT_IO, message,
               std::filesystem::read_symlink("/proc/self/exe").parent_path().c_str(), "fake-0000cafe.weights");
  const std::string weights = inBuild("/test/fake/fake-0000cafe.weights");
  options.weights_path = weights.c_str();
  ASSERT_EQ(rapt_module_from_artifact(&fake_module, &options, &module, message.text, message.size), RAPT_OK)
      << message.text;
  expectRuns(module);
  rapt_module_release(module);
}

TEST(Module, InspectsWithoutLoading) {
  FakeCopy copy;
  std::filesystem::remove(copy.weights());
  patch(copy.library(), "\"sse2\"", "\"zzz9\""); // not even for this machine
  Opened opened(copy.library(), withFlags(RAPT_INSPECT));
  ASSERT_EQ(opened.status, RAPT_OK) << opened.message.text;
  rapt_context *context = nullptr;
  EXPECT_FAILS(rapt_context_new(opened.module, nullptr, &context, opened.message.text, opened.message.size),
               RAPT_INVALID, opened.message, "fake", "inspected");
}

TEST(Module, RefusesWhatIsNoModel) {
  FakeCopy copy;
  struct {
    std::string path, part;
    rapt_status status;
  } cases[] = {{copy.directory + "/absent.so", "No such file", RAPT_IO},
               {copy.directory, "a directory", RAPT_BAD_FILE},
               {"/dev/zero", "not a regular file", RAPT_BAD_FILE},
               {copy.weights(), "not a 64-bit ELF", RAPT_BAD_FILE},
               {"/proc/self/exe", ".rapt.manifest", RAPT_OK}};
  for (auto &c : cases) {
    Opened opened(c.path);
    if (c.status == RAPT_OK) // a program with a section of that name, but no model
      EXPECT_NE(opened.status, RAPT_OK);
    else
      EXPECT_FAILS(opened.status, c.status, opened.message, c.part.c_str(), c.path.c_str());
    EXPECT_EQ(opened.module, nullptr);
  }
  std::string fifo = copy.directory + "/fifo";
  mkfifo(fifo.c_str(), 0600);
  Opened opened(fifo);
  EXPECT_FAILS(opened.status, RAPT_BAD_FILE, opened.message, "pipe");
}

TEST(Module, TruncatedLibrariesAreRefused) {
  FakeCopy copy;
  std::string bytes = readAll(copy.library());
  for (size_t length = 0; length < bytes.size(); length += length < 128 ? 1 : 611) {
    writeAll(copy.library(), bytes.substr(0, length));
    EXPECT_NE(Opened(copy.library(), withFlags(RAPT_INSPECT)).status, RAPT_OK) << length;
  }
}

TEST(Module, TellsBothVersions) {
  FakeCopy copy;
  patch(copy.library(), "\"abi\": [1, 0]", "\"abi\": [2, 7]");
  Opened newer(copy.library());
  const std::string own = "ABI " + std::to_string(RAPT_ABI_MAJOR) + "." + std::to_string(RAPT_ABI_MINOR);
  EXPECT_FAILS(newer.status, RAPT_MISMATCH, newer.message, "fake.so", "ABI 2.7", own, "0.1.0", "newer runtime");
  patch(copy.library(), "\"abi\": [2, 7]", "\"abi\":[1, 99]");
  Opened minor(copy.library());
  EXPECT_FAILS(minor.status, RAPT_MISMATCH, minor.message, "ABI 1.99", own);
}

TEST(Module, RefusesAForeignTable) {
  FakeCopy copy;
  patch(copy.library(), std::string("RAPTART\0", 8), std::string("RAPTARX\0", 8));
  Opened opened(copy.library());
  EXPECT_FAILS(opened.status, RAPT_BAD_FILE, opened.message, "fake.so", "not a compiled model");
}

TEST(Module, RefusesWhatTheMachineCannotRun) {
  FakeCopy copy;
  patch(copy.library(), "\"sse2\"", "\"zzz9\"");
  Opened unknown(copy.library());
  EXPECT_FAILS(unknown.status, RAPT_CPU, unknown.message,
               "cannot run it: for x86-64 it lacks zzz9 (which this runtime does not know);", "--mcpu=x86-64-v3");
  patch(copy.library(), "\"zzz9\"", "\"xop\" "); // AMD dropped it in 2017, Intel never had it
  Opened missing(copy.library());
  EXPECT_FAILS(missing.status, RAPT_CPU, missing.message,
               "for x86-64 it lacks xop; compile the model with --mcpu=x86-64-v3");
  patch(copy.library(), "x86_64", "sparc9");
  Opened arch(copy.library());
  EXPECT_FAILS(arch.status, RAPT_CPU, arch.message, "sparc9", "x86_64");
}

/// The linked model with another target in its manifest, each variant with the entries of the real one.
struct WithTarget {
  std::string manifest = fake_module.manifest;
  std::vector<rapt_artifact_entry> entries;
  rapt_artifact artifact = fake_module;
  Message message;
  rapt_module *module = nullptr;
  rapt_status status;

  WithTarget(const std::string &target, size_t rows, const char *variant = nullptr, uint32_t flags = 0) {
    const size_t begin = manifest.find("\"target\": ") + 10;
    manifest.replace(begin, manifest.find("}", begin) + 1 - begin, target);
    entries.assign(rows, fake_module.entries[0]);
    artifact.manifest = manifest.c_str();
    artifact.manifest_size = manifest.size();
    artifact.entries = entries.data();
    artifact.entry_count = rows;
    const std::string weights = inBuild("/test/fake/fake-0000cafe.weights");
    rapt_module_options options{};
    options.size = sizeof options;
    options.weights_path = weights.c_str();
    options.variant = variant;
    options.flags = flags;
    status = rapt_module_from_artifact(&artifact, &options, &module, message.text, message.size);
  }
  ~WithTarget() { rapt_module_release(module); }
  std::string taken() const {
    rapt_module_info info{};
    info.size = sizeof info;
    rapt_module_get_info(module, &info);
    return info.target_cpu;
  }
};

#if defined(__x86_64__)
#define HERE "sse2"
const std::string machine = "x86_64";
#else
#define HERE "neon"
const std::string machine = "aarch64";
#endif
const std::string three = "{\"arch\": \"" + machine +
                          "\", \"variants\": [{\"cpu\": \"best\", \"features\": [\"zzz8\", \"" HERE
                          "\", \"zzz9\"]}, {\"cpu\": \"good\", \"features\": [\"" HERE
                          "\"]}, {\"cpu\": \"plain\", \"features\": []}]}";

TEST(Module, TakesTheFirstVariantThatRuns) {
  WithTarget best(three, 3);
  ASSERT_EQ(best.status, RAPT_OK) << best.message.text;
  EXPECT_EQ(best.taken(), "good");
  expectRuns(best.module);
  WithTarget asked(three, 3, "plain");
  ASSERT_EQ(asked.status, RAPT_OK) << asked.message.text;
  EXPECT_EQ(asked.taken(), "plain");
  WithTarget looked(three, 3, nullptr, RAPT_INSPECT);
  EXPECT_EQ(looked.taken(), "good");
  EXPECT_STREQ(looked.message.text, "");
  WithTarget alone("{\"arch\": \"" + machine + "\", \"cpu\": \"only\", \"features\": []}", 1, "only");
  EXPECT_EQ(alone.status, RAPT_OK) << alone.message.text;
}

TEST(Module, RunsOnlyItsOwnEntries) {
  // The entries are the chosen variant's, and not the first's: those of the others would crash.
  WithTarget opened(three, 3);
  auto wrong = [](const rapt_env *, void *const *, const int64_t *) -> int32_t { abort(); };
  for (size_t i : {0, 2})
    opened.entries[i].run = wrong;
  expectRuns(opened.module);
}

TEST(Module, RefusesVariants) {
  WithTarget asked(three, 3, "best");
  EXPECT_FAILS(asked.status, RAPT_CPU, asked.message, "cannot run it as asked: for best it lacks zzz8 (which",
               "), zzz9 (which");
  WithTarget absent(three, 3, "other");
  EXPECT_FAILS(absent.status, RAPT_INVALID, absent.message, "has no variant other; it has best, good, plain");
  WithTarget rows(three, 2);
  EXPECT_FAILS(rows.status, RAPT_BAD_FILE, rows.message, "1 entries in 3 variants, its table has 2");
  WithTarget none("{\"arch\": \"" + machine + "\", \"variants\": []}", 1);
  EXPECT_FAILS(none.status, RAPT_BAD_FILE, none.message, "has 0 \"variants\"");
  WithTarget impossible("{\"arch\": \"" + machine + "\", \"variants\": [{\"cpu\": \"a\", \"features\": [\"zzz8\"]}, " +
                            "{\"cpu\": \"b\", \"features\": [\"zzz9\"]}]}",
                        2);
  EXPECT_FAILS(impossible.status, RAPT_CPU, impossible.message, "cannot run it: for a it lacks zzz8 (which",
               "; for b it lacks zzz9 (which");
  WithTarget looked("{\"arch\": \"sparc9\", \"cpu\": \"b\", \"features\": []}", 1, nullptr, RAPT_INSPECT);
  EXPECT_EQ(looked.taken(), "");
}

TEST(Module, RefusesBrokenManifests) {
  FakeCopy copy;
  struct {
    const char *from, *to, *part;
  } cases[] = {{"\"block\": 8", "\"block\": 0", "\"block\" is 0"},
               {"\"block_bytes\": 64", "\"block_bytes\": 63", "multiple of 64"},
               {"\"name\": \"fake\"", "\"name\": \"f/ke\"", "C identifier"},
               {"fake-0000cafe.weights", "../0000cafe0.weights?", "plain file name"},
               {"\"interface_id\": \"00", "\"interface_id\": \"zz", "hexadecimal"},
               {"\"kind\": \"cache\"", "\"kind\": \"cachE\"", "cachE"},
               {"\"entries\": [", "\"entries\": {", "is not JSON from byte "}};
  std::string good = readAll(copy.library());
  for (auto &c : cases) {
    writeAll(copy.library(), good);
    patch(copy.library(), c.from, std::string(c.to).substr(0, strlen(c.from)));
    Opened opened(copy.library());
    EXPECT_FAILS(opened.status, RAPT_BAD_FILE, opened.message, "fake.so", "manifest", c.part);
  }
}

TEST(Module, WeightsThatAreDamaged) {
  FakeCopy copy;
  std::string good = readAll(copy.weights());
  auto expect = [&](rapt_status status, const std::string &bytes, std::initializer_list<const char *> parts,
                    uint32_t flags = 0) {
    writeAll(copy.weights(), bytes);
    Opened opened(copy.library(), withFlags(flags));
    EXPECT_EQ(opened.status, status) << opened.message.text;
    EXPECT_NE(strstr(opened.message.text, "fake-0000cafe.weights"), nullptr) << opened.message.text;
    for (const char *part : parts)
      EXPECT_NE(strstr(opened.message.text, part), nullptr) << part << " is not in: " << opened.message.text;
  };
  auto with = [&](size_t at, const std::string &bytes) { return std::string(good).replace(at, bytes.size(), bytes); };
  std::string size = std::to_string(good.size()), shorter = std::to_string(good.size() - 1);
  expect(RAPT_BAD_FILE, good.substr(0, good.size() - 1), {"truncated", size.c_str(), shorter.c_str()});
  expect(RAPT_BAD_FILE, "", {"0 bytes", "header"});
  expect(RAPT_BAD_FILE, good.substr(0, 100), {"100 bytes", "header"});
  expect(RAPT_BAD_FILE, good + "x", {"added"});
  expect(RAPT_BAD_FILE, with(0, "version https://git-lfs"), {"not a weight file"});
  expect(RAPT_MISMATCH, with(8, std::string("\2\0\0\0", 4)), {"version 2"});
  expect(RAPT_BAD_FILE, with(12, std::string("\xff\0\0\0", 4)), {"255 sections"});
  expect(RAPT_BAD_FILE, with(offsetof(rapt_weights_header, sections) + 64 + 7, "\x7f"), {"section weights", "not lie"});
  expect(RAPT_BAD_FILE, with(offsetof(rapt_weights_header, sections), std::string(64, 'x')), {"name of section 0"});
  expect(RAPT_MISMATCH, with(16, "\x99"), {"interface 9911", "interface 0011"});
  expect(RAPT_MISMATCH, with(32, std::string(16, '\0')), {"content 00000000", "accepted on request"});
  expect(RAPT_BAD_FILE, with(4096, "\x01"), {"hash to", "damaged"}, RAPT_VERIFY);
  writeAll(copy.weights(), with(32, std::string(16, '\0')));
  EXPECT_EQ(Opened(copy.library(), withFlags(RAPT_ANY_CONTENT)).status, RAPT_OK);
  // A library that was compiled without weights takes any content.
  overwrite(copy.library(), readAll(copy.library()).find("\"content_id\": \"") + 15, std::string(32, '0'));
  writeAll(copy.weights(), with(32, std::string(16, '\1')));
  EXPECT_EQ(Opened(copy.library()).status, RAPT_OK);
  unlink(copy.weights().c_str());
  Opened gone(copy.library());
  EXPECT_FAILS(gone.status, RAPT_IO, gone.message, copy.weights().c_str(), "No such file");
}

TEST(Module, OptionsOfAnotherSizeOrContradictory) {
  rapt_module *module = nullptr;
  Message message;
  rapt_module_options options{};
  const std::string library = inBuild("/test/fake/fake.so");
  const char *path = library.c_str();
  EXPECT_FAILS(rapt_module_open(path, &options, &module, message.text, message.size), RAPT_INVALID, message, "size 0");
  options.size = offsetof(rapt_module_options, variant); // as applications of Rapt 0.1 have it
  options.variant = "not read";
  ASSERT_EQ(rapt_module_open(path, &options, &module, message.text, message.size), RAPT_OK) << message.text;
  rapt_module_release(module);
  options.variant = nullptr;
  options.size = sizeof options;
  options.flags = 1u << 30;
  EXPECT_FAILS(rapt_module_open(path, &options, &module, message.text, message.size), RAPT_INVALID, message,
               "0x40000000");
  options.flags = 0;
  options.weights_path = path;
  options.weights_data = path;
  EXPECT_FAILS(rapt_module_open(path, &options, &module, message.text, message.size), RAPT_INVALID, message,
               "more than one");
  EXPECT_EQ(rapt_module_open(nullptr, nullptr, &module, nullptr, 0), RAPT_INVALID);
  EXPECT_EQ(rapt_module_open(path, nullptr, nullptr, nullptr, 0), RAPT_INVALID);
  rapt_module_release(nullptr);
}

TEST(Module, TwoOpenedTwiceAndReleasedWhileRunning) {
  FakeCopy a, b;
  Opened first(a.library()), again(a.library()), second(b.library());
  Context one({}, first.module), two({}, again.module), three({}, second.module);
  rapt_module_release(first.module);
  first.module = nullptr; // contexts keep theirs
  Text t1, t2, t3;
  EXPECT_TRUE(one.appendAndCheck(one.sequence(), t1, someText(9, 1)));
  EXPECT_TRUE(two.appendAndCheck(two.sequence(), t2, someText(9, 2)));
  EXPECT_TRUE(three.appendAndCheck(three.sequence(), t3, someText(9, 3)));
}

TEST(Module, MessagesAreOneCutLineOfText) {
  Message message;
  rapt_module *module = nullptr;
  rapt_module_open("/tmp/\x1b[31m\n\xc3\xa4\xff", nullptr, &module, message.text, message.size);
  EXPECT_EQ(strncmp(message.text, "/tmp/\\x1B[31m\\x0A\xc3\xa4\\xFF: ", 25), 0) << message.text;
  char small[12];
  rapt_module_open("/tmp/12345\xc3\xa4", nullptr, &module, small, sizeof small);
  EXPECT_STREQ(small, "/tmp/12345"); // not half a character
}

} // namespace
