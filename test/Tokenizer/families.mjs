// The tokenizers of model families, in the form that each family publishes, over models learned by make-vectors.mjs. A
// vector names its families and its kind, from which the tokenizer column of docs/generated/Support.md is made
// (families.py). Stages and flags are those of the published tokenizer.json, or of the converter that transformers has for
// the family's older files; texts and vocabularies are our own.
const LETTERS_OF_DEEPSEEK = "A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\u{10400}-\u{1044f}\u{104b0}-\u{104d3}\u{104d8}-\u{104fb}\u{10c80}-\u{10cb2}\u{10cc0}-\u{10cf2}\u{118a0}-\u{118df}\u{1e900}-\u{1e943}";
const CAPITALS = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]", SMALL = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]", BEFORE = "[^\\r\\n\\p{L}\\p{N}]?";
const SPACES = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", ENDING = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
const O200K = `${BEFORE}${CAPITALS}*${SMALL}+${ENDING}|${BEFORE}${CAPITALS}+${SMALL}*${ENDING}|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${SPACES}`;
const CL100K = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|${BEFORE}\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${SPACES}`;
const TEKKEN = `${BEFORE}${CAPITALS}*${SMALL}+|${BEFORE}${CAPITALS}+${SMALL}*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${SPACES}`;
const DEEPSEEK3 = `[!"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_\`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|${SPACES}`;
// Merges of characters that some families' words hold together and others' do not.
const ACROSS = ["1 2", "12 3", "5 6", "45 6", "4 5", "7 8", "2 2", "c D", "l C", "W O", "' S", "' T", "! ?", ". .", ".. .", "] {", "[ ]", "- -", "( t", "( x", "a 1", "Ċ Ċ", "ĊĊ Ċ", "Ġ Ġ", "ĠĠ ĠĠ", "Ġ Ċ", "č Ċ", "Ġ 8", "x *", "* 2", "\u00c2 \u00bd"]
  .map((pair) => pair.split(" ")).sort((a, b) => a.join("").length - b.join("").length);
const BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+";
const CLIP = "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+";
const PUNCTUATION = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]"; // Python's string.punctuation

export const FAMILY_TEXTS = ["", "  ", "Hello world", " Hello  world ", "The compiler reads   the text.", "It isn't; we've, THEY'LL I'm", "1234567 89 ½ ⅷ ٣", "a1b22c333 McDonald", "naïve Übersetzer Модель",
  "日本語のテキスト。한국어", "🦙👩‍👧", "e\u0301 \ufb01 \u2460", "x\u00a0y\u3000z\u2028w", "def f(x):\n    return x*2  # two\n\n\n\t\tend", "$100 (tag) @me -- ... !?[]{}^~`", "a\r\nb\rc \t ", "▁under ``quoted'' ABC"];

