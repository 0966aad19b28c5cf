#!/bin/sh
# tokenizers: blanks that an added token has stripped are tokens a second time where an added token is made of blanks.
#
# An added token of a tokenizer.json may be `rstrip`: it takes the blanks behind it. Files of LLaMA's and GPT-NeoX's kind also have added tokens of
# two and more blanks. A good engineer would guess that each character of a text belongs to one token, so that blanks which the first token took
# are gone. But added tokens are found in the text before any of them strips: those inside the stripped blanks stay. The ids then stand for more
# blanks than the text has.
#
# Needs node, npm and network. Prints the version, the guess and what happens; fails where that is no longer so.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund tokenizers@0.23.2
cat >encode.cjs <<'END'
const { Tokenizer } = require("tokenizers");
const added = (id, content, rstrip) => ({ id, content, special: false, normalized: false, single_word: false, lstrip: false, rstrip });
const make = (rstrip) => Tokenizer.fromString(JSON.stringify({
  version: "1.0", truncation: null, padding: null, post_processor: null, decoder: null, normalizer: null,
  added_tokens: [added(2, "<m>", rstrip), added(3, "  ", false)], pre_tokenizer: { type: "Whitespace" },
  model: { type: "WordLevel", vocab: { "[UNK]": 0, b: 1, "<m>": 2, "  ": 3 }, unk_token: "[UNK]" } }));
(async () => {
  for (const rstrip of [false, true])
    console.log(`rstrip ${rstrip}: ids ${(await make(rstrip).encode("<m>    b")).getIds().join(" ")}`);
})();
END
echo "tokenizers $(node -p "require('tokenizers/package.json').version")"
echo 'guess: ids 2 3 3 1 without rstrip; 2 1 with it, as the token takes all four blanks'
seen=$(node encode.cjs)
echo "$seen"
[ "$seen" = 'rstrip false: ids 2 3 3 1
rstrip true: ids 2 3 3 1' ]
