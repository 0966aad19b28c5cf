//===- CleanUp.cpp -----------------------------------------------------------===//
//
// Facts of tokenizers 0.23 (decoders/wordpiece.rs) and transformers 5
// (PreTrainedTokenizerBase.clean_up_tokenization).
//
//===----------------------------------------------------------------------===//
#include "lib/Tokenizer/CleanUp.h"
#include "lib/Support/Words.h"

namespace rapt {

namespace {
struct CleanUpRule {
  std::string_view from, to;
  bool isOfTexts = true;
};
} // namespace

// One after the other, each over all of the text.
static constexpr CleanUpRule rules[] = {
    {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
    {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {.from = " do not", .to = " don't", .isOfTexts = false},
    {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};

static void replaceAll(std::string &text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

void cleanUp(std::string &token) {
  for (const CleanUpRule &rule : rules)
    replaceAll(token, rule.from, rule.to);
}

namespace {
/// One rule over a text that arrives in parts: what may be the beginning of its words is held back.
class CleanUpStage final : public DecodeStage {
public:
  explicit CleanUpStage(const CleanUpRule &rule) : rule(rule) {}
  void push(std::string_view part, DecodeMemory &memory, TextSink sink) const override {
    memory.held.append(part);
    std::string_view rest = memory.held;
    std::string text;
    for (size_t at = rest.find(rule.from); at != rest.npos; at = rest.find(rule.from)) {
      text.append(rest.substr(0, at)).append(rule.to);
      rest.remove_prefix(at + rule.from.size());
    }
    const size_t keep = lengthOfBeginning(rule.from, rest);
    text.append(rest.substr(0, rest.size() - keep));
    memory.held = std::string(rest.substr(rest.size() - keep));
    if (!text.empty())
      sink(text);
  }
  void finish(DecodeMemory &memory, TextSink sink) const override {
    if (!memory.held.empty())
      sink(memory.held);
  }

private:
  const CleanUpRule &rule;
};
} // namespace

void addCleanUp(Decoder &decoder) {
  for (const CleanUpRule &rule : rules)
    if (rule.isOfTexts)
      decoder.stages.push_back(std::make_unique<CleanUpStage>(rule));
}

} // namespace rapt
