// Makes the files of vectors/: small tokenizers of every kind the reader supports, and the ids, types and texts that Hugging
// Face's own library gives for them (its Rust code, built for Node). Run by hand when a kind is added; the tests read only
// its output.
//
//   npm install tokenizers@0.23.2 && node make-vectors.mjs vectors
//
// The models are learned here from the paragraph below, so that nothing but this file and families.mjs goes in.
import { createRequire } from "node:module";
import { writeFileSync } from "node:fs";
import { EXISTING, FAMILY_TEXTS, familyTokenizers } from "./families.mjs";

const { Tokenizer } = createRequire(`${process.cwd()}/`)("tokenizers");

const TRAINING = `The compiler reads a model and writes a program. The program reads a text and writes the next word, and then the
next one, until the text ends. A word is made of tokens; tokens are made of bytes. It isn't hard: we've merged the pairs that
come most often, and they'll be merged again in the same order when the text is read. Numbers like 1234 and 2026 are split.
Der Übersetzer liest ein Modell und schreibt ein Programm. Le modèle lit un texte et écrit la suite. Модель читает текст.`;

const TEXTS = ["", " ", "  ", "\n", "\t \n\n x", "Hello world", " Hello  world ", "The compiler reads the text.", "It isn't; we've, they'll I'M 'S",
  "1234567 89 ½ ⅷ ٣", "a1b22c333", "naïve café né Übersetzer", "Модель читает", "日本語のテキスト", "한국어", "🦙🇩🇪👩‍👩‍👧",
  "e\u0301 \u00e9 \ufb01 \u2460", "x\u00a0y\u3000z\u2028w\u180e", "<|end|>", "a<|end|>b <|end|> c", "<|end|><|start|>", "foo<mask> bar <mask>", "<mask>",
  "wordy word words sword word", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "the the the", "def f(x):\n    return x*2  # two\n\n\n",
  "$100 #tag @me -- ... !?", "\u0000\u0001\u007f", "▁under▁score", "a\r\nb\rc", "'s't're'", "ABC abc ÀÉ", "tab\tseparated\tvalues", "mixed العربية and עברית text"];

const PAIRS = [["", ""], ["What does it read?", "The compiler reads a model."], ["Hello", ""], ["", "world"], ["naïve 日本", "ÀÉ <|end|>"],
  ["a  b", " c"], ["the next word", "the next word"]];

const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const LLAMA3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const QWEN2 = LLAMA3.replace("\\p{N}{1,3}", "\\p{N}");

function byteAlphabet() {
  const itself = (b) => (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
  const spelling = [];
  for (let b = 0, next = 0x100; b < 256; ++b) spelling[b] = String.fromCodePoint(itself(b) ? b : next++);
  return spelling;
}
const SPELL = byteAlphabet();
const spell = (text) => [...Buffer.from(text, "utf8")].map((b) => SPELL[b]);

/** Learns `count` merges from words given as lists of symbols; the first pair in text order wins among equals. */
function learn(words, count) {
  const merges = [];
  while (merges.length < count) {
    const frequency = new Map();
    for (const word of words)
      for (let i = 0; i + 1 < word.length; ++i) {
        const pair = word[i] + "\n" + word[i + 1];
        frequency.set(pair, (frequency.get(pair) ?? 0) + 1);
      }
    let best = null;
    for (const [pair, times] of frequency) if (!best || times > frequency.get(best)) best = pair;
    if (!best) break;
    const [left, right] = best.split("\n");
    merges.push([left, right]);
    for (const word of words)
      for (let i = 0; i + 1 < word.length; ++i)
        if (word[i] === left && word[i + 1] === right) word.splice(i, 2, left + right);
  }
  return merges;
}

const added = (id, content, more = {}) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more });

/** A byte-level model; `firstAdded` is the id of the first added token. */
function byteModel(merges, { pairs = false, ...more } = {}) {
  const vocab = {};
  for (const symbol of [...SPELL, ...merges.map((m) => m.join(""))]) vocab[symbol] ??= Object.keys(vocab).length;
  return { type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false,
    byte_fallback: false, ignore_merges: false, ...more, vocab, merges: pairs ? merges : merges.map((m) => m.join(" ")) };
}

