#include "lib/Generation/BeamSearch.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "test/Unit/Folders.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace rapt;

namespace {

using Ids = std::vector<int32_t>;

/// Logits in f32 behind a sequence, prompt included.
using LogitsOf = std::function<std::vector<float>(const Ids &)>;

/// Runs searches side by side, as a batch of a model would, and returns their results.
std::vector<std::vector<BeamResult>> runTogether(std::vector<BeamSearch> searches, const std::vector<Ids> &prompts,
                                                 const LogitsOf &logitsOf) {
  std::vector<std::vector<Ids>> rows;
  for (const Ids &prompt : prompts)
    rows.push_back({prompt});
  for (bool any = true; any;) {
    any = false;
    for (size_t i = 0; i < searches.size(); ++i) {
      if (searches[i].isDone())
        continue;
      any = true;
      EXPECT_EQ(searches[i].rows(), rows[i].size());
      std::vector<float> logits;
      for (const Ids &row : rows[i]) {
        std::vector<float> some = logitsOf(row);
        logits.insert(logits.end(), some.begin(), some.end());
      }
      Status status = searches[i].advance(logits);
      EXPECT_TRUE(bool(status)) << status.error().message;
      std::vector<Ids> next;
      for (const BeamStep &step : searches[i].steps()) {
        next.push_back(rows[i][size_t(step.parent)]);
        next.back().push_back(step.token);
      }
      rows[i] = std::move(next);
    }
  }
  std::vector<std::vector<BeamResult>> results;
  for (const BeamSearch &search : searches)
    results.push_back(search.results());
  return results;
}

std::vector<BeamResult> run(const BeamOptions &options, const Ids &prompt, const LogitsOf &logitsOf) {
  Expected<BeamSearch> search = BeamSearch::create(options, prompt);
  EXPECT_TRUE(bool(search)) << search.error().message;
  return runTogether({*search}, {prompt}, logitsOf)[0];
}

uint64_t advanced(uint64_t &state) { return state = state * 6364136223846793005 + 1442695040888963407; }

/// Logits that depend on all of the sequence.
LogitsOf hashedLogits(size_t vocabulary, uint64_t seed) {
  return [=](const Ids &sequence) {
    uint64_t state = seed;
    for (int32_t id : sequence)
      state = (state ^ uint64_t(id + 1)) * 0x100000001B3;
    std::vector<float> logits(vocabulary);
    for (float &logit : logits)
      logit = float(advanced(state) >> 40) / (1 << 22);
    return logits;
  };
}

/// All sequences that `most` tokens allow, with their scores, best first.
void enumerate(const BeamOptions &options, const LogitsOf &logitsOf, Ids &sequence, double score,
               std::vector<BeamResult> &all) {
  bool ended = !sequence.empty() && std::count(options.ends.begin(), options.ends.end(), sequence.back());
  if (ended || int64_t(sequence.size()) == options.maxNewTokens) {
    all.push_back({sequence, score / std::pow(double(sequence.size()), options.lengthPenalty), ended});
    return;
  }
  Ids whole = {7};
  whole.insert(whole.end(), sequence.begin(), sequence.end());
  std::vector<float> logits = logitsOf(whole);
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit));
  for (size_t id = 0; id < logits.size(); ++id) {
    sequence.push_back(int32_t(id));
    enumerate(options, logitsOf, sequence, score + logits[id] - std::log(sum), all);
    sequence.pop_back();
  }
}

