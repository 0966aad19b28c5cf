#include "lib/Formats/HuggingFace/CheckTensors.h"
#include "lib/Formats/HuggingFace/MatmulTensors.h"
#include "lib/Formats/HuggingFace/ModelDescription.h"
#include "lib/Formats/HuggingFace/RandomTensors.h"
#include "lib/Formats/HuggingFace/SafeTensorsWriter.h"
#include "lib/Support/Float16.h"
#include "test/Unit/TemporaryFolder.h"
#include "test/Unit/VectorWidths.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace rapt;
using namespace rapt::huggingface;
using artifact::DType;

namespace {

/// A directory of its own for each test, with a config.json.
class Tensors : public testing::Test {
protected:
  void SetUp() override { std::ofstream(directory + "/config.json") << R"({"model_type": "gpt2"})"; }
  std::string weights() const { return directory + "/model.safetensors"; }
  void save(DType dtype) {
    auto reader = makeRandomTensors(7, dtype, requests);
    uint64_t told = 0;
    Status status = writeSafeTensors(weights(), *reader, names, [&](uint64_t bytes) { told += bytes; });
    EXPECT_EQ(told, (5 * 300 + 7) * artifact::sizeOf(dtype));
    ASSERT_TRUE(bool(status)) << status.error().message;
  }

  const test::TemporaryFolder own;
  const std::string directory = own.path;
  std::vector<TensorRequest> requests = {{"a.weight", {5, 300}, Init::weight(5)}, {"b.bias", {7}, Init::bias()}};
  std::vector<std::string> names = {"a.weight", "b.bias"};
};

std::vector<float> readFloats(const artifact::TensorReader &reader, const std::string &name, size_t count) {
  std::vector<float> values(count);
  Status status = reader.read(name, 0, std::as_writable_bytes(std::span(values)));
  EXPECT_TRUE(bool(status)) << (status ? "" : status.error().message);
  return values;
}

} // namespace

// The examples of docs/RandomWeights.md.
TEST_F(Tensors, RandomValuesFollowTheSpecification) {
  std::vector<TensorRequest> all = {
      {"wte.weight", {2, 3}, Init::embedding()},
      {"h.0.attn.c_attn.weight", {768, 2304}, Init::weight(768)},
      {"encoder.block.0.layer.0.SelfAttention.q.weight", {512, 512}, Init::unscaledQuery(512, 64)},
      {"ln_f.weight", {4}, Init::normWeight()},
      {"ln_f.bias", {4}, Init::bias()}};
  auto reader = makeRandomTensors(1, DType::F32, all);
  EXPECT_EQ(readFloats(*reader, "wte.weight", 4),
            (std::vector<float>{0x1.4fabbep-5f, -0x1.fa5f8ap-5f, 0x1.4eefe2p-5f, -0x1.001c8p-11f}));
  EXPECT_EQ(readFloats(*reader, "h.0.attn.c_attn.weight", 4),
            (std::vector<float>{-0x1.74f004p-6f, -0x1.e23158p-7f, 0x1.00595cp-6f, 0x1.79d558p-7f}));
  EXPECT_EQ(readFloats(*reader, "encoder.block.0.layer.0.SelfAttention.q.weight", 4),
            (std::vector<float>{-0x1.25d722p-8f, -0x1.28036ap-8f, 0x1.15b8b4p-8f, -0x1.023e8ap-7f}));
  EXPECT_EQ(readFloats(*reader, "ln_f.weight", 4),
            (std::vector<float>{0x1.efec2ep-1f, 0x1.fbc154p-1f, 0x1.046536p+0f, 0x1.1610c6p+0f}));
  EXPECT_EQ(readFloats(*reader, "ln_f.bias", 4),
            (std::vector<float>{0x1.bbe196p-5f, 0x1.98fbcp-10f, -0x1.e94aa4p-6f, 0x1.5124eep-5f}));
}

TEST_F(Tensors, RandomValuesDoNotDependOnVectors) {
  std::vector<std::vector<std::byte>> all;
  test::forEachVectorWidth([&] {
    std::vector<std::byte> bytes;
    for (DType dtype : {DType::F32, DType::BF16, DType::F16}) {
      const size_t before = bytes.size();
      bytes.resize(before + 1500 * artifact::sizeOf(dtype));
      ASSERT_TRUE(makeRandomTensors(1, dtype, requests)->read("a.weight", 0, std::span(bytes).subspan(before)));
    }
    all.push_back(std::move(bytes));
  });
  for (const std::vector<std::byte> &bytes : all)
    EXPECT_TRUE(bytes == all[0]);
}