/** A SentencePiece-like model over characters, with byte fallback. */
function characterModel(merges, characters, more = {}) {
  const vocab = { "<unk>": 0, "<s>": 1, "</s>": 2 };
  for (let b = 0; b < 256; ++b) vocab[`<0x${b.toString(16).toUpperCase().padStart(2, "0")}>`] = 3 + b;
  for (const symbol of [...characters, ...merges.map((m) => m.join(""))]) vocab[symbol] ??= Object.keys(vocab).length;
  return { type: "BPE", dropout: null, unk_token: "<unk>", continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: true,
    byte_fallback: true, ignore_merges: false, ...more, vocab, merges: merges.map((m) => m.join(" ")) };
}

/** BERT's pieces: the characters of the words, with and without the prefix, and what merging them makes. */
function wordPieceModel(count, more = {}) {
  const words = TRAINING.toLowerCase().match(/[\p{L}\p{N}]+/gu).map((w) => [...w].map((c, i) => (i ? "##" + c : c)));
  const pieces = new Set(words.flat());
  while (pieces.size < count) {
    const frequency = new Map();
    for (const word of words) for (let i = 0; i + 1 < word.length; ++i) frequency.set(`${word[i]} ${word[i + 1]}`, (frequency.get(`${word[i]} ${word[i + 1]}`) ?? 0) + 1);
    if (!frequency.size) break;
    const best = [...frequency].reduce((a, b) => (b[1] > a[1] ? b : a))[0].split(" "), joined = best[0] + best[1].slice(2);
    pieces.add(joined);
    for (const word of words)
      for (let i = 0; i + 1 < word.length; ++i)
        if (word[i] === best[0] && word[i + 1] === best[1]) word.splice(i, 2, joined);
  }
  const vocab = {};
  for (const token of ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ...".,;:!?'\"<>|-*()=#$@", ..."日本語", ...[..."0123456789"].flatMap((d) => [d, "##" + d]), "n", "##n", ...pieces]) vocab[token] ??= Object.keys(vocab).length;
  return { type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 100, ...more, vocab };
}

/** Pieces of words with the logarithms of their frequencies, as SentencePiece scores them. */
function unigramModel(specials, count, byteFallback) {
  const frequency = new Map();
  for (const word of marked) for (let i = 0; i < word.length; ++i) for (let n = 1; n <= 6 && i + n <= word.length; ++n) {
    const piece = word.slice(i, i + n).join("");
    frequency.set(piece, (frequency.get(piece) ?? 0) + 1);
  }
  const value = ([piece, times]) => times * ([...piece].length - 0.5);
  const single = [...frequency].filter(([p]) => [...p].length === 1), longer = [...frequency].filter(([p, n]) => [...p].length > 1 && n > 1);
  const chosen = [...single, ...longer.sort((a, b) => value(b) - value(a)).slice(0, count)];
  const total = chosen.reduce((sum, [, n]) => sum + n, 0);
  const bytes = byteFallback ? Array.from({ length: 256 }, (_, b) => [`<0x${b.toString(16).toUpperCase().padStart(2, "0")}>`, 0]) : [];
  return { type: "Unigram", unk_id: 2, vocab: [...specials.map((s) => [s, 0]), ...bytes, ...chosen.map(([p, n]) => [p, Math.round(1e4 * Math.log(n / total)) / 1e4])], byte_fallback: byteFallback };
}

const byteMerges = learn(TRAINING.match(new RegExp(GPT2, "gu")).map(spell), 220);
const marked = ("▁" + TRAINING.replaceAll(/[ \n]/g, "▁")).match(/▁*[^▁]+/g).map((w) => [...w]);
const characterMerges = learn(marked.map((w) => [...w]), 180);
const characters = [...new Set(marked.flat())].sort();

