// Adapters that sequences choose: the order of a step's tokens that compiled code gets, and how a choice lasts.
#include "FakeModel.h"
#include "fake_model.h"
#include <cstring>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace rapt::test;

namespace {

/// The arguments of the entry's last call.
struct Given {
  std::vector<int32_t> rows, groups, order;
};
Given given;
size_t groupCount = 0;

int32_t step(const rapt_env *env, void *const *buffers, const int64_t *dims) {
  auto list = [&](int buffer, int64_t count) {
    const auto *from = static_cast<const int32_t *>(buffers[buffer]);
    return std::vector<int32_t>(from, from + count);
  };
  given = {list(9, dims[5]), list(10, int64_t(2 * groupCount)), list(11, dims[0])};
  return fake_module.entries[0].run(env, buffers, dims);
}

/// The model in C with two more facts: names of adapters, and the arguments of its step for them.
class Adapted {
public:
  /// `changes`: texts of the manifest, and what they become.
  explicit Adapted(const std::string &names = R"("one", "two", "three")", const std::string &groups = "5",
                   const std::vector<std::pair<std::string, std::string>> &changes = {})
      : manifest(fake_module.manifest) {
    groupCount = size_t(std::stoi(groups));
    insert(R"("eos": [256])", R"(, "adapters": [)" + names + "]");
    insert(R"("table", "blocks")", R"(, "adapted")");
    insert("[1, 1048576]", ", [0, 64]");
    insert(R"("shape": ["wanted", 257]})",
           R"(, {"name": "adapter_rows", "kind": "input", "dtype": "i32", "shape": ["adapted"]},)"
           R"( {"name": "adapter_groups", "kind": "input", "dtype": "i32", "shape": [)" +
               groups + R"(, 2]}, {"name": "adapter_of", "kind": "input", "dtype": "i32", "shape": ["tokens"]})");
    for (const auto &[before, after] : changes)
      replace(before, after);
    if (manifest.find(R"("name": "forward")") != manifest.npos)
      entry.name = "forward";
    artifact.manifest = manifest.c_str();
    artifact.manifest_size = manifest.size();
    artifact.entries = &entry;
    rapt_module_options options{};
    options.size = sizeof options;
    const std::string weights = inBuild("/test/fake/fake-0000cafe.weights");
    options.weights_path = weights.c_str();
    status = rapt_module_from_artifact(&artifact, &options, &module, message.text, message.size);
  }
  Adapted(const Adapted &) = delete;
  ~Adapted() { rapt_module_release(module); }

  rapt_module *module = nullptr;
  rapt_status status;
  Message message;

private:
  void insert(const std::string &behind, const std::string &text) { replace(behind, behind + text); }
  void replace(const std::string &before, const std::string &after) {
    const size_t at = manifest.find(before);
    ASSERT_NE(at, manifest.npos) << before;
    manifest.replace(at, before.size(), after);
  }

