//===- TokenizerReader.h - Putting a tokenizer together from its files -----===//
#pragma once
#include "lib/Tokenizer/ClassRules.h"
#include "lib/Tokenizer/Tokenizer.h"
#include <unordered_map>
#include <unordered_set>

namespace rapt {

struct BytePairClass;

/// Keys of the tokens that have a role.
inline constexpr const char *roles[] = {"bos_token", "eos_token", "unk_token", "pad_token",
                                        "sep_token", "cls_token", "mask_token"};

/// One reading: tokenizer.json or the older pair of files, then the two configuration files on top.
class TokenizerReader {
public:
  explicit TokenizerReader(const TokenizerFiles &files) : files(files), tokenizer(new Tokenizer) {}
  Expected<std::unique_ptr<Tokenizer>> read();

private:
  /// Names the two things that people have in a file's place by accident.
  static Status checkContent(std::string_view content, const std::string &name);
  static Expected<json::Value> parseFile(std::string_view content, const std::string &name);
  Status readConfiguration();
  Status readTokenizerJson();
  Status readAddedTokens(const json::Value &list);
  Status readOlderFiles();
  Status readBytePairs();
  Status addBytePairStages(const BytePairClass &form);
  Status readWordPieces();
  void nameOlderDefaults();
  Expected<std::vector<AddedToken>> listAddedTokensFile() const;
  Status readAddedTokensFile();
  Status readAddedTokensBeside();
  Status readAddedTokensDecoder();
  Status addToken(AddedToken token, const std::string &where);
  int32_t nextId() const;
  bool changeAdded(const AddedToken &token);
  bool makeSpecial(std::string_view content);
  Status addSpecialToken(const json::Value &entry, const char *key);
  Status addMoreSpecialTokens();
  Status nameSpecialTokens();
  Status applyClassRules();
  Status finish();
  const json::Value *specialToken(std::string_view role) const;
  std::optional<std::string> specialTokenText(std::string_view role) const;
  bool cleansUp() const;
  bool flag(std::string_view key, bool otherwise) const;

  const TokenizerFiles &files;
  std::unique_ptr<Tokenizer> tokenizer;
  json::Value configuration, specialTokensMap;
  const ClassRules *rules = &rulesOfClass("");
  std::unordered_map<std::string, int32_t> addedByContent;
  std::unordered_set<int32_t> addedIds;
};

} // namespace rapt