const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true };
const split = (regex, behavior = "Isolated") => ({ type: "Split", pattern: { Regex: regex }, behavior, invert: false });
const bytesOnly = { ...byteLevel, use_regex: false };
const part = (text) => { const [id, type] = text.split(":"), content = { id, type_id: Number(type ?? 0) }; return id === "A" || id === "B" ? { Sequence: content } : { SpecialToken: content }; };
const template = (single, ids, pair = []) => ({ type: "TemplateProcessing", pair: pair.map(part), single: single.map(part),
  special_tokens: Object.fromEntries(Object.entries(ids).map(([s, i]) => [s, { id: s, ids: [i], tokens: [s] }])) });
const file = (parts) => ({ version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, ...parts });

const small = byteModel(byteMerges);
const end = Object.keys(small.vocab).length;
const specials = [added(end, "<|start|>"), added(end + 1, "<|end|>")];
const sentence = characterModel(characterMerges, characters);
const sentenceSpecials = [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")];
const metaspace = (more) => ({ type: "Metaspace", replacement: "▁", ...more });
const sentenceDecoder = { type: "Sequence", decoders: [{ type: "Replace", pattern: { String: "▁" }, content: " " }, { type: "ByteFallback" }, { type: "Fuse" }, { type: "Strip", content: " ", start: 1, stop: 0 }] };

// SentencePiece's table for the rules FB01 -> "fi", U+3000 -> " ", 61 30A -> U+E5, 9 -> nothing.
const CHARSMAP = "AAQAAAAgAAAJDQAAAAAAgMw0AgCKBQAABgAAgIAEAgCAOQAArAwCAAEAAICBBQAAAwAAgA0AAAAMAAAADwAAAA4AAAARAAAAEAAAABMAAAASAAAAFQAAABQAAAAXAAAAFgAAABkAAAAYAAAAGwAAABoAAAAdAAAAHAAAAB8AAAAeAAAAIQAAACAAAAAjAAAAIgAAACUAAAAkAAAAJwAAACYAAAApAAAAKAAAACsAAAAqAAAALQAAACwAAAAvAAAALgAAADEAAAAwAAAAMwAAADIAAAA1AAAANAAAADcAAAA2AAAAOQAAADgAAAA7AAAAOgAAAD0AAAA8AAAAPwAAAD4AAABBAAAAQAAAAEMAAABCAAAARQAAAEQAAABHAAAARgAAAEkAAABIAAAASwAAAEoAAABNAAAATAAAAE8AAABOAAAAUQAAAFAAAABTAAAAUgAAAFUAAABUAAAAVwAAAFYAAABZAAAAWAAAAFsAAABaAAAAXQAAAFwAAABfAAAAXgAAAGEAAABgAAAAYwAAAGIAAABlAAAAZAAAAGcAAABmAAAAaQAAAGGYAgBrAAAAagAAAG0AAABsAAAAbwAAAG4AAABxAAAAcAAAAHMAAAByAAAAdQAAAHQAAAB3AAAAdgAAAHkAAAB4AAAAewAAAHoAAAB9AAAAfAAAAH8AAAB+AAAAgQAAAIAAAACDAAAAggAAAIUAAACEAAAAhwAAAIYAAACJAAAAiAAAAIsAAACKAAAAjQAAAIwAAACPAAAAjgAAAJEAAACQAAAAkwAAAJIAAACVAAAAlAAAAJcAAACWAAAAmQAAAJgAAACbAAAAmgAAAJ0AAACcAAAAnwAAAJ4AAAChAAAAoAAAAKMAAACiAAAApQAAAKQAAACnAAAApgAAAKkAAACoAAAAqwAAAKoAAACtAAAArAAAAK8AAACuAAAAsQAAALAAAACzAAAAsgAAALUAAAC0AAAAtwAAALYAAAC5AAAAuAAAALsAAAC6AAAAvQAAALwAAAC/AAAAvgAAAMEAAADAAAAAwwAAAMIAAADFAAAAxAAAAMcAAADGAAAAyQAAAMgAAADLAAAAygAAAM0AAADMAAAAzwAAAM4AAADRAAAA0AAAANMAAADSAAAA1QAAANQAAADXAAAA1gAAANkAAADYAAAA2wAAANoAAADdAAAA3AAAAN8AAADeAAAA4QAAAOAAAADjAAAA4gAAAOUAAADkAAAA5wAAAO8MAQDpAAAA6AAAAOsAAADjtAEA7QAAAOwAAADvAAAA7gAAAPEAAADwAAAA8wAAAPIAAAD1AAAA9AAAAPcAAAD2AAAA+QAAAPgAAAD7AAAA+gAAAP0AAAD8AAAA/wAAAP4AAAAAIABmaQDDpQA=";
const bertNormalizer = { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true };
const unigramMark = metaspace({ prepend_scheme: "always", split: true });

const TOKENIZERS = {
  // ByteLevel without use_regex splits by GPT-2's pattern; merges as pairs; a template on both sides.
  "byte-level": file({ added_tokens: specials, pre_tokenizer: byteLevel, decoder: byteLevel, post_processor: template(["<|start|>", "A", "<|end|>"], { "<|start|>": end, "<|end|>": end + 1 }), model: byteModel(byteMerges, { pairs: true }) }),
  "byte-level-prefix-space": file({ added_tokens: specials, pre_tokenizer: { ...byteLevel, add_prefix_space: true }, decoder: byteLevel, post_processor: { ...byteLevel }, model: small }),
  "llama-3": file({ added_tokens: [added(end + 1, "<|start|>"), added(end + 2, "<|end|>")], decoder: byteLevel,
    pre_tokenizer: { type: "Sequence", pretokenizers: [split(LLAMA3), bytesOnly] },
    post_processor: { type: "Sequence", processors: [byteLevel, template(["<|start|>", "A"], { "<|start|>": end + 1 }, ["<|start|>", "A", "<|start|>:1", "B:1"])] },
    // A token that no merge makes is found only by ignore_merges.
    model: (() => { const m = byteModel(byteMerges, { ignore_merges: true }); m.vocab[spell(" wordy").join("")] = end; return m; })() }),
  "qwen-2": file({ added_tokens: specials, normalizer: { type: "NFC" }, pre_tokenizer: { type: "Sequence", pretokenizers: [split(QWEN2), bytesOnly] }, decoder: byteLevel, post_processor: byteLevel, model: small }),
  "nfkc-digits": file({ added_tokens: [...specials, added(end + 2, "<mask>", { lstrip: true, rstrip: true })],
    normalizer: { type: "Sequence", normalizers: [{ type: "NFKC" }, { type: "Lowercase" }] },
    pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "Digits", individual_digits: true }, byteLevel] }, decoder: byteLevel, model: small }),
  "added-tokens": file({ added_tokens: [...specials, added(end + 2, "<mask>", { lstrip: true }), added(end + 3, "word", { special: false }), added(end + 4, "words", { special: false }), added(end + 5, "né", { special: false })],
    pre_tokenizer: byteLevel, decoder: byteLevel, model: small }),
  "sentence-prepend": file({ added_tokens: sentenceSpecials, normalizer: { type: "Sequence", normalizers: [{ type: "Prepend", prepend: "▁" }, { type: "Replace", pattern: { String: " " }, content: "▁" }] },
    decoder: sentenceDecoder, post_processor: template(["<s>", "A"], { "<s>": 1 }), model: sentence }),
  "metaspace-always": file({ added_tokens: sentenceSpecials, pre_tokenizer: metaspace({ prepend_scheme: "always", split: true }), decoder: metaspace({ prepend_scheme: "always", split: true }), model: sentence }),
  "metaspace-first": file({ added_tokens: sentenceSpecials, pre_tokenizer: metaspace({ prepend_scheme: "first", split: false }), decoder: sentenceDecoder, model: sentence }),
  "bert": file({ added_tokens: ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map((t, i) => added(i, t)), normalizer: bertNormalizer, pre_tokenizer: { type: "BertPreTokenizer" },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true }, model: wordPieceModel(300),
    post_processor: template(["[CLS]", "A", "[SEP]"], { "[CLS]": 2, "[SEP]": 3 }, ["[CLS]", "A", "[SEP]", "B:1", "[SEP]:1"]) }),
  "roberta": file({ added_tokens: [...specials, added(end + 2, "<mask>", { lstrip: true })], pre_tokenizer: byteLevel, decoder: byteLevel, model: small,
    post_processor: { type: "RobertaProcessing", cls: ["<|start|>", end], sep: ["<|end|>", end + 1], trim_offsets: true, add_prefix_space: false } }),
  "unigram": file({ added_tokens: ["<pad>", "</s>", "<unk>"].map((t, i) => added(i, t)), pre_tokenizer: unigramMark, decoder: unigramMark,
    normalizer: { type: "Sequence", normalizers: [{ type: "Precompiled", precompiled_charsmap: CHARSMAP }, { type: "Strip", strip_left: false, strip_right: true }, { type: "Replace", pattern: { Regex: " {2,}" }, content: "▁" }] },
    model: unigramModel(["<pad>", "</s>", "<unk>"], 180, false), post_processor: template(["A", "</s>"], { "</s>": 1 }, ["A", "</s>", "B", "</s>"]) }),
  "unigram-bytes": file({ added_tokens: ["<pad>", "</s>", "<unk>"].map((t, i) => added(i, t)), normalizer: { type: "Nmt" },
    pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "WhitespaceSplit" }, metaspace({ add_prefix_space: true })] }, decoder: sentenceDecoder, model: unigramModel(["<pad>", "</s>", "<unk>"], 60, true) }),
  "metaspace-never": file({ added_tokens: sentenceSpecials, pre_tokenizer: metaspace({ prepend_scheme: "never", split: true }), decoder: metaspace({ prepend_scheme: "never", split: true }), model: sentence }),
};