  std::string manifest;
  rapt_artifact artifact = fake_module;
  rapt_artifact_entry entry = {"step", step, fake_module.entries[0].workspace};
};

rapt_status choose(Context &context, rapt_sequence sequence, const char *name) {
  return rapt_sequence_set_adapter(context, sequence, name, context.message.text, context.message.size);
}

/// A new sequence with the adapter.
rapt_sequence with(Context &context, const char *name) {
  const rapt_sequence made = context.sequence();
  EXPECT_EQ(choose(context, made, name), RAPT_OK) << context.message.text;
  return made;
}

void run(Context &context, const std::vector<std::pair<rapt_sequence, int64_t>> &pieces) {
  std::vector<Text> texts;
  for (const auto &[sequence, count] : pieces)
    texts.push_back(someText(count, 5));
  std::vector<rapt_chunk> chunks;
  for (size_t i = 0; i < pieces.size(); ++i)
    chunks.push_back(makeChunk(pieces[i].first, texts[i]));
  EXPECT_EQ(rapt_step(context, chunks.data(), chunks.size(), context.message.text, context.message.size), RAPT_OK)
      << context.message.text;
}

std::string save(Context &context, rapt_sequence sequence) {
  size_t bytes = 0;
  EXPECT_EQ(rapt_sequence_save(context, sequence, nullptr, 0, &bytes, nullptr, 0), RAPT_OK);
  std::string state(bytes, 0);
  EXPECT_EQ(rapt_sequence_save(context, sequence, state.data(), bytes, &bytes, nullptr, 0), RAPT_OK);
  return state;
}

constexpr size_t headerBytes = 144, checksumOffset = 136; // lib/Runtime/State.cpp

/// Makes the checksum right again.
void sign(std::string &state) {
  memset(state.data() + checksumOffset, 0, 8);
  const XXH64_hash_t sum = XXH3_64bits_withSeed(state.data() + headerBytes, state.size() - headerBytes,
                                                XXH3_64bits(state.data(), headerBytes));
  memcpy(state.data() + checksumOffset, &sum, 8);
}

TEST(Adapter, NamesOfTheModel) {
  Adapted model;
  ASSERT_EQ(model.status, RAPT_OK) << model.message.text;
  rapt_module_info info{};
  info.size = sizeof info;
  ASSERT_EQ(rapt_module_get_info(model.module, &info), RAPT_OK);
  ASSERT_EQ(info.adapter_count, 3u);
  EXPECT_STREQ(info.adapters[0], "one");
  EXPECT_STREQ(info.adapters[2], "three");
  ASSERT_EQ(rapt_module_get_info(fakeModule(), &info), RAPT_OK);
  EXPECT_EQ(info.adapter_count, 0u);
}

TEST(Adapter, BrokenManifests) {
  std::string long64(64, 'a'), many;
  for (int i = 0; i < 65; ++i)
    many += (i ? ", \"a" : "\"a") + std::to_string(i) + "\"";
  for (const std::string &names : {std::string(R"("a", "a")"), std::string(R"("")"), "\"" + long64 + "\"", many}) {
    Adapted model(names);
    EXPECT_FAILS(model.status, RAPT_BAD_FILE, model.message,
                 "\"adapters\" are not at most 64 different names of at most 63 bytes");
  }
  Adapted model(R"("a")", "4");
  ASSERT_EQ(model.status, RAPT_OK) << model.message.text;
  rapt_context *context = nullptr;
  EXPECT_FAILS(rapt_context_new(model.module, nullptr, &context, model.message.text, model.message.size),
               RAPT_UNSUPPORTED, model.message, "entry step of fake has no groups of rows for 1 adapters");
}

/// Lengths of texts are told apart up to a limit that leaves one for short texts and one for all longer ones.
TEST(Adapter, LimitsOfTextLengths) {
  const std::string want = R"({"name": "want", )";
  auto statusOf = [&](const std::string &limit, Message &message) {
    const std::string length =
        R"({"name": "text_length", "kind": "input", "dtype": "i32", "shape": ["rows"], "limit": )" + limit + "}, ";
    Adapted model(R"("a")", "3", {{want, length + want}});
    EXPECT_EQ(model.status, RAPT_OK) << model.message.text;
    rapt_context *context = nullptr;
    rapt_status status = rapt_context_new(model.module, nullptr, &context, message.text, message.size);
    rapt_context_free(context);
    return status;
  };
  Message message;
  EXPECT_FAILS(statusOf("2", message), RAPT_UNSUPPORTED, message, "entry step of fake has lengths of texts below 2");
  EXPECT_EQ(statusOf("3", message), RAPT_OK) << message.text;
}

/// A vector of an image has the columns of a token's embedding, and as many for each of the first layers that read
/// some; a token has positions in three axes.
TEST(Adapter, VectorsOfImages) {
  const std::string want = R"({"name": "want", )", adapted = R"(, "adapted")", limits = ", [0, 64]",
                    end = R"("eos": [256])";
  auto statusOf = [&](const std::string &columns, const std::string &axes, Message &message) {
    const std::string inputs =
        R"({"name": "embeddings", "kind": "input", "dtype": "f32", "shape": ["embeddings", )" + columns +
        R"(]}, {"name": "embedding_tokens", "kind": "input", "dtype": "i32", "shape": ["embeddings"]}, )"
        R"({"name": "rotary_positions", "kind": "input", "dtype": "i32", "shape": ["tokens", )" +
        axes + "]}, ";
    Adapted model(R"("a")", "3",
                  {{adapted, adapted + R"(, "embeddings")"},
                   {limits, limits + limits},
                   {end, R"("image_token": 5, "image_cell": 8, )" + end},
                   {want, inputs + want}});
    EXPECT_EQ(model.status, RAPT_OK) << model.message.text;
    rapt_context *context = nullptr;
    rapt_status status = rapt_context_new(model.module, nullptr, &context, message.text, message.size);
    rapt_context_free(context);
    return status;
  };
  Message message;
  for (const char *columns : {"2", "2, 1", "3, 2"})
    EXPECT_EQ(statusOf(columns, "3", message), RAPT_OK) << message.text;
  for (const char *columns : {"1", "3", "3, 3"})
    EXPECT_FAILS(statusOf(columns, "3", message), RAPT_UNSUPPORTED, message,
                 "entry step of fake takes no vectors of 2 numbers in place of token 5");
  for (const char *axes : {"2", "3, 2"})
    EXPECT_FAILS(statusOf("2", axes, message), RAPT_UNSUPPORTED, message,
                 "entry step of fake takes no 3 positions of a token in texts with images");
}

/// An encoder's forward, whose rows have the context's adapter.
TEST(Adapter, BrokenForward) {
  const std::pair<std::string, std::string> isForward{R"("name": "step", "dims")", R"("name": "forward", "dims")"},
      keepsNothing{R"(, {"name": "cache", "kind": "cache"})", ""};
  auto errorOf = [&](const std::string &before, const std::string &after) {
    Adapted model(R"("one", "two", "three")", "5", {isForward, keepsNothing, {before, after}});
    EXPECT_EQ(model.status, RAPT_OK) << model.message.text;
    Context context({}, model.module);
    EXPECT_EQ(rapt_run(context, "forward", 0, nullptr, nullptr, context.message.text, context.message.size),
              RAPT_UNSUPPORTED);
    return std::string(context.message.text);
  };
  const std::string end = " for the adapters of its module";
  EXPECT_EQ(errorOf(R"("name": "adapter_rows")", R"("name": "other_rows")"), "entry forward has no adapter_rows" + end);
  EXPECT_EQ(errorOf("[5, 2]", "[4, 2]"), "entry forward has no adapter_groups" + end);
  EXPECT_EQ(errorOf("[5, 2]", "[5]"), "entry forward has no adapter_groups" + end);
  EXPECT_EQ(errorOf(R"("adapter_of", "kind": "input", "dtype": "i32", "shape": ["tokens"])",
                    R"("adapter_of", "kind": "input", "dtype": "i32", "shape": ["rows"])"),
            "entry forward has no adapter_of" + end);
  EXPECT_EQ(
      errorOf(R"("adapter_of", "kind": "input", "dtype": "i32")", R"("adapter_of", "kind": "input", "dtype": "f32")"),
      "entry forward has no adapter_of" + end);
}

TEST(Adapter, TokensOfAStepByAdapter) {
  Adapted model;
  Context context({}, model.module);
  const rapt_sequence two = with(context, "two"), none = with(context, nullptr), one = with(context, "one"),
                      again = with(context, "two"), other = context.sequence();
  run(context, {{two, 2}, {none, 2}, {one, 1}, {again, 1}, {other, 2}}); // tokens 0 1, 2 3, 4, 5, 6 7
  EXPECT_EQ(given.rows, (std::vector<int32_t>{2, 4, 0, 1, 5}));
  EXPECT_EQ(given.groups, (std::vector<int32_t>{0, 0, 1, 1, 2, 2, 5, 0, 5, 0}));
  EXPECT_EQ(given.order, (std::vector<int32_t>{2, 3, 0, 0, 1, 4, 0, 0}));
  run(context, {{none, 3}, {other, 1}});
  EXPECT_EQ(given.rows, (std::vector<int32_t>{0}));
  EXPECT_EQ(given.groups, (std::vector<int32_t>{0, 0, 1, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(given.order, (std::vector<int32_t>{0, 0, 0, 0}));
  run(context, {{two, 1}, {one, 1}});
  EXPECT_EQ(given.rows, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(given.groups, (std::vector<int32_t>{0, 1, 1, 2, 2, 0, 2, 0, 2, 0}));
  EXPECT_EQ(given.order, (std::vector<int32_t>{1, 0}));
}

TEST(Adapter, OfRowsOfForward) {
  Adapted model;
  rapt_context_options options{};
  options.cache_tokens = 3 * block;
  Context context(options, model.module);
  int32_t ids[] = {1, 2, 3, 4, 5, 6};
  std::vector<int64_t> adapters{2, 0, 1};
  const int64_t shape[] = {3, 2};
  rapt_tensor tensors[2] = {};
  for (rapt_tensor &tensor : tensors) {
    tensor.size = sizeof tensor;
    tensor.device_type = RAPT_DEVICE_CPU;
    tensor.dtype_code = RAPT_DTYPE_INT;
    tensor.dtype_lanes = 1;
    tensor.shape = shape;
  }
  tensors[0].data = ids, tensors[0].rank = 2, tensors[0].dtype_bits = 32;
  tensors[1].data = adapters.data(), tensors[1].rank = 1, tensors[1].dtype_bits = 64;
  const char *const names[] = {"input_ids", "adapter"};
  auto forward = [&] {
    return rapt_run(context, "forward", 2, names, tensors, context.message.text, context.message.size);
  };
  ASSERT_EQ(forward(), RAPT_OK) << context.message.text;
  EXPECT_EQ(given.rows, (std::vector<int32_t>{2, 4, 5, 0, 1}));
  EXPECT_EQ(given.groups, (std::vector<int32_t>{0, 0, 1, 1, 3, 2, 5, 0, 5, 0}));
  adapters[2] = 4;
  EXPECT_FAILS(forward(), RAPT_INVALID, context.message, "adapter[2] is 4; 0 to 3 is accepted");
  int64_t extents[3] = {};
  int32_t rank = 0;
  EXPECT_EQ(rapt_run_shape(context, "forward", 2, names, tensors, "adapter", extents, &rank, nullptr, 0), RAPT_OK);
  EXPECT_EQ(rank, 1);
  EXPECT_EQ(extents[0], 3);
}

TEST(Adapter, PartsOfAStep) {
  Adapted model;
  rapt_context_options options{};
  options.max_step_tokens = 4;
  Context context(options, model.module);
  run(context, {{with(context, "three"), 6}, {context.sequence(), 1}}); // the last part: two tokens, and the other's
  EXPECT_EQ(given.rows, (std::vector<int32_t>{2, 0, 1}));
  EXPECT_EQ(given.order, (std::vector<int32_t>{1, 2, 0}));
}

TEST(Adapter, OfTheContext) {
  Adapted model;
  rapt_context_options options{};
  options.adapter = "three";
  Context context(options, model.module);
  const rapt_sequence made = context.sequence();
  EXPECT_STREQ(rapt_sequence_adapter(context, made), "three");
  EXPECT_EQ(choose(context, made, nullptr), RAPT_OK);
  EXPECT_EQ(rapt_sequence_adapter(context, made), nullptr);
  EXPECT_EQ(rapt_sequence_adapter(context, made + 1), nullptr);
  Message message;
  rapt_context *refused = nullptr;
  options.size = sizeof options;
  options.adapter = "four";
  EXPECT_FAILS(rapt_context_new(model.module, &options, &refused, message.text, message.size), RAPT_INVALID, message,
               "the model fake has no adapter four; it has one, two, three");
  EXPECT_FAILS(rapt_context_new(fakeModule(), &options, &refused, message.text, message.size), RAPT_INVALID, message,
               "the model fake has no adapter four");
}

TEST(Adapter, AChoiceLasts) {
  Adapted model;
  Context context({}, model.module);
  const rapt_sequence first = with(context, "two");
  run(context, {{first, 9}});
  EXPECT_FAILS(choose(context, first, "one"), RAPT_INVALID, context.message,
               "the sequence has 9 tokens of another adapter; truncate it to 0 first");
  EXPECT_EQ(choose(context, first, "two"), RAPT_OK);
  EXPECT_FAILS(choose(context, first, "no"), RAPT_INVALID, context.message, "has no adapter no; it has one, two");
  EXPECT_FAILS(choose(context, first + 7, "one"), RAPT_INVALID, context.message, "does not exist in this context");
  rapt_sequence fork = 0;
  ASSERT_EQ(rapt_sequence_fork(context, first, &fork, nullptr, 0), RAPT_OK);
  EXPECT_STREQ(rapt_sequence_adapter(context, fork), "two");
  ASSERT_EQ(rapt_sequence_truncate(context, fork, 0, nullptr, 0), RAPT_OK);
  EXPECT_STREQ(rapt_sequence_adapter(context, fork), "two");
  EXPECT_EQ(choose(context, fork, "one"), RAPT_OK);
  ASSERT_EQ(rapt_sequence_free(context, fork, nullptr, 0), RAPT_OK);
  EXPECT_EQ(rapt_sequence_adapter(context, context.sequence()), nullptr); // which has the slot of the other
}

TEST(Adapter, SavedByName) {
  Adapted model, turned(R"("three", "two", "one")"), others(R"("four", "five", "six")");
  Context context({}, model.module), same({}, turned.module), other({}, others.module);
  const rapt_sequence first = with(context, "three");
  run(context, {{first, 9}});
  std::string state = save(context, first);
  rapt_sequence loaded = 0;
  ASSERT_EQ(rapt_sequence_load(same, state.data(), state.size(), &loaded, same.message.text, same.message.size),
            RAPT_OK)
      << same.message.text;
  EXPECT_STREQ(rapt_sequence_adapter(same, loaded), "three");
  EXPECT_EQ(save(same, loaded), state);
  EXPECT_FAILS(rapt_sequence_load(other, state.data(), state.size(), &loaded, other.message.text, other.message.size),
               RAPT_MISMATCH, other.message, "has no adapter three; it has four, five, six");
  // A state without an adapter is as before there were any.
  const rapt_sequence plain = context.sequence();
  run(context, {{plain, 9}});
  EXPECT_EQ(save(context, plain).size() + 64, state.size());
  Context older;
  ASSERT_EQ(rapt_sequence_load(older, save(context, plain).data(), state.size() - 64, &loaded, nullptr, 0), RAPT_OK);
  EXPECT_EQ(rapt_sequence_load(older, state.data(), state.size(), &loaded, nullptr, 0), RAPT_MISMATCH);
  for (const std::string &name : {std::string(64, 'x'), std::string(64, '\0')}) {
    std::string forged = std::string(state).replace(headerBytes, 64, name);
    sign(forged);
    EXPECT_FAILS(rapt_sequence_load(same, forged.data(), forged.size(), &loaded, same.message.text, same.message.size),
                 RAPT_BAD_FILE, same.message, "the saved state has no name of an adapter");
  }
}

} // namespace
