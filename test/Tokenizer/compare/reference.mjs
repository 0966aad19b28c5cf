// Ids, types and texts that another implementation gives for the lines of a file; compare.py runs it.
//
//   node reference.mjs rust|js tokenizer.json lines.jsonl result.jsonl
//
// rust: tokenizers, a build of Hugging Face's library for Node (the Rust code that Python's package is made of).
// js:   @huggingface/tokenizers, Hugging Face's own second implementation.
// Each line is {"text": ..., "pair": ... or absent}; each result {"ids", "types", "decoded"} or {"error"}.
import { createReadStream, createWriteStream, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.env.NODE_REFERENCES + "/");
const [kind, file, lines, result] = process.argv.slice(2);
const json = readFileSync(file, "utf8");

function openRust() {
  const tokenizer = require("tokenizers").Tokenizer.fromString(json);
  return async ({ text, pair }) => {
    const encoding = await tokenizer.encode(text, pair ?? null, { addSpecialTokens: true });
    const ids = encoding.getIds();
    return { ids, types: encoding.getTypeIds(), decoded: ids.length ? await tokenizer.decode(ids, true) : "" };
  };
}

function openJs() {
  const { Tokenizer } = require("@huggingface/tokenizers");
  const tokenizer = new Tokenizer(JSON.parse(json), { clean_up_tokenization_spaces: false });
  return async ({ text, pair }) => {
    const { ids } = tokenizer.encode(text, pair === undefined ? {} : { text_pair: pair });
    return { ids };
  };
}

const encode = kind === "rust" ? openRust() : openJs();
const output = createWriteStream(result);
for await (const line of createInterface({ input: createReadStream(lines) })) {
  let answer;
  try {
    answer = await encode(JSON.parse(line));
  } catch (error) {
    answer = { error: String(error) };
  }
  output.write(JSON.stringify(answer) + "\n");
}
output.end();