TEST(BeamSearch, EqualsExhaustiveSearchOfFiveTokensByFiveSteps) {
  for (double penalty : {-1.0, 0.0, 1.0, 2.0})
    for (EarlyStopping early : {EarlyStopping::Estimate, EarlyStopping::Never}) {
      BeamOptions options;
      options.beams = options.returned = 3125;
      options.lengthPenalty = penalty, options.earlyStopping = early;
      options.maxNewTokens = 5, options.ends = {3};
      LogitsOf logitsOf = hashedLogits(5, 11);
      std::vector<BeamResult> found = run(options, {7}, logitsOf), all;
      Ids sequence;
      enumerate(options, logitsOf, sequence, 0, all);
      std::sort(all.begin(), all.end(), [](auto &a, auto &b) { return a.score > b.score; });
      ASSERT_EQ(found.size(), all.size()); // 1 + 4 + ... + 256 that end, 1024 that do not
      for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_NEAR(found[i].score, all[i].score, 1e-12);
        EXPECT_EQ(found[i].tokens, all[i].tokens) << i;
        EXPECT_EQ(found[i].ended, all[i].ended);
      }
    }
}

TEST(BeamSearch, EqualsHuggingFaceOnTables) {
  Expected<std::string> content = readFile(test::inSource("/test/Unit/Generation/beams.json"), 1 << 22);
  ASSERT_TRUE(bool(content)) << content.error().message;
  Expected<json::Value> cases = json::parse(*content);
  ASSERT_TRUE(bool(cases));
  ASSERT_GE(cases->asArray()->size(), 100u);
  for (const json::Value &entry : *cases->asArray()) {
    SCOPED_TRACE(json::write(entry));
    auto integer = [&](const char *key) { return *entry.find(key)->asInteger(); };
    auto ids = [](const json::Value &list) {
      Ids result;
      for (const json::Value &id : *list.asArray())
        result.push_back(int32_t(*id.asInteger()));
      return result;
    };
    size_t vocabulary = size_t(integer("vocabulary"));
    uint64_t state = uint64_t(integer("seed")), levels = uint64_t(integer("levels"));
    std::vector<float> table(vocabulary * vocabulary * 3);
    for (float &number : table)
      number = float(double((advanced(state) >> 40) % levels) * 8 / double(levels));
    BeamOptions options;
    options.beams = integer("beams"), options.returned = integer("returned"), options.maxNewTokens = integer("most");
    options.ends = ids(*entry.find("ends")), options.rules.noRepeatNgram = integer("ngram");
    options.lengthPenalty = *entry.find("length_penalty")->asNumber();
    options.repetitionPenalty = *entry.find("repetition_penalty")->asNumber();
    if (const json::Value *biases = entry.find("sequence_bias"))
      for (const json::Value &pair : *biases->asArray())
        options.rules.sequences.push_back({ids((*pair.asArray())[0]), *(*pair.asArray())[1].asNumber()});
    if (const json::Value *words = entry.find("bad_words"))
      for (const json::Value &word : *words->asArray())
        options.rules.sequences.push_back({ids(word), -INFINITY});
    const json::Value &early = *entry.find("early_stopping");
    options.earlyStopping = early.isString()  ? EarlyStopping::Never
                            : *early.asBool() ? EarlyStopping::Yes
                                              : EarlyStopping::Estimate;
    std::vector<BeamResult> found = run(options, ids(*entry.find("prompt")), [&](const Ids &sequence) {
      auto row = table.begin() + ptrdiff_t((sequence.size() % 3 * vocabulary + size_t(sequence.back())) * vocabulary);
      return std::vector<float>(row, row + ptrdiff_t(vocabulary));
    });
    const json::Array &expected = *entry.find("expected")->asArray();
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].tokens, ids(*expected[i].find("tokens"))) << i;
      EXPECT_NEAR(found[i].score, *expected[i].find("score")->asNumber(), 1e-12);
    }
  }
}

TEST(BeamSearch, OneBeamIsGreedy) {
  LogitsOf logitsOf = hashedLogits(17, 3);
  BeamOptions options;
  options.maxNewTokens = 20;
  Ids sequence = {1}, greedy;
  for (int i = 0; i < 20; ++i) {
    std::vector<float> logits = logitsOf(sequence);
    greedy.push_back(int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    sequence.push_back(greedy.back());
  }
  std::vector<BeamResult> found = run(options, {1}, logitsOf);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].tokens, greedy);
}

