//===- ClassRules.cpp -------------------------------------------------------===//
//
// Facts of transformers 5: tokenization_utils_tokenizers.py, and the tokenization
// file of each model; of version 4 the __init__ of the classes named *Fast.
//
//===----------------------------------------------------------------------===//
#include "lib/Tokenizer/ClassRules.h"
#include "lib/Support/Words.h"
#include <algorithm>
#include <functional>

namespace rapt {

static constexpr std::string_view endOfTextRoles = "bos_token=<|endoftext|> eos_token=<|endoftext|> "
                                                   "unk_token=<|endoftext|>";

static constexpr ClassRules rules[] = {
    {.names = "BertTokenizer DistilBertTokenizer ElectraTokenizer MobileBertTokenizer ConvBertTokenizer "
              "SqueezeBertTokenizer LxmertTokenizer LayoutLMTokenizer FunnelTokenizer",
     .roles = "unk_token=[UNK] sep_token=[SEP] pad_token=[PAD] cls_token=[CLS] mask_token=[MASK]",
     .obeysBertFlags = true,
     .framesTexts = true},
    {.names = "MPNetTokenizer",
     .roles = "bos_token=<s> eos_token=</s> unk_token=[UNK] sep_token=</s> pad_token=<pad> cls_token=<s> "
              "mask_token=<mask>",
     .obeysBertFlags = true,
     .framesTexts = true},
    {.names = "GPT2Tokenizer CodeGenTokenizer", .roles = endOfTextRoles, .obeysPrefixSpace = true},
    {.names = "GPTNeoXTokenizer", .roles = endOfTextRoles, .obeysPrefixSpace = true, .ignoresPostProcessor = true},
    {.names = "Qwen2Tokenizer",
     .roles = "eos_token=<|endoftext|> unk_token=<|endoftext|> pad_token=<|endoftext|>",
     .obeysPrefixSpace = true},
    {.names = "RobertaTokenizer BartTokenizer LongformerTokenizer LEDTokenizer MvpTokenizer BlenderbotTokenizer",
     .roles = "bos_token=<s> eos_token=</s> unk_token=<unk> sep_token=</s> pad_token=<pad> cls_token=<s> "
              "mask_token=<mask>",
     .obeysPrefixSpace = true,
     .framesTexts = true},
    {.names = "WhisperTokenizer", .roles = endOfTextRoles, .obeysPrefixSpace = true, .framesTexts = true},
    {.names = "DebertaTokenizer", .obeysPrefixSpace = true, .framesTexts = true},
    {.names = "CLIPTokenizer AlbertTokenizer CamembertTokenizer DebertaV2Tokenizer "
              "MBartTokenizer MBart50Tokenizer NllbTokenizer PegasusTokenizer T5Tokenizer "
              "XLMRobertaTokenizer XLNetTokenizer BigBirdTokenizer RemBertTokenizer BarthezTokenizer",
     .framesTexts = true},
    // In Python, not on top of the tokenizers library.
    {.names = "M2M100Tokenizer MarianTokenizer ByT5Tokenizer", .framesTexts = true, .cleansBytePairs = true},
    {.names = "LlamaTokenizer CodeLlamaTokenizer", .ignoresPostProcessor = true, .beginsTexts = true},
    {.names = "GemmaTokenizer", .roles = "pad_token=<pad>", .ignoresPostProcessor = true, .beginsTexts = true},
    {.names = "SiglipTokenizer", .roles = "eos_token=</s> unk_token=<unk> pad_token=</s>", .framesTexts = true},
    {.names = ""}, // every other class
};

const ClassRules &rulesOfClass(std::string_view name) {
  if (name.ends_with("Fast"))
    name.remove_suffix(4);
  for (const ClassRules &entry : rules)
    for (std::string_view known : words(entry.names))
      if (known == name)
        return entry;
  return *std::rbegin(rules);
}

/// `value`, which is one stage of a tokenizer.json or a Sequence with the list `key`, with `change` made to the members
/// of each stage of a type.
static json::Value withChanges(const json::Value &value, std::string_view key, std::string_view type,
                               const std::function<void(json::Object &)> &change) {
  const json::Object *members = value.asObject();
  if (!members)
    return value;
  json::Object changed = *members;
  const json::Value *given = value.find("type");
  if (given && given->isString() && *given->asString() == type)
    change(changed);
  for (auto &[name, member] : changed)
    if (name == key && member.isArray()) {
      json::Array stages;
      for (const json::Value &stage : *member.asArray())
        stages.push_back(withChanges(stage, key, type, change));
      member = json::Value(std::move(stages));
    }
  return json::Value(std::move(changed));
}

json::Value withBertFlags(const json::Value &normalizer, const json::Value &configuration) {
  return withChanges(normalizer, "normalizers", "BertNormalizer", [&](json::Object &members) {
    static constexpr const char *keys[][2] = {{"do_lower_case", "lowercase"},
                                              {"tokenize_chinese_chars", "handle_chinese_chars"},
                                              {"strip_accents", "strip_accents"}};
    for (const auto &[key, member] : keys) {
      const json::Value *value = configuration.find(key);
      // Whether accents go may be null, which leaves it to the case.
      if (value && (value->asBool() || (value->isNull() && std::string_view(key) == "strip_accents")))
        json::setMember(members, member, *value);
    }
  });
}

json::Value withPrefixSpace(const json::Value &preTokenizer, const json::Value &configuration) {
  const json::Value *value = configuration.find("add_prefix_space");
  const json::Value given(value ? value->asBool().value_or(false) : false);
  return withChanges(preTokenizer, "pretokenizers", "ByteLevel",
                     [&](json::Object &members) { json::setMember(members, "add_prefix_space", given); });
}

} // namespace rapt
