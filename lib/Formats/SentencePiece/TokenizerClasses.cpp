//===- TokenizerClasses.cpp -----------------------------------------------------===//
//
// Facts of transformers: convert_slow_tokenizer.py, and the tokenization file of
// each model.
//
//===----------------------------------------------------------------------===//
#include "lib/Formats/SentencePiece/TokenizerClasses.h"
#include "lib/Support/Words.h"
#include <algorithm>
#include <string>

namespace rapt::sentencepiece {

static constexpr std::string_view robertaRoles = "bos=<s> eos=</s> unk=<unk> sep=</s> pad=<pad> cls=<s> mask=<mask>";
static constexpr std::string_view robertaSingle = "<s> A </s>", robertaPair = "<s> A </s> </s> B </s>";
static constexpr std::string_view bertSingle = "[CLS] A [SEP]", bertPair = "[CLS] A [SEP] 1:B 1:[SEP]";
static constexpr std::string_view endSingle = "A </s>", endPair = "A B </s>";
static constexpr std::string_view fairseqTokens = "<s> <pad> </s> <unk>";

// The order of the languages is that of their ids.
static constexpr std::string_view languagesOfMBart =
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX "
    "ro_RO ru_RU si_LK tr_TR vi_VN zh_CN";
static constexpr std::string_view languagesOfMBart50 =
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX "
    "ro_RO ru_RU si_LK tr_TR vi_VN zh_CN af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN "
    "pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI";
static constexpr std::string_view languagesOfM2M =
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy "
    "id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru "
    "sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu";
static constexpr std::string_view languagesOfWmt21 = "en ha is ja cs ru zh de";

static constexpr TokenizerClass ofM2M(std::string_view languages) {
  return {.name = "M2M100Tokenizer",
          .roles = "bos=<s> eos=</s> unk=<unk> sep=</s> pad=<pad>",
          .single = "$language A </s>",
          .pair = "$language A B </s>",
          .languages = languages,
          .languageMark = "__",
          .language = "en",
          .hasVocabulary = true};
}

static constexpr TokenizerClass wmt21 = ofM2M(languagesOfWmt21);

static constexpr TokenizerClass classes[] = {
    {.name = "T5Tokenizer",
     .otherTypes = "mt5 umt5",
     .roles = "eos=</s> unk=<unk> pad=<pad>",
     .single = endSingle,
     .pair = "A </s> B </s>",
     .hasExtraIds = true,
     .hasLegacyFlag = true},
    {.name = "PegasusTokenizer",
     .roles = "eos=</s> unk=<unk> pad=<pad> mask=<mask_2>",
     .single = endSingle,
     .pair = endPair,
     .before = "<pad> </s> <mask_1> <mask_2>",
     .lastUnknown = 102,
     .replaced = 2},
    {.name = "MBartTokenizer",
     .roles = robertaRoles,
     .single = "A </s> $language",
     .pair = "A B </s> $language",
     .before = fairseqTokens,
     .replaced = 3,
     .languages = languagesOfMBart,
     .language = "en_XX",
     .behind = "<mask>",
     .maskTakesSpace = true},
    {.name = "MBart50Tokenizer",
     .roles = robertaRoles,
     .single = "$language A </s>",
     .pair = "$language A B </s>",
     .before = fairseqTokens,
     .replaced = 3,
     .languages = languagesOfMBart50,
     .language = "en_XX",
     .behind = "<mask>",
     .maskTakesSpace = true},
    ofM2M(languagesOfM2M),
    {.name = "MarianTokenizer",
     .roles = "eos=</s> unk=<unk> pad=<pad>",
     .single = endSingle,
     .pair = endPair,
     .hasVocabulary = true},
    {.name = "XLMRobertaTokenizer",
     .roles = robertaRoles,
     .single = robertaSingle,
     .pair = robertaPair,
     .before = fairseqTokens,
     .replaced = 3,
     .behind = "<mask>",
     .maskTakesSpace = true},
    {.name = "CamembertTokenizer",
     .roles = robertaRoles,
     .single = robertaSingle,
     .pair = robertaPair,
     .before = "<s>NOTUSED <pad> </s>NOTUSED <unk> <unk>NOTUSED",
     .replaced = 1,
     .behind = "<mask>",
     .maskTakesSpace = true},
    {.name = "AlbertTokenizer",
     .roles = "bos=[CLS] eos=[SEP] unk=<unk> sep=[SEP] pad=<pad> cls=[CLS] mask=[MASK]",
     .single = bertSingle,
     .pair = bertPair,
     .rewriting = Rewriting::Albert,
     .maskTakesSpace = true},
    {.name = "DebertaV2Tokenizer",
     .roles = "bos=[CLS] eos=[SEP] unk=[UNK] sep=[SEP] pad=[PAD] cls=[CLS] mask=[MASK]",
     .single = bertSingle,
     .pair = bertPair,
     .rewriting = Rewriting::DebertaV2},
    {.name = "SiglipTokenizer",
     .roles = "eos=</s> unk=<unk> pad=</s>",
     .single = endSingle,
     .pair = "A </s> B </s>",
     .rewriting = Rewriting::Siglip},
    {.name = "LlamaTokenizer",
     .otherTypes = "mistral mixtral",
     .roles = "bos=<s> eos=</s> unk=<unk>",
     .single = "<s> A",
     .pair = "<s> A 1:<s> 1:B",
     .hasLegacyFlag = true},
    {.name = "GemmaTokenizer",
     .otherTypes = "gemma2 gemma3_text",
     .roles = "bos=<bos> eos=<eos> unk=<unk> pad=<pad>",
     .single = "<bos> A",
     .pair = "<bos> A 1:<bos> 1:B"},
};

/// The letters and digits of a name, in lower case: M2M100Tokenizer and m2m_100 differ in the rest.
static std::string lettersOf(std::string_view name) {
  std::string letters;
  for (char c : name)
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      letters += c;
    else if (c >= 'A' && c <= 'Z')
      letters += char(c - 'A' + 'a');
  return letters;
}

static bool isOfType(const TokenizerClass &form, std::string_view modelType) {
  const std::vector<std::string_view> others = words(form.otherTypes);
  return lettersOf(form.name) == lettersOf(modelType) + "tokenizer" ||
         std::find(others.begin(), others.end(), modelType) != others.end();
}

const TokenizerClass *findTokenizerClass(std::string_view name, std::string_view modelType) {
  if (name.ends_with("Fast"))
    name.remove_suffix(4);
  if (name == "MT5Tokenizer")
    name = "T5Tokenizer";
  auto found = std::find_if(std::begin(classes), std::end(classes), [&](const TokenizerClass &form) {
    return name.empty() ? isOfType(form, modelType) : form.name == name;
  });
  return found == std::end(classes) ? nullptr : found;
}

const TokenizerClass *withLanguages(const TokenizerClass &form, std::string_view codes) {
  if (form.name != wmt21.name || codes.empty() || codes == "m2m100")
    return &form;
  return codes == "wmt21" ? &wmt21 : nullptr;
}

} // namespace rapt::sentencepiece
