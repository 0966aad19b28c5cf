#!/bin/sh
# tokenizers: a special token with `normalized` comes back in the text although special tokens are to be skipped.
#
# An added token of a tokenizer.json may be special (left out of decoded text when special tokens are skipped) and normalized (looked for behind
# the normalizer, as the normalizer writes it). A good engineer would guess that the two do not touch: what is special is skipped, however it was
# found. But decoding names the token as the normalizer writes it and asks whether that name is special; the names that are special are the
# tokens' own. Where the normalizer changes the token, it is shown, in the normalizer's spelling. The same file with `normalized: false` skips it.
#
# Needs node, npm and network. Prints the version, the guess and what happens; fails where that is no longer so.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund tokenizers@0.23.2
cat >decode.cjs <<'END'
const { Tokenizer } = require("tokenizers");
const make = (normalized) => Tokenizer.fromString(JSON.stringify({
  version: "1.0", truncation: null, padding: null, post_processor: null, decoder: null,
  added_tokens: [{ id: 2, content: "<END>", special: true, normalized, single_word: false, lstrip: false, rstrip: false }],
  normalizer: { type: "Lowercase" }, pre_tokenizer: { type: "Whitespace" },
  model: { type: "WordLevel", vocab: { "[UNK]": 0, hi: 1, "<END>": 2 }, unk_token: "[UNK]" } }));
(async () => {
  for (const normalized of [false, true]) {
    const tokenizer = make(normalized), ids = (await tokenizer.encode("hi <END>")).getIds();
    console.log(`normalized ${normalized}: ids ${ids.join(" ")}, text without special tokens "${await tokenizer.decode(ids, true)}"`);
  }
})();
END
echo "tokenizers $(node -p "require('tokenizers/package.json').version")"
echo 'guess: ids 1 2 and the text "hi", whether the token is normalized or not'
seen=$(node decode.cjs)
echo "$seen"
[ "$seen" = 'normalized false: ids 1 2, text without special tokens "hi"
normalized true: ids 1 2, text without special tokens "hi <end>"' ]
