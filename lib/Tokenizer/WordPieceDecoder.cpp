//===- WordPieceDecoder.cpp ------------------------------------------------===//
#include "lib/Tokenizer/WordPieceDecoder.h"

namespace rapt {

static void replaceAll(std::string &text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// One token at a time, as Hugging Face's tokenizers do: " ' " and " do not" are in no token with its blank unless the
/// vocabulary has them.
static void cleanUp(std::string &token) {
  static constexpr std::string_view rules[][2] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                                  {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                                  {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto &[from, to] : rules)
    replaceAll(token, from, to);
}

namespace {
class WordPieceStage final : public DecodeStage {
public:
  WordPieceStage(std::string prefix, bool cleanup) : prefix(std::move(prefix)), cleanup(cleanup) {}
  void push(std::string_view token, DecodeMemory &memory, TextSink sink) const override {
    std::string text(token);
    if (memory.count++ > 0) {
      if (token.starts_with(prefix))
        text.erase(0, prefix.size());
      else
        text.insert(0, 1, ' ');
    }
    if (cleanup)
      cleanUp(text);
    sink(text);
  }
  void expose(std::string &token) const override {
    if (token.starts_with(prefix))
      token.erase(0, prefix.size());
  }

private:
  std::string prefix;
  bool cleanup;
};
} // namespace

std::unique_ptr<DecodeStage> makeWordPieceStage(std::string prefix, bool cleanup) {
  return std::make_unique<WordPieceStage>(std::move(prefix), cleanup);
}

std::unique_ptr<DecodeStage> readWordPieceStage(JsonFields &fields) {
  std::string prefix = fields.string("prefix", "##");
  return makeWordPieceStage(std::move(prefix), fields.boolean("cleanup", true));
}

} // namespace rapt