// Where a text begins once its front is stripped, or joined with what is behind it; the text of tokens that are sought after normalizing; characters without a token;
// tokens in the spaces that the one before took.
const RARE_TEXTS = [" a", "  Der  Text", "\tder \n", "<mask>der", " <mask> der", "der NEW Der", "newNeW new", "derqqder", "Q", "dqer tqhe q text", "\u0300der", "e\u0301t\u00e9 der", "a<end>  der<end>   <end> <mask>"];
const afterStrip = [{ type: "Strip", strip_left: true, strip_right: true }, { type: "Replace", pattern: { String: "``" }, content: "▁" }];
const lowered = { type: "Sequence", normalizers: [{ type: "Lowercase" }, { type: "Prepend", prepend: "▁" }, { type: "Replace", pattern: { String: " " }, content: "▁" }] };
const affixed = (() => {
  const m = characterModel([["t", "##h"], ["th", "##e</w>"]], [..."thedrx"].flatMap((c) => [c, "##" + c, c + "</w>", "##" + c + "</w>"]), { continuing_subword_prefix: "##", end_of_word_suffix: "</w>", fuse_unk: false });
  m.vocab["the</w>"] = m.vocab["th##e</w>"], m.vocab["th"] = m.vocab["t##h"];
  delete m.vocab["th##e</w>"], delete m.vocab["t##h"];
  return m;
})();
const newId = Object.keys(sentence.vocab).length;
const RARE = {
  "strip-metaspace-first": file({ added_tokens: [...sentenceSpecials, added(newId, "<mask>", { lstrip: true })], normalizer: { type: "Sequence", normalizers: afterStrip },
    pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "Punctuation", behavior: "Isolated" }, metaspace({ prepend_scheme: "first", split: true })] }, decoder: metaspace({ prepend_scheme: "first", split: true }), model: sentence }),
  "added-normalized": file({ added_tokens: [...sentenceSpecials, added(newId, "NEW", { special: false, normalized: true }), added(newId + 1, "der NEW", { special: false, normalized: true })], normalizer: lowered, decoder: sentenceDecoder, model: sentence }),
  "no-unknown": file({ pre_tokenizer: metaspace({ prepend_scheme: "first", split: false }), decoder: sentenceDecoder,
    model: (() => { const m = characterModel(characterMerges, characters.filter((c) => c !== "q"), { unk_token: null, byte_fallback: false }); for (const t of Object.keys(m.vocab)) if (/^<0x/.test(t)) delete m.vocab[t]; return m; })() }),
  "composed-front": file({ added_tokens: sentenceSpecials, normalizer: { type: "Sequence", normalizers: [{ type: "NFC" }, { type: "NFKC" }, { type: "Lowercase" }] },
    pre_tokenizer: metaspace({ prepend_scheme: "first", split: true }), decoder: metaspace({ prepend_scheme: "first", split: true }), model: sentence }),
  "added-spaces": file({ added_tokens: [...sentenceSpecials, added(newId, "<end>", { rstrip: true }), added(newId + 1, "  ", { special: false }), added(newId + 2, " <mask>", { lstrip: true })],
    pre_tokenizer: metaspace({ prepend_scheme: "never", split: true }), decoder: metaspace({ prepend_scheme: "never", split: true }), model: sentence }),
  "byte-fallback-affixes": file({ added_tokens: sentenceSpecials, pre_tokenizer: { type: "WhitespaceSplit" }, decoder: { type: "Sequence", decoders: [{ type: "ByteFallback" }, { type: "Fuse" }] }, model: affixed }),
};