export const EXISTING = { // vectors of make-vectors.mjs that are a family's own form
  "llama-3": ["llama", "smollm3", "glm4"], "qwen-2": ["qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "stablelm"], "sentence-prepend": ["llama", "mistral", "mixtral", "llava"], "metaspace-first": ["mistral"],
  "bert": ["bert", "distilbert", "electra", "nomic_bert"], "roberta": ["roberta", "bart"], "unigram": ["t5", "mt5", "umt5"] };

/** `make` holds the builders of make-vectors.mjs. */
export function familyTokenizers({ file, added, split, template, byteLevel, bytesOnly, metaspace, byteModel, byteMerges, characterModel, characterMerges, characters, unigramModel, wordPieceModel, learn, spell, SPELL, TRAINING, CHARSMAP, sentenceDecoder }) {
  const model = byteModel([...byteMerges.slice(0, 30), ...ACROSS]), first = Object.keys(model.vocab).length;
  const tail = (...tokens) => tokens.map((token, i) => (typeof token === "string" ? added(first + i, token) : added(first + i, token[0], token[1])));
  const plain = { special: false, normalized: true };
  const sequence = (...pretokenizers) => ({ type: "Sequence", pretokenizers });
  const normalizers = (...list) => ({ type: "Sequence", normalizers: list });
  const replace = (pattern, content) => ({ type: "Replace", pattern, content });
  const digits = (individual) => ({ type: "Digits", individual_digits: individual });
  const bytes = (tokens, parts) => file({ added_tokens: tail(...tokens), pre_tokenizer: byteLevel, post_processor: { ...byteLevel, trim_offsets: false }, decoder: byteLevel, model, ...parts });
  const kinds = { bytes: "ByteLevel BPE", sentence: "SentencePiece BPE", unigram: "Unigram", pieces: "WordPiece" };
  const entry = (kind, families, description, more = {}) => ({ kind: kinds[kind], families, description, ...more });

  const small = characterModel(characterMerges.slice(0, 50), characters);
  const sentenceIds = (...tokens) => tokens.map((token, i) => added(i, token));
  const rename = (vocab, names) => Object.fromEntries(Object.entries(vocab).map(([token, id]) => [names[token] ?? token, id]));
  const precompiled = { type: "Precompiled", precompiled_charsmap: CHARSMAP }, mark = metaspace({ prepend_scheme: "always", split: true });
  const oneSpace = replace({ Regex: " {2,}" }, " ");
  // The normalizer that transformers gives a SentencePiece model unless the family has its own.
  const sentencePiece = normalizers(precompiled, { type: "Strip", strip_left: false, strip_right: true }, replace({ Regex: " {2,}" }, "▁"));
  /** A Unigram model of `before`, pieces and `behind`; those of `special` are added tokens. */
  const unigram = (before, behind, unknown, special, parts) => {
    const made = unigramModel(before, 70, false), vocab = [...made.vocab, ...behind.map((token) => [token, 0])];
    const idOf = (token) => vocab.findIndex(([piece]) => piece === token);
    return { idOf, description: file({ added_tokens: special.map(([token, more]) => added(idOf(token), token, more)).sort((a, b) => a.id - b.id), normalizer: sentencePiece, pre_tokenizer: mark, decoder: mark,
      ...parts(idOf), model: { ...made, unk_id: idOf(unknown), vocab } }) };
  };
  const ends = (idOf, ...tokens) => Object.fromEntries(tokens.map((token) => [token, idOf(token)]));
  const roberta = (idOf) => template(["<s>", "A", "</s>"], ends(idOf, "<s>", "</s>"), ["<s>", "A", "</s>", "</s>", "B", "</s>"]);
  const bertLike = (idOf) => template(["[CLS]", "A", "[SEP]"], ends(idOf, "[CLS]", "[SEP]"), ["[CLS]", "A", "[SEP]", "B:1", "[SEP]:1"]);
  const lstrip = { lstrip: true };

  const clipMerges = learn(TRAINING.toLowerCase().match(/[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+/gu).map((word) => spell(word).map((s, i, all) => (i + 1 < all.length ? s : s + "</w>"))), 60);
  const clipVocab = {};
  for (const symbol of [...SPELL, ...SPELL.map((s) => s + "</w>"), ...clipMerges.map((m) => m.join("")), "<|startoftext|>", "<|endoftext|>"]) clipVocab[symbol] ??= Object.keys(clipVocab).length;
  const clipEnds = ["<|startoftext|>", "<|endoftext|>"].map((token) => [token, clipVocab[token]]);

  const nllbVocab = {};
  for (const symbol of ["<s>", "<pad>", "</s>", "<unk>", ...characters, ...characterMerges.slice(0, 50).map((m) => m.join("")), "eng_Latn", "fra_Latn", "<mask>"]) nllbVocab[symbol] ??= Object.keys(nllbVocab).length;
  const idOfNllb = (token) => nllbVocab[token];

  const deepseek = (...stages) => { // the class in tokenizer_config.json puts the begin before a text, whatever the file says
    const begin = "<｜begin▁of▁sentence｜>", description = bytes([begin, "<｜end▁of▁sentence｜>", ["<｜User｜>", { special: false }]], { pre_tokenizer: sequence(...stages, bytesOnly) });
    return [description, { config: { tokenizer_class: "LlamaTokenizerFast", add_bos_token: true, add_eos_token: false, bos_token: { __type: "AddedToken", content: begin, lstrip: false, normalized: true, rstrip: false, single_word: false }, eos_token: "<｜end▁of▁sentence｜>" },
      oracle: { ...description, post_processor: template([begin, "A"], { [begin]: first }) }, texts: [`${begin}Hi<｜User｜> there`] }];
  };
  const mpnet = wordPieceModel(150), mpnetNames = { "[PAD]": "<pad>", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>" };
  const pegasus = unigram(["<pad>", "</s>", "<mask_1>", "<mask_2>", "<unk_2>", "<unk_3>", "<unk>"], [], "<unk>", ["<pad>", "</s>", "<mask_1>", "<mask_2>", "<unk_2>", "<unk_3>", "<unk>"].map((token) => [token]),
    (idOf) => ({ pre_tokenizer: sequence({ type: "WhitespaceSplit" }, mark), post_processor: template(["A", "</s>"], ends(idOf, "</s>"), ["A", "B", "</s>"]) }));
  const mbart = unigram(["<s>", "<pad>", "</s>", "<unk>"], ["de_DE", "en_XX", "<mask>"], "<unk>", [...["<s>", "<pad>", "</s>", "<unk>", "de_DE", "en_XX"].map((token) => [token]), ["<mask>", lstrip]],
    (idOf) => ({ post_processor: template(["A", "</s>", "en_XX"], ends(idOf, "</s>", "en_XX"), ["A", "B", "</s>", "en_XX"]) }));
  const xlm = unigram(["<s>", "<pad>", "</s>", "<unk>"], ["<mask>"], "<unk>", [...["<s>", "<pad>", "</s>", "<unk>"].map((token) => [token]), ["<mask>", lstrip]], (idOf) => ({ post_processor: roberta(idOf) }));
  const words = unigram(["<s>", "<pad>", "</s>", "<unk>"], ["<mask>"], "<unk>", [...["<s>", "<pad>", "</s>", "<unk>"].map((token) => [token]), ["<mask>", lstrip]],
    (idOf) => ({ post_processor: roberta(idOf), normalizer: precompiled, pre_tokenizer: sequence({ type: "WhitespaceSplit" }, mark) }));
  const camembert = unigram(["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>"], ["<mask>"], "<unk>", [...["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<s>", "</s>"].map((token) => [token]), ["<mask>", lstrip]],
    (idOf) => ({ post_processor: roberta(idOf) }));
  const albert = unigram(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], [], "<unk>", [...["<pad>", "<unk>", "[CLS]", "[SEP]"].map((token) => [token]), ["[MASK]", lstrip]], (idOf) => ({ post_processor: bertLike(idOf),
    normalizer: normalizers(replace({ String: "``" }, '"'), replace({ String: "''" }, '"'), { type: "NFKD" }, { type: "StripAccents" }, { type: "Lowercase" }, precompiled, oneSpace) }));
  const deberta = unigram(["[PAD]", "[CLS]", "[SEP]", "[UNK]"], ["[MASK]"], "[UNK]", [...["[PAD]", "[CLS]", "[SEP]"].map((token) => [token]), ["[UNK]", { normalized: true }], ["[MASK]"]], (idOf) => ({ post_processor: bertLike(idOf), pre_tokenizer: sequence(mark),
    normalizer: normalizers({ type: "Strip", strip_left: true, strip_right: true }, precompiled, oneSpace) }));
  const siglip = unigram(["<pad>", "</s>", "<unk>"], [], "<unk>", ["<pad>", "</s>", "<unk>"].map((token) => [token, { lstrip: true, rstrip: true }]), (idOf) => ({ post_processor: template(["A", "</s>"], ends(idOf, "</s>"), ["A", "</s>", "B", "</s>"]),
    normalizer: normalizers({ type: "Lowercase" }, replace({ Regex: PUNCTUATION }, ""), replace({ Regex: "\\s+" }, " "), { type: "Strip", strip_left: true, strip_right: true }) }));
  const maskTexts = ["the <mask> text", "<s>x</s>"];

  const gemmaTokens = ["<unk>", "<bos>", "<eos>"];
  const gemmaVocab = rename(small.vocab, { "<s>": "<bos>", "</s>": "<eos>", "<0x09>": "\t" }); // a tab in place of its byte
  const gemmaEnd = Object.keys(gemmaVocab).length;
  return {
    "gpt-2": entry("bytes", ["gpt2", "gpt_neo", "gptj"], bytes(["<|endoftext|>"], {}), { texts: ["a<|endoftext|> b"] }),
    "phi": entry("bytes", ["phi"], bytes(["<|endoftext|>", ["    ", plain], ["   ", plain], ["  ", plain], ["\t\t", plain]], {}), { texts: ["a    b     c\t\t\td"] }),
    "opt": entry("bytes", ["opt"], bytes(["</s>", "<pad>"], { post_processor: template(["</s>", "A"], { "</s>": first }, ["</s>", "A", "B:1"]) }), { pairs: true, texts: ["a</s>b"] }),
    "gpt-neox": entry("bytes", ["gpt_neox", "mpt", "olmo", "olmoe"], bytes(["<|endoftext|>", "<|padding|>", ["    ", plain], ["   ", plain], ["  ", plain], ["|||IP_ADDRESS|||", plain]], { normalizer: { type: "NFC" }, post_processor: template(["A"], {}, ["A", "B"]) }),
      { pairs: true, texts: ["a    b     c", "|||IP_ADDRESS||| x"] }),
    "modernbert": entry("bytes", ["modernbert"], bytes(["[CLS]", "[SEP]", ["[MASK]", lstrip], ["    ", plain], ["  ", plain]], { normalizer: { type: "NFC" }, post_processor: bertLike((token) => first + (token === "[SEP]")) }), { pairs: true, texts: ["the  [MASK] text"] }),
    "gpt-oss": entry("bytes", ["gpt_oss"], bytes(["<|startoftext|>", "<|start|>", "<|message|>"], { pre_tokenizer: sequence(split(O200K), bytesOnly) }), { texts: ["<|start|>user<|message|>camelCaseWORDS it'S don'T\n/\n"] }),
    "cl100k": entry("bytes", ["olmo2", "olmo3", "phi3"], bytes(["<|endoftext|>", "<|im_start|>", "<|im_end|>"], { pre_tokenizer: sequence({ ...split(CL100K, "Removed"), invert: true }, bytesOnly) }), { texts: ["<|im_start|>user\nI'M 12345<|im_end|>"] }),
    "tiny-aya": entry("bytes", ["cohere2"], bytes(["<BOS_TOKEN>", "<|START_OF_TURN_TOKEN|>"], { pre_tokenizer: sequence(split("\\d{1,3}(?=(?:\\d{3})*\\b)"), split(O200K), bytesOnly), post_processor: template(["<BOS_TOKEN>", "A"], { "<BOS_TOKEN>": first }, ["<BOS_TOKEN>", "A", "<BOS_TOKEN>:1", "B:1"]) }),
      { pairs: true, texts: ["12345 1234567x 12,3456.78"] }),
    "tekken": entry("bytes", ["ministral", "ministral3", "mistral", "mistral3"], bytes([], { added_tokens: ["<s>", "[INST]", "[/INST]"].map((token, i) => added(first + 1 + i, token)), pre_tokenizer: sequence(split(TEKKEN), bytesOnly),
      model: { ...model, ignore_merges: true, vocab: { ...model.vocab, [spell(" wordy").join("")]: first } } }), // no merge makes that token
      { texts: ["[INST]camelCaseWORDS it'S a wordy text[/INST]"] }),
    "deepseek-v2": entry("bytes", ["deepseek_v2"], ...deepseek(split("[\r\n]"), split(`\\s?[${LETTERS_OF_DEEPSEEK}]+`), split("\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"), split("\\s+$"), split("[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"), digits(true))),
    "deepseek-v3": entry("bytes", ["deepseek_v3"], ...deepseek(split("\\p{N}{1,3}"), split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"), split(DEEPSEEK3))),
    "falcon": entry("bytes", ["falcon"], bytes([">>TITLE<<", "<|endoftext|>"], { pre_tokenizer: sequence({ type: "Punctuation", behavior: "Contiguous" }, byteLevel, digits(false), split("[0-9][0-9][0-9]")) }), { texts: [">>TITLE<<über 12345 ¾ x"] }),
    "bloom": entry("bytes", ["bloom"], bytes(["<unk>", "<s>", "</s>", "<pad>"], { pre_tokenizer: sequence(split(BLOOM), bytesOnly), model: { ...model, unk_token: "<unk>", vocab: { ...model.vocab, "<unk>": first } } }), { texts: ["a. b, c! (d|e) [f]。g، h"] }),
    "starcoder": entry("bytes", ["starcoder2", "gpt_bigcode", "granitemoe"], bytes(["<|endoftext|>", "<fim_prefix>"], { pre_tokenizer: sequence(digits(true), byteLevel) }), { texts: ["<fim_prefix>x = 10 20"] }),
    "cohere": entry("bytes", ["cohere", "cohere2"], bytes(["<BOS_TOKEN>", "<|START_OF_TURN_TOKEN|>"], { normalizer: { type: "NFC" }, pre_tokenizer: sequence(digits(true), byteLevel), post_processor: template(["<BOS_TOKEN>", "A"], { "<BOS_TOKEN>": first }, ["<BOS_TOKEN>", "A", "<BOS_TOKEN>:1", "B:1"]) }), { pairs: true }),
    "whisper": entry("bytes", ["whisper"], bytes(["<|endoftext|>", "<|startoftranscript|>", "<|notimestamps|>"], { post_processor: template(["<|startoftranscript|>", "<|notimestamps|>", "A", "<|endoftext|>"], { "<|startoftranscript|>": first + 1, "<|notimestamps|>": first + 2, "<|endoftext|>": first },
      ["<|startoftranscript|>", "<|notimestamps|>", "A", "B:1", "<|endoftext|>:1"]) }), { pairs: true }),
    "clip": entry("bytes", ["clip"], file({ added_tokens: clipEnds.map(([token, id]) => added(id, token)), normalizer: normalizers({ type: "NFC" }, replace({ Regex: "\\s+" }, " "), { type: "Lowercase" }),
      pre_tokenizer: sequence({ type: "Split", pattern: { Regex: CLIP }, behavior: "Removed", invert: true }, byteLevel), decoder: byteLevel,
      post_processor: { type: "RobertaProcessing", cls: clipEnds[0], sep: clipEnds[1], trim_offsets: false, add_prefix_space: false },
      model: { ...model, unk_token: "<|endoftext|>", continuing_subword_prefix: "", end_of_word_suffix: "</w>", vocab: clipVocab, merges: clipMerges.map((m) => m.join(" ")) } }), { texts: ["a photo of THE\tcat's 12"] }),
    "gemma": entry("sentence", ["gemma", "gemma2", "gemma3_text"], file({ added_tokens: [...gemmaTokens.map((token, i) => added(i, token)), ...["\n\n", "\n\n\n", "▁▁", "▁▁▁", "<table>"].map((token, i) => added(gemmaEnd + i, token, { special: false })), added(gemmaEnd + 5, "<start_of_turn>")],
      normalizer: replace({ String: " " }, "▁"), pre_tokenizer: split(" ", "MergedWithPrevious"), decoder: { type: "Sequence", decoders: sentenceDecoder.decoders.slice(0, 3) }, post_processor: template(["<bos>", "A"], { "<bos>": 1 }, ["<bos>", "A", "<bos>:1", "B:1"]),
      model: { ...small, vocab: gemmaVocab } }), { pairs: true, texts: ["<start_of_turn>a▁▁b  c\n\n\n\n<table>\t"] }),
    "phi-3": entry("sentence", ["phi3"], file({ added_tokens: [...sentenceIds("<unk>", "<s>"), added(2, "</s>", { rstrip: true, special: false }), ...["<|endoftext|>", ["<|user|>", { rstrip: true }], ["<|end|>", { rstrip: true }]].map((token, i) => added(Object.keys(small.vocab).length + i, ...[token].flat()))],
      normalizer: normalizers({ type: "Prepend", prepend: "▁" }, replace({ String: " " }, "▁")), decoder: sentenceDecoder, post_processor: template(["A"], {}, ["A", "B:1"]), model: small }), { pairs: true, texts: ["<|user|>\nHello<|end|>\n<|endoftext|> x"] }),
    "nllb": entry("sentence", ["m2m_100"], file({ added_tokens: [...["<s>", "<pad>", "</s>", "<unk>", "eng_Latn", "fra_Latn"].map((token) => added(nllbVocab[token], token)), added(nllbVocab["<mask>"], "<mask>", lstrip)], normalizer: sentencePiece, pre_tokenizer: mark, decoder: mark,
      post_processor: template(["eng_Latn", "A", "</s>"], ends(idOfNllb, "eng_Latn", "</s>"), ["eng_Latn", "A", "B", "</s>"]), model: { ...small, byte_fallback: false, vocab: nllbVocab } }), { pairs: true, texts: maskTexts }),
    "pegasus": entry("unigram", ["pegasus"], pegasus.description, { pairs: true, texts: ["the <mask_2> text <mask_1>"] }),
    "mbart": entry("unigram", ["mbart"], mbart.description, { pairs: true, texts: maskTexts }),
    "xlm-roberta": entry("unigram", ["xlm-roberta"], xlm.description, { pairs: true, texts: maskTexts }),
    "xlm-roberta-words": entry("unigram", ["xlm-roberta"], words.description, { pairs: true, texts: maskTexts }), // as older converters wrote it
    "camembert": entry("unigram", ["camembert"], camembert.description, { pairs: true, texts: maskTexts }),
    "albert": entry("unigram", ["albert"], albert.description, { pairs: true, texts: ["the [MASK] text", "É ``The'' COMPILER"] }),
    "deberta-v2": entry("unigram", ["deberta-v2"], deberta.description, { pairs: true, texts: ["the [MASK] text [UNK]"] }),
    "siglip": entry("unigram", ["siglip"], siglip.description, { texts: ["A photo, of \"the\" CAT's.\n", "text </s> text"] }),
    "mpnet": entry("pieces", ["mpnet"], file({ added_tokens: ["<pad>", "[UNK]", "<s>", "</s>"].map((token, i) => added([0, 1, 2, 3][i], token)).concat(added(4, "<mask>", lstrip)),
      normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true }, pre_tokenizer: { type: "BertPreTokenizer" }, decoder: { type: "WordPiece", prefix: "##", cleanup: true },
      model: { ...mpnet, vocab: rename(mpnet.vocab, mpnetNames) }, post_processor: template(["<s>", "A", "</s>"], { "<s>": 2, "</s>": 3 }, ["<s>", "A", "</s>", "</s>", "B:1", "</s>:1"]) }), { pairs: true, texts: maskTexts }),
  };
}
