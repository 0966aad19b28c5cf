// The table of tasks of rapt-run.
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Support/Words.h"
#include "test/Unit/Runtime/FakeModel.h"
#include <algorithm>

using namespace rapt;

namespace {

TEST(Tasks, RowsListOptionsThatThereAre) {
  const std::vector<OptionName> options = run::namesOfOptions();
  for (const run::Task &task : run::allTasks())
    for (std::string_view list : {task.options, task.ignored, task.needs})
      for (std::string_view name : words(list))
        EXPECT_TRUE(std::ranges::any_of(options, [&](const OptionName &one) { return one.name == name; }))
            << task.label() << ": " << name;
}

TEST(Tasks, RowsHaveNamesOrAreAskedFor) {
  for (const run::Task &task : run::allTasks()) {
    EXPECT_NE(task.name.empty(), task.isAsked == nullptr) << task.label();
    EXPECT_TRUE(task.isAsked || (task.inputs && !task.entries.empty())) << task.label();
    EXPECT_TRUE(task.needs.empty() || task.takes(task.needs)) << task.label();
    if (!task.isAsked)
      EXPECT_EQ(run::findTask(task.name), &task);
  }
}

TEST(Tasks, OwnersAreNamedWhereTheyAreFew) {
  EXPECT_EQ(run::ownersOf("stop"), "models that generate text");
  EXPECT_EQ(run::ownersOf("beams"), "models that generate text and --audio");
  EXPECT_EQ(run::ownersOf("pair"), "text-classification and feature-extraction");
  EXPECT_EQ(run::ownersOf("source-language"), "decoder, text2text-generation and image-text-to-text");
  EXPECT_EQ(run::ownersOf("context"), "models that generate text, --input and --perplexity");
  EXPECT_EQ(run::ownersOf("output"), "");
  EXPECT_EQ(run::ownersOf("threads"), "");
}

TEST(Tasks, LibrariesThatLackAnEntryAreRefused) {
  const test::FakeCopy copy;
  const std::string old = R"("family": "gpt2", "task": "decoder", "layers": 1)";
  std::string other = R"("family":"a", "task":"fill-mask", "layers":1)";
  other.append(old.size() - other.size(), ' ');
  test::patch(copy.library(), old, other);
  run::Options options;
  options.library = copy.library();
  options.tokens = {{1}};
  run::Model model;
  ASSERT_TRUE(run::openModule(options, model));
  testing::internal::CaptureStderr();
  EXPECT_EQ(run::runTask(options, std::move(model)), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "rapt-run: error: fake: fill-mask needs the entry forward, which the library does not have\n");
}

} // namespace
