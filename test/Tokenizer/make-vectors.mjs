// Makes the files of vectors/: small tokenizers of every kind the reader supports, and the ids and texts that Hugging Face's
// own JavaScript implementation gives for them. Run by hand when a kind is added; the tests read only its output.
//
//   npm install @huggingface/tokenizers@0.2.0 && node make-vectors.mjs vectors
//
// The merges are learned here from the paragraph below, so that nothing but this file goes in.
import { writeFileSync } from "node:fs";
import { Tokenizer } from "@huggingface/tokenizers";

const TRAINING = `The compiler reads a model and writes a program. The program reads a text and writes the next word, and then the
next one, until the text ends. A word is made of tokens; tokens are made of bytes. It isn't hard: we've merged the pairs that
come most often, and they'll be merged again in the same order when the text is read. Numbers like 1234 and 2026 are split.
Der Übersetzer liest ein Modell und schreibt ein Programm. Le modèle lit un texte et écrit la suite. Модель читает текст.`;

const TEXTS = ["", " ", "  ", "\n", "\t \n\n x", "Hello world", " Hello  world ", "The compiler reads the text.", "It isn't; we've, they'll I'M 'S",
  "1234567 89 ½ ⅷ ٣", "a1b22c333", "naïve café né Übersetzer", "Модель читает", "日本語のテキスト", "한국어", "🦙🇩🇪👩‍👩‍👧",
  "e\u0301 \u00e9 \ufb01 \u2460", "x\u00a0y\u3000z\u2028w\u180e", "<|end|>", "a<|end|>b <|end|> c", "<|end|><|start|>", "foo<mask> bar <mask>", "<mask>",
  "wordy word words sword word", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "the the the", "def f(x):\n    return x*2  # two\n\n\n",
  "$100 #tag @me -- ... !?", "\u0000\u0001\u007f", "▁under▁score", "a\r\nb\rc", "'s't're'", "ABC abc ÀÉ", "tab\tseparated\tvalues", "mixed العربية and עברית text"];

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

const byteMerges = learn(TRAINING.match(new RegExp(GPT2, "gu")).map(spell), 220);
const marked = ("▁" + TRAINING.replaceAll(/[ \n]/g, "▁")).match(/▁*[^▁]+/g).map((w) => [...w]);
const characterMerges = learn(marked.map((w) => [...w]), 180);
const characters = [...new Set(marked.flat())].sort();

const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true };
const split = (regex, behavior = "Isolated") => ({ type: "Split", pattern: { Regex: regex }, behavior, invert: false });
const bytesOnly = { ...byteLevel, use_regex: false };
const template = (single, ids) => ({ type: "TemplateProcessing", pair: [], single: single.map((s) => (s === "A" ? { Sequence: { id: "A", type_id: 0 } } : { SpecialToken: { id: s, type_id: 0 } })),
  special_tokens: Object.fromEntries(Object.entries(ids).map(([s, i]) => [s, { id: s, ids: [i], tokens: [s] }])) });
const file = (parts) => ({ version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, ...parts });

const small = byteModel(byteMerges);
const end = Object.keys(small.vocab).length;
const specials = [added(end, "<|start|>"), added(end + 1, "<|end|>")];
const sentence = characterModel(characterMerges, characters);
const sentenceSpecials = [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")];
const metaspace = (more) => ({ type: "Metaspace", replacement: "▁", ...more });
const sentenceDecoder = { type: "Sequence", decoders: [{ type: "Replace", pattern: { String: "▁" }, content: " " }, { type: "ByteFallback" }, { type: "Fuse" }, { type: "Strip", content: " ", start: 1, stop: 0 }] };

const TOKENIZERS = {
  // ByteLevel without use_regex splits by GPT-2's pattern; merges as pairs; a template on both sides.
  "byte-level": file({ added_tokens: specials, pre_tokenizer: byteLevel, decoder: byteLevel, post_processor: template(["<|start|>", "A", "<|end|>"], { "<|start|>": end, "<|end|>": end + 1 }), model: byteModel(byteMerges, { pairs: true }) }),
  "byte-level-prefix-space": file({ added_tokens: specials, pre_tokenizer: { ...byteLevel, add_prefix_space: true }, decoder: byteLevel, post_processor: { ...byteLevel }, model: small }),
  "llama-3": file({ added_tokens: specials, pre_tokenizer: { type: "Sequence", pretokenizers: [split(LLAMA3), bytesOnly] }, decoder: byteLevel,
    post_processor: { type: "Sequence", processors: [byteLevel, template(["<|start|>", "A"], { "<|start|>": end })] },
    // A token that no merge makes is found only by ignore_merges.
    model: (() => { const m = byteModel(byteMerges, { ignore_merges: true }); const s = spell(" wordy").join(""); m.vocab[s] = end + 2; return m; })() }),
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
  "metaspace-never": file({ added_tokens: sentenceSpecials, pre_tokenizer: metaspace({ prepend_scheme: "never", split: true }), decoder: metaspace({ prepend_scheme: "never", split: true }), model: sentence }),
};

// It ignores single_word, so no token here has it; a unit test covers that.
// Its Metaspace decoder ignores prepend_scheme and takes the first blank away always; the Rust library keeps it for "never".
const DECODES_DIFFERENTLY = ["metaspace-never"];

for (const [name, tokenizer] of Object.entries(TOKENIZERS)) {
  const config = { tokenizer_class: "PreTrainedTokenizerFast", clean_up_tokenization_spaces: false };
  const reference = new Tokenizer(tokenizer, config);
  const cases = TEXTS.map((text) => {
    const framed = reference.encode(text).ids, bare = reference.encode(text, { add_special_tokens: false }).ids;
    return { text, ids: framed, bare, decoded: DECODES_DIFFERENTLY.includes(name) ? null : bare.length ? reference.decode(bare, { skip_special_tokens: false }) : "" };
  });
  const lines = cases.map((c) => JSON.stringify(c)).join(",\n");
  writeFileSync(`${process.argv[2]}/${name}.json`, `{"tokenizer": ${JSON.stringify(tokenizer)},\n"config": ${JSON.stringify(config)},\n"cases": [\n${lines}\n]}\n`);
}
