// Vectors that stand for tokens: what compiled code gets, by today's input and by that of libraries for an ABI of 1.10
// or older.
#include "FakeModel.h"
#include "fake_model.h"
#include <algorithm>
#include <numeric>

using namespace rapt::test;

namespace {

constexpr int32_t image = 5;

/// The inputs of the entry's last call.
struct Given {
  std::vector<float> vectors;
  std::vector<int32_t> names;
};
Given given;
int namesByDim = 0; ///< the dim that counts `names`: tokens or embeddings

constexpr int tokensDim = 0, embeddingsDim = 5;

int32_t step(const rapt_env *env, void *const *buffers, const int64_t *dims) {
  const auto *vectors = static_cast<const float *>(buffers[9]);
  const auto *names = static_cast<const int32_t *>(buffers[10]);
  given = {{vectors, vectors + 2 * dims[embeddingsDim]}, {names, names + dims[namesByDim]}};
  return fake_module.entries[0].run(env, buffers, dims);
}

/// The model in C, whose token 5 stands for vectors of two numbers. `names`: the input that says of which.
class Reader {
public:
  Reader(const std::string &names, const std::string &dim, const std::string &fewest) : manifest(fake_module.manifest) {
    namesByDim = dim == "tokens" ? tokensDim : embeddingsDim;
    insert(R"("eos": [256])", R"(, "image_token": 5)");
    insert(R"("table", "blocks")", R"(, "embeddings")");
    insert("[1, 1048576]", ", [" + fewest + ", 64]");
    insert(R"("shape": ["wanted", 257]})",
           R"(, {"name": "embeddings", "kind": "input", "dtype": "f32", "shape": ["embeddings", 2]}, {"name": ")" +
               names + R"(", "kind": "input", "dtype": "i32", "shape": [")" + dim + R"("]})");
    artifact.manifest = manifest.c_str();
    artifact.manifest_size = manifest.size();
    artifact.entries = &entry;
    rapt_module_options options{};
    options.size = sizeof options;
    const std::string weights = inBuild("/test/fake/fake-0000cafe.weights");
    options.weights_path = weights.c_str();
    EXPECT_EQ(rapt_module_from_artifact(&artifact, &options, &module, message.text, message.size), RAPT_OK)
        << message.text;
  }
  Reader(const Reader &) = delete;
  ~Reader() { rapt_module_release(module); }

  rapt_module *module = nullptr;

private:
  void insert(const std::string &behind, const std::string &text) {
    const size_t at = manifest.find(behind);
    ASSERT_NE(at, manifest.npos) << behind;
    manifest.insert(at + behind.size(), text);
  }

  Message message;
  std::string manifest;
  rapt_artifact artifact = fake_module;
  rapt_artifact_entry entry = {"step", step, fake_module.entries[0].workspace};
};

/// One step of new sequences; vectors of the image tokens are 1 2, 3 4 and so on.
void run(const Reader &reader, const std::vector<Text> &texts) {
  Context context({}, reader.module);
  std::vector<float> vectors(32);
  std::iota(vectors.begin(), vectors.end(), 1.0f);
  std::vector<rapt_chunk> chunks;
  size_t next = 0;
  for (const Text &text : texts) {
    const auto count = size_t(std::count(text.begin(), text.end(), image));
    chunks.push_back(makeChunk(context.sequence(), text));
    if (count)
      chunks.back().embeddings = vectors.data() + 2 * next, chunks.back().embedding_bytes = 2 * count * sizeof(float);
    next += count;
  }
  given = {};
  EXPECT_EQ(rapt_step(context, chunks.data(), chunks.size(), context.message.text, context.message.size), RAPT_OK)
      << context.message.text;
}

const std::vector<Text> withImages = {{image, 1, image}, {7, 8}, {2, image}}, withoutImages = {{1, 2}, {3}};

TEST(Vector, NamesItsToken) {
  const Reader reader("embedding_tokens", "embeddings", "0");
  run(reader, withImages);
  EXPECT_EQ(given.vectors, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(given.names, (std::vector<int32_t>{0, 2, 6}));
  run(reader, withoutImages);
  EXPECT_EQ(given.vectors, std::vector<float>());
  EXPECT_EQ(given.names, std::vector<int32_t>());
}

TEST(Vector, IsNamedByItsTokenInOlderLibraries) {
  const Reader reader("embedding_of", "tokens", "1");
  run(reader, withImages);
  EXPECT_EQ(given.vectors, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(given.names, (std::vector<int32_t>{0, -1, 1, -1, -1, -1, 2}));
  run(reader, withoutImages);
  EXPECT_EQ(given.vectors, (std::vector<float>{0, 0}));
  EXPECT_EQ(given.names, (std::vector<int32_t>{-1, -1, -1}));
}

TEST(Vector, NeedsOneOfBothInputs) {
  Message message;
  auto statusOf = [&](const char *names, const char *dim) {
    const Reader reader(names, dim, "1");
    rapt_context *context = nullptr;
    rapt_status status = rapt_context_new(reader.module, nullptr, &context, message.text, message.size);
    rapt_context_free(context);
    return status;
  };
  EXPECT_FAILS(statusOf("embedding_place", "tokens"), RAPT_UNSUPPORTED, message, "embedding_place");
  EXPECT_FAILS(statusOf("embedding_of", "embeddings"), RAPT_UNSUPPORTED, message, "embedding_of");
}

} // namespace
