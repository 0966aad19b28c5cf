// Gives the ids of texts by the tokenizers of GGUF files. A line of JSON of standard input for each file: {"file":
// path, "texts": [...], "pairs": [[first, second], ...]}. A line of output for each: {"notes": [...], "ids": lists with
// special tokens, "bare": lists without, "decoded": texts of the latter, "pairs": {"ids", "types"} each}, or
// {"error": ...}.
#include "lib/Formats/GGUF/File.h"
#include "lib/Formats/GGUF/Tokenizer.h"
#include "lib/Tokenizer/Tokenizer.h"
#include <iostream>

using namespace rapt;

static json::Value listOf(const std::vector<int32_t> &ids) {
  json::Array list;
  for (int32_t id : ids)
    list.push_back(json::Value(id));
  return json::Value(std::move(list));
}

static Expected<json::Object> encodeAll(const Tokenizer &tokenizer, const json::Value &request) {
  json::Array all, bare, decoded, pairs;
  const json::Value *texts = request.find("texts"), *wanted = request.find("pairs");
  for (const json::Value &text : texts ? *texts->asArray() : json::Array()) {
    EncodeOptions options;
    RAPT_ASSIGN_OR_RETURN(const std::vector<int32_t> framed, tokenizer.encode(*text.asString(), options));
    options.addSpecialTokens = false;
    RAPT_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, tokenizer.encode(*text.asString(), options));
    RAPT_ASSIGN_OR_RETURN(std::string back, tokenizer.decode(ids, /*skipSpecialTokens=*/false));
    all.push_back(listOf(framed));
    bare.push_back(listOf(ids));
    decoded.push_back(json::Value(std::move(back)));
  }
  for (const json::Value &pair : wanted ? *wanted->asArray() : json::Array()) {
    RAPT_ASSIGN_OR_RETURN(const Encoding encoding,
                          tokenizer.encodePair(*(*pair.asArray())[0].asString(), *(*pair.asArray())[1].asString()));
    pairs.push_back(json::Value(json::Object{{"ids", listOf(encoding.ids)}, {"types", listOf(encoding.types)}}));
  }
  return json::Object{{"ids", json::Value(std::move(all))},
                      {"bare", json::Value(std::move(bare))},
                      {"decoded", json::Value(std::move(decoded))},
                      {"pairs", json::Value(std::move(pairs))}};
}

static Expected<json::Object> answer(const std::string &line) {
  RAPT_ASSIGN_OR_RETURN(const json::Value request, json::parse(line));
  RAPT_ASSIGN_OR_RETURN(const gguf::File file, gguf::File::open(*request.find("file")->asString()));
  std::vector<std::string> notes;
  RAPT_ASSIGN_OR_RETURN(const huggingface::SideFiles files, gguf::tokenizerFiles(file.metadata(), notes));
  if (!files.contains("tokenizer.json"))
    return Error{"the file has no tokenizer"};
  RAPT_ASSIGN_OR_RETURN(const auto tokenizer,
                        Tokenizer::create({.tokenizerJson = files.at("tokenizer.json"),
                                           .tokenizerConfig = files.at("tokenizer_config.json")}));
  RAPT_ASSIGN_OR_RETURN(json::Object result, encodeAll(*tokenizer, request));
  json::Array lines;
  for (std::string &note : notes)
    lines.push_back(json::Value(std::move(note)));
  result.emplace_back("notes", json::Value(std::move(lines)));
  return result;
}

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    Expected<json::Object> result = answer(line);
    json::Object shown = result ? *result : json::Object{{"error", json::Value(result.error().message)}};
    std::cout << json::write(json::Value(std::move(shown))) << std::endl;
  }
  return 0;
}