TEST_F(Tensors, RandomValuesDoNotDependOnWindows) {
  auto whole = makeRandomTensors(1, DType::F32, requests), half = makeRandomTensors(1, DType::BF16, requests);
  std::vector<float> values = readFloats(*whole, "a.weight", 1500);
  std::vector<float> part(700);
  ASSERT_TRUE(bool(whole->read("a.weight", 4 * 613, std::as_writable_bytes(std::span(part)))));
  EXPECT_EQ(std::memcmp(part.data(), values.data() + 613, 4 * part.size()), 0);
  std::vector<uint16_t> rounded(1500);
  ASSERT_TRUE(bool(half->read("a.weight", 0, std::as_writable_bytes(std::span(rounded)))));
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(rounded[i], f32ToBf16(values[i]));
  EXPECT_FALSE(bool(whole->read("a.weight", 4 * 1499, std::as_writable_bytes(std::span(part).first(2)))));
}

TEST_F(Tensors, WrittenTensorsReadBackTheSame) {
  for (DType dtype : {DType::F32, DType::BF16, DType::F16}) {
    save(dtype);
    auto model = ModelDescription::load(directory);
    ASSERT_TRUE(bool(model)) << model.error().message;
    EXPECT_EQ(model->dtype(), dtype);
    auto resolved = model->resolve(requests);
    ASSERT_TRUE(bool(resolved)) << resolved.error().message;
    EXPECT_EQ(model->tensorNames(), names);
    auto expected = makeRandomTensors(7, dtype, requests), actual = model->openTensors();
    std::vector<std::byte> a(1500 * artifact::sizeOf(dtype)), b(a.size());
    ASSERT_TRUE(bool(expected->read("a.weight", 0, a)));
    ASSERT_TRUE(bool(actual->read("a.weight", 0, b)));
    EXPECT_EQ(a, b);
    uint64_t told = 0;
    EXPECT_TRUE(bool(checkTensors(*actual, names, [&](uint64_t bytes) { told += bytes; })));
    EXPECT_EQ(told, (5 * 300 + 7) * artifact::sizeOf(dtype));
  }
}

TEST_F(Tensors, WritingFailsWhole) {
  auto reader = makeRandomTensors(7, DType::F32, requests);
  std::vector<std::string> absent = {"a.weight", "c"};
  EXPECT_FALSE(bool(writeSafeTensors(weights(), *reader, absent)));
  EXPECT_FALSE(bool(writeSafeTensors(directory, *reader, names)));
  EXPECT_FALSE(bool(writeSafeTensors(directory + "/none/x", *reader, names)));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory), {}), 1); // config.json alone
}

TEST_F(Tensors, MatmulsOfMatrices) {
  requests = {{"a", {5, 30}, Init::weight(5)}, {"b", {30, 4}, Init::weight(4)}, {"c", {30}, Init::bias()}};
  auto reader = withMatmuls(makeRandomTensors(7, DType::F32, requests));
  const artifact::TensorInfo *info = reader->find("a * b");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->shape, (std::vector<int64_t>{5, 4}));
  std::vector<float> a = readFloats(*reader, "a", 150), b = readFloats(*reader, "b", 120),
                     product = readFloats(*reader, "a * b", 20);
  for (size_t i = 0; i < 20; ++i) {
    double sum = 0;
    for (size_t k = 0; k < 30; ++k)
      sum += double(a[i / 4 * 30 + k]) * b[k * 4 + i % 4];
    EXPECT_EQ(product[i], float(sum));
  }
  float last = 0;
  ASSERT_TRUE(bool(reader->read("a * b", 4 * 19, std::as_writable_bytes(std::span(&last, 1)))));
  EXPECT_EQ(last, product[19]);
  for (const char *name : {"b * a", "a * c", "a * d", " * b", "a * ", " * ", "a * b * b", "a"})
    EXPECT_EQ(reader->find(name) != nullptr, std::string(name) == "a") << name;
  EXPECT_FALSE(bool(reader->read("b * a", 0, std::as_writable_bytes(std::span(&last, 1)))));
  EXPECT_EQ(factorsOf(matmulName("x.y", "z")), std::pair(std::string_view("x.y"), std::string_view("z")));
}

// FAULT 25: the file shrinks after its header was read.
TEST_F(Tensors, ShrinkingFileIsAnErrorWithBothNumbers) {
  save(DType::F32);
  auto model = ModelDescription::load(directory);
  ASSERT_TRUE(bool(model) && bool(model->resolve(requests)));
  auto reader = model->openTensors();
  uint64_t size = std::filesystem::file_size(weights());
  std::filesystem::resize_file(weights(), size - 40);
  std::vector<std::byte> bias(28);
  Status status = reader->read("b.bias", 0, bias);
  ASSERT_FALSE(bool(status));
  for (const std::string &part :
       {weights(), std::string("\"b.bias\""), std::to_string(size - 40), std::to_string(size)})
    EXPECT_NE(status.error().message.find(part), std::string::npos) << part << " in " << status.error().message;
}

