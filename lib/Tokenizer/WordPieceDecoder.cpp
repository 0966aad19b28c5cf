//===- WordPieceDecoder.cpp ------------------------------------------------===//
#include "lib/Tokenizer/WordPieceDecoder.h"
#include "lib/Tokenizer/CleanUp.h"

namespace rapt {

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