const HAVE_PAIRS = ["llama-3", "qwen-2", "bert", "roberta", "unigram"];
// It spells an added token's text as if its characters were bytes, and shows those that are none as broken.
const DECODES_BADLY = ["added-tokens", "né"];

const KINDS = { BPE: (description) => (JSON.stringify(description.pre_tokenizer ?? "").includes("ByteLevel") ? "ByteLevel BPE" : "SentencePiece BPE"), WordPiece: () => "WordPiece", Unigram: () => "Unigram" };
const FAMILIES = familyTokenizers({ file, added, split, template, byteLevel, bytesOnly, metaspace, byteModel, byteMerges, characterModel, characterMerges, characters, unigramModel, wordPieceModel, learn, spell, SPELL, TRAINING, CHARSMAP, sentenceDecoder });

/** A case leaves out ids without special tokens that are the same as with them, and a decoded text that is the text.
 * `oracle`: what the reference reads, where tokenizer_config.json changes what the description says. */
async function write(name, { description, oracle = description, kind, families = [], config, texts, pairs }) {
  const reference = Tokenizer.fromString(JSON.stringify(oracle));
  const cases = [];
  for (const text of texts) {
    const framed = await reference.encode(text, null, { addSpecialTokens: true }), bare = await reference.encode(text, null, { addSpecialTokens: false });
    const ids = bare.getIds();
    const bad = name === DECODES_BADLY[0] && text.includes(DECODES_BADLY[1]);
    const decoded = bad ? null : ids.length ? await reference.decode(ids, false) : "", all = framed.getIds();
    cases.push({ text, ids: all, ...(`${ids}` === `${all}` ? {} : { bare: ids }), ...(decoded === text ? {} : { decoded }) });
  }
  for (const [text, pair] of pairs) {
    const encoding = await reference.encode(text, pair, { addSpecialTokens: true });
    cases.push({ text, pair, ids: encoding.getIds(), types: encoding.getTypeIds() });
  }
  const lines = cases.map((c) => JSON.stringify(c)).join(",\n");
  const named = families.length ? `"kind": ${JSON.stringify(kind)},\n"families": ${JSON.stringify(families)},\n` : "";
  writeFileSync(`${process.argv[2]}/${name}.json`, `{${named}"tokenizer": ${JSON.stringify(description)},\n"config": ${JSON.stringify(config)},\n"cases": [\n${lines}\n]}\n`);
}

const PLAIN = { tokenizer_class: "PreTrainedTokenizerFast", clean_up_tokenization_spaces: false };
for (const [name, description] of Object.entries(TOKENIZERS))
  await write(name, { description, kind: KINDS[description.model.type](description), families: EXISTING[name], config: PLAIN, texts: TEXTS, pairs: HAVE_PAIRS.includes(name) ? PAIRS : [] });
for (const [name, description] of Object.entries(RARE))
  await write(name, { description, config: PLAIN, texts: [...RARE_TEXTS, ...FAMILY_TEXTS], pairs: [] });
for (const [name, family] of Object.entries(FAMILIES))
  await write(name, { config: PLAIN, ...family, texts: [...FAMILY_TEXTS, ...(family.texts ?? [])], pairs: family.pairs ? PAIRS.slice(1, 3) : [] });