TEST_F(Tensors, ExtraTensorsAreOneWarningAndAnErrorWhenStrict) {
  save(DType::F32);
  std::vector<TensorRequest> one = {requests[0]};
  auto model = ModelDescription::load(directory);
  ASSERT_TRUE(bool(model) && bool(model->resolve(one)));
  ASSERT_EQ(model->warnings().size(), 1u);
  EXPECT_NE(model->warnings()[0].find("\"b.bias\""), std::string::npos);
  auto ignoring = ModelDescription::load(directory, {.strict = true});
  ASSERT_TRUE(bool(ignoring) && bool(ignoring->resolve(one, {"x*", "b.*s"})));
  EXPECT_TRUE(ignoring->warnings().empty());
  auto strict = ModelDescription::load(directory, {.strict = true});
  ASSERT_TRUE(bool(strict));
  EXPECT_FALSE(bool(strict->resolve(one)));
}

TEST_F(Tensors, NonFiniteValuesAreCountedAndPlaced) {
  save(DType::F16);
  std::fstream file(weights(), std::ios::in | std::ios::out | std::ios::binary);
  const char negativeInfinity[] = {0, '\xfc'}, nan[] = {1, '\x7e'};
  file.seekp(-4, std::ios::end).write(negativeInfinity, 2).write(nan, 2);
  file.close();
  auto model = ModelDescription::load(directory);
  ASSERT_TRUE(bool(model) && bool(model->resolve(requests)));
  Status status = checkTensors(*model->openTensors(), names);
  ASSERT_FALSE(bool(status));
  EXPECT_EQ(status.error().message, "tensor \"b.bias\" [7] holds 2 values that are NaN or infinite, the first is "
                                    "-infinity at index 5");
}

TEST_F(Tensors, NameIsTheRepositoryOfAHubSnapshot) {
  std::string snapshot = directory + "/models--org--tiny/snapshots/0123";
  std::filesystem::create_directories(snapshot);
  std::filesystem::create_symlink(directory + "/config.json", snapshot + "/config.json");
  auto model = ModelDescription::load(snapshot, {.noWeights = true});
  ASSERT_TRUE(bool(model)) << model.error().message;
  EXPECT_EQ(model->name(), "tiny");
  EXPECT_EQ(model->modelType(), "gpt2");
}

TEST_F(Tensors, ChatTemplateInJson) {
  auto load = [&](const char *text) {
    std::ofstream(directory + "/chat_template.json") << text;
    return ModelDescription::load(directory, {.noWeights = true});
  };
  auto model = load(R"({"chat_template": "{{ messages }}"})");
  ASSERT_TRUE(bool(model)) << model.error().message;
  EXPECT_EQ(model->files().at("chat_template.jinja"), "{{ messages }}");
  EXPECT_EQ(load(R"({"chat_template": {"default": "a", "rag": "b"}})")->files().at("chat_template.jinja"), "a");
  for (const char *wrong : {R"({"chat_template": 3})", R"({"template": "a"})", R"({"chat_template": {"rag": "b"}})"})
    EXPECT_NE(load(wrong).error().message.find("chat_template is neither a string nor an object with a \"default\""),
              std::string::npos)
        << wrong;
  std::ofstream(directory + "/chat_template.jinja") << "own";
  EXPECT_EQ(load("broken")->files().at("chat_template.jinja"), "own");
}

TEST_F(Tensors, RefusesByName) {
  for (const char *text : {R"({"quantization_config": {"quant_method": "gptq"}})", R"({"pruned_heads": {"0": [1]}})"}) {
    std::ofstream(directory + "/config.json") << text;
    EXPECT_FALSE(bool(ModelDescription::load(directory, {.noWeights = true}))) << text;
  }
  std::ofstream(directory + "/config.json") << R"({"pruned_heads": {}})";
  EXPECT_TRUE(bool(ModelDescription::load(directory, {.noWeights = true})));
  std::ofstream(directory + "/adapter_config.json") << "{}";
  EXPECT_FALSE(bool(ModelDescription::load(directory, {.noWeights = true})));
}

/// Some writers leave null where the metadata of a file would be.
TEST_F(Tensors, HaveNoMetadataWhereItIsNull) {
  auto load = [&](const std::string &metadata) {
    std::string header =
        R"({"__metadata__": )" + metadata + R"(, "b.bias": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const uint64_t size = header.size();
    std::ofstream file(weights(), std::ios::binary);
    file.write(reinterpret_cast<const char *>(&size), 8);
    file << header << std::string(4, '\0');
    file.close();
    auto model = ModelDescription::load(directory);
    return model ? std::string() : model.error().message;
  };
  EXPECT_EQ(load("null"), "");
  EXPECT_NE(load("3").find("__metadata__ is not an object"), std::string::npos);
}
