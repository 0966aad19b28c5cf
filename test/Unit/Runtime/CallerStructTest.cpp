// Structs of callers that were compiled with another version of rapt.h, or that never set a size (fault 60). Each
// struct ends where its page does, so that reading or writing beyond it is a crash.
#include "FakeModel.h"
#include "rapt/rapt_profile.h"
#include "test/Unit/GuardedStruct.h"
#include <cstddef>
#include <functional>

using namespace rapt::test;

extern "C" const char *name_of_number(int number); // status_name.c

namespace {

template <typename T> T sized() {
  T value{};
  value.size = sizeof value;
  return value;
}

TEST(CallerStruct, ModuleOptions) {
  checkStructSizes(
      offsetof(rapt_module_options, variant), sized<rapt_module_options>(), [](const rapt_module_options *options) {
        rapt_module *module = nullptr;
        rapt_status status = rapt_module_open(inBuild("/test/fake/fake.so").c_str(), options, &module, nullptr, 0);
        rapt_module_release(module);
        return status;
      });
}

TEST(CallerStruct, ModuleInfo) {
  for (size_t bytes : {sizeof(size_t), offsetof(rapt_module_info, layers), sizeof(rapt_module_info), size_t(4096)}) {
    GuardedStruct<rapt_module_info> info(bytes);
    EXPECT_EQ(rapt_module_get_info(fakeModule(), info.get()), RAPT_OK);
    EXPECT_EQ(info.get()->size, bytes);
  }
  for (size_t claimed : {size_t(0), size_t(7), size_t(4104), SIZE_MAX}) {
    GuardedStruct<rapt_module_info> info(sizeof(size_t));
    info.claim(claimed);
    EXPECT_EQ(rapt_module_get_info(fakeModule(), info.get()), RAPT_INVALID);
  }
}

rapt_status tryContext(const rapt_context_options *options) {
  rapt_context *context = nullptr;
  rapt_memory memory = sized<rapt_memory>();
  rapt_status told = rapt_context_memory(fakeModule(), options, &memory, nullptr, 0);
  rapt_status status = rapt_context_new(fakeModule(), options, &context, nullptr, 0);
  EXPECT_EQ(told, status);
  rapt_context_free(context);
  return status;
}

TEST(CallerStruct, ContextOptions) {
  checkStructSizes(offsetof(rapt_context_options, window_slack), sized<rapt_context_options>(), tryContext);
}

TEST(CallerStruct, Memory) {
  for (size_t bytes : {offsetof(rapt_memory, most_cache), sizeof(rapt_memory), sizeof(rapt_memory) + 8}) {
    GuardedStruct<rapt_memory> memory(bytes);
    EXPECT_EQ(rapt_context_memory(fakeModule(), nullptr, memory.get(), nullptr, 0), RAPT_OK);
    EXPECT_EQ(memory.get()->size, bytes);
    EXPECT_GT(memory.get()->cache, 0u);
  }
  for (size_t claimed : {size_t(0), size_t(8), size_t(4104), SIZE_MAX}) {
    GuardedStruct<rapt_memory> memory(sizeof(size_t));
    memory.claim(claimed);
    EXPECT_EQ(rapt_context_memory(fakeModule(), nullptr, memory.get(), nullptr, 0), RAPT_INVALID);
  }
}

TEST(CallerStruct, Allocator) {
  auto good = sized<rapt_allocator>();
  good.alloc = [](void *, size_t bytes, size_t alignment, int32_t) {
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  good.free = [](void *, void *memory, size_t, int32_t) { free(memory); };
  checkStructSizes(sizeof good, good, [](const rapt_allocator *allocator) {
    auto options = sized<rapt_context_options>();
    options.allocator = allocator;
    return tryContext(&options);
  });
}

TEST(CallerStruct, Executor) {
  rapt_executor good = rapt_pool_executor(nullptr);
  EXPECT_EQ(good.size, sizeof good);
  checkStructSizes(sizeof good, good, [](const rapt_executor *executor) {
    auto options = sized<rapt_context_options>();
    options.executor = executor;
    return tryContext(&options);
  });
}

TEST(CallerStruct, Chunk) {
  Context context;
  const Text text = {1, 2, 3};
  const rapt_chunk good = makeChunk(context.sequence(), text);
  checkStructSizes(offsetof(rapt_chunk, embeddings), good,
                   [&](rapt_chunk *chunk) { return rapt_step(context, chunk, 1, nullptr, 0); });
}

TEST(CallerStruct, ChunksOfAnOlderVersionAreCloser) {
  constexpr size_t old = offsetof(rapt_chunk, embeddings);
  Context context;
  const Text texts[2] = {{1, 2, 3}, {4, 5}};
  alignas(rapt_chunk) char bytes[2 * old];
  for (size_t i = 0; i < 2; ++i) {
    rapt_chunk chunk = makeChunk(context.sequence(), texts[i]);
    chunk.size = old;
    memcpy(bytes + i * old, &chunk, old);
  }
  ASSERT_EQ(rapt_step(context, reinterpret_cast<rapt_chunk *>(bytes), 2, context.message.text, context.message.size),
            RAPT_OK)
      << context.message.text;
  for (size_t i = 0; i < 2; ++i) {
    const float *logits;
    memcpy(&logits, bytes + i * old + offsetof(rapt_chunk, logits), sizeof logits);
    EXPECT_TRUE(isAnswer(logits, texts[i], int64_t(texts[i].size()) - 1)) << i;
  }
}

TEST(CallerStruct, ChunksOfANewerVersionAreFurtherApart) {
  struct Newer {
    rapt_chunk known;
    int64_t further;
  };
  Context context;
  const Text texts[2] = {{1, 2, 3}, {4, 5}};
  Newer chunks[2]{};
  for (int i = 0; i < 2; ++i) {
    chunks[i].known = makeChunk(context.sequence(), texts[i]);
    chunks[i].known.size = sizeof(Newer);
  }
  ASSERT_EQ(rapt_step(context, &chunks[0].known, 2, context.message.text, context.message.size), RAPT_OK)
      << context.message.text;
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(isAnswer(chunks[i].known.logits, texts[i], int64_t(texts[i].size()) - 1)) << i;
  chunks[1].known.size = sizeof(rapt_chunk);
  const std::string told = "rapt_chunk 1 has size " + std::to_string(sizeof(rapt_chunk)) + ", the first one " +
                           std::to_string(sizeof(Newer));
  EXPECT_FAILS(rapt_step(context, &chunks[0].known, 2, context.message.text, context.message.size), RAPT_INVALID,
               context.message, told);
}

TEST(CallerStruct, Tensor) {
  Context context;
  int64_t ids[4] = {1, 2, 3, 4};
  const int64_t shape[2] = {1, 4};
  auto good = sized<rapt_tensor>();
  good.data = ids;
  good.device_type = RAPT_DEVICE_CPU;
  good.dtype_code = RAPT_DTYPE_INT, good.dtype_bits = 64;
  good.rank = 2;
  good.shape = shape;
  const char *name = "input_ids";
  checkStructSizes(sizeof good, good, [&](const rapt_tensor *tensor) {
    int64_t logits[9];
    int32_t rank = 0;
    return rapt_run_shape(context, "forward", 1, &name, tensor, "logits", logits, &rank, nullptr, 0);
  });
}

TEST(CallerStruct, ProfileRow) {
  Context context;
  ASSERT_EQ(rapt_profile_start(context, nullptr, 0), RAPT_OK);
  ASSERT_EQ(context.append(context.sequence(), {1, 2}), RAPT_OK);
  checkStructSizes(sizeof(rapt_profile_row), sized<rapt_profile_row>(), [&](rapt_profile_row *row) {
    size_t count = 1;
    const size_t size = row->size;
    rapt_status status = rapt_profile_read(context, row, &count, nullptr, 0);
    EXPECT_EQ(row->size, size);
    EXPECT_EQ(count, 5u);
    if (status != RAPT_FULL) // there are more rows
      return status;
    EXPECT_STREQ(row->op, "insert");
    return RAPT_OK;
  });
}

TEST(CallerStruct, ProfileRowsOfASmallStructAreNotOverrun) {
  struct Small {
    size_t size;
    char rest[8];
  } rows[64]{};
  for (Small &row : rows)
    row.size = sizeof row;
  Context context;
  ASSERT_EQ(rapt_profile_start(context, nullptr, 0), RAPT_OK);
  ASSERT_EQ(context.append(context.sequence(), {1}), RAPT_OK);
  size_t count = 64;
  EXPECT_FAILS(rapt_profile_read(context, reinterpret_cast<rapt_profile_row *>(rows), &count, context.message.text,
                                 context.message.size),
               RAPT_INVALID, context.message, "rapt_profile_row has size 16, but", "set it to sizeof");
  for (const Small &row : rows)
    EXPECT_TRUE(row.size == sizeof row && row.rest[0] == 0);
}

TEST(CallerStruct, MisalignedMemoryIsRefused) {
  Context context;
  alignas(8) char memory[4 * sizeof(rapt_chunk)] = "";
  const Text text = {1, 2, 3};
  rapt_sequence s = context.sequence();
  rapt_chunk chunk = makeChunk(s, text);
  memcpy(memory + 4, &chunk, sizeof chunk);
  EXPECT_FAILS(rapt_step(context, reinterpret_cast<rapt_chunk *>(memory + 4), 1, context.message.text, 1024),
               RAPT_INVALID, context.message, "the first rapt_chunk is at", "multiple of 8");
  chunk.tokens = reinterpret_cast<const int32_t *>(memory + 1);
  EXPECT_FAILS(rapt_step(context, &chunk, 1, context.message.text, 1024), RAPT_INVALID, context.message,
               "chunk 0: its tokens are at", "multiple of 4");
  EXPECT_EQ(rapt_sequence_length(context, s), 0);
}

TEST(CallerStruct, ANullPoolIsTheCallersThread) {
  rapt_executor executor = rapt_pool_executor(nullptr);
  EXPECT_EQ(executor.workers(executor.user), 1);
  int64_t seen = 0;
  executor.parallel_for(
      executor.user,
      [](void *closure, int64_t begin, int64_t end, int64_t worker) {
        *static_cast<int64_t *>(closure) += end - begin;
        EXPECT_EQ(worker, 0);
      },
      &seen, 5);
  EXPECT_EQ(seen, 5);
  executor.parallel_for(executor.user, nullptr, nullptr, 0);
}

TEST(CallerStruct, NamesOfNumbersThatAreNoStatus) {
  for (int number : {-1, RAPT_BUG + 1, INT32_MAX, INT32_MIN})
    EXPECT_STREQ(name_of_number(number), "unknown") << number;
  EXPECT_STREQ(rapt_status_name(RAPT_BUG), "BUG");
}

} // namespace