TEST(BeamSearch, ABatchChangesNothing) {
  LogitsOf logitsOf = hashedLogits(23, 5);
  BeamOptions options;
  options.beams = 4, options.returned = 3, options.maxNewTokens = 9, options.ends = {2, 9};
  std::vector<Ids> prompts = {{1}, {1, 2, 3}, {8, 8}, {1}};
  std::vector<BeamSearch> searches;
  for (const Ids &prompt : prompts) {
    Expected<BeamSearch> search = BeamSearch::create(options, prompt);
    ASSERT_TRUE(bool(search));
    searches.push_back(*search);
  }
  std::vector<std::vector<BeamResult>> together = runTogether(searches, prompts, logitsOf);
  for (size_t i = 0; i < prompts.size(); ++i) {
    std::vector<BeamResult> alone = run(options, prompts[i], logitsOf);
    ASSERT_EQ(together[i].size(), alone.size());
    for (size_t k = 0; k < alone.size(); ++k) {
      EXPECT_EQ(together[i][k].tokens, alone[k].tokens);
      EXPECT_EQ(together[i][k].score, alone[k].score);
    }
  }
}

TEST(BeamSearch, TiesGoToTheLowestIds) {
  BeamOptions options;
  options.beams = options.returned = 3, options.maxNewTokens = 2;
  std::vector<BeamResult> found = run(options, {0}, [](const Ids &) { return std::vector<float>(8, 1); });
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].tokens, (Ids{0, 0}));
  EXPECT_EQ(found[1].tokens, (Ids{0, 1}));
  EXPECT_EQ(found[2].tokens, (Ids{0, 2}));
}

TEST(BeamSearch, FewerTokensThanBeams) {
  BeamOptions options;
  options.beams = options.returned = 8, options.maxNewTokens = 2, options.ends = {1};
  std::vector<BeamResult> found = run(options, {0}, hashedLogits(2, 9));
  EXPECT_EQ(found.size(), 3u); // 1; 0 0; 0 1
}

TEST(BeamSearch, Faults) {
  auto problem = [](auto change) {
    BeamOptions options;
    options.beams = 2;
    change(options);
    Expected<BeamSearch> search = BeamSearch::create(options, Ids{1});
    return search ? "" : search.error().message;
  };
  EXPECT_EQ(problem([](BeamOptions &o) { o.beams = 0; }), "num_beams is 0, but must be between 1 and 4096");
  EXPECT_NE(problem([](BeamOptions &o) { o.returned = 3; }).find("num_return_sequences"), std::string::npos);
  EXPECT_NE(problem([](BeamOptions &o) { o.lengthPenalty = NAN; }).find("length_penalty"), std::string::npos);
  EXPECT_NE(problem([](BeamOptions &o) { o.maxNewTokens = 0; }).find("max_new_tokens"), std::string::npos);
  EXPECT_NE(problem([](BeamOptions &o) { o.repetitionPenalty = 0; }).find("repetition_penalty"), std::string::npos);
  EXPECT_NE(problem([](BeamOptions &o) { o.rules.noRepeatNgram = -1; }).find("no_repeat_ngram_size"),
            std::string::npos);
  Expected<BeamSearch> search = BeamSearch::create({}, Ids{1});
  ASSERT_TRUE(bool(search));
  auto advance = [&](std::vector<float> logits) {
    Status status = search->advance(logits);
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(advance({}), "there are 0 logits for 1 hypotheses");
  EXPECT_EQ(advance({1, NAN}), "the logit of token 1 is not a number");
  EXPECT_EQ(advance({INFINITY, 1}), "the logit of token 0 is infinite");
  EXPECT_EQ(advance({-INFINITY}), "all 1 logits are -infinity");
  EXPECT_EQ(advance({1, 2}), ""); // nothing above spoiled it
  EXPECT_TRUE(search->isDone());
  EXPECT_EQ(advance({1, 2}), "the beam search is done");
}

} // namespace
