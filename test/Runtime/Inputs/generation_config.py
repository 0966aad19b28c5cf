"""Checks how rapt-run uses a generation_config.json in the weight file of the model in C."""

import json
import subprocess
import sys
from pathlib import Path

import fake_weights

model, folder = sys.argv[1], Path(sys.argv[2])
ANY = ("--any-weights", "--ignore-eos", "--json")


def run(config, *arguments, fails=None):
    weights = fake_weights.write_weights(model, folder / "configured.weights", {"generation_config.json": json.dumps(config)})
    done = subprocess.run(["rapt-run", model, "--weights", weights, *ANY, *arguments], capture_output=True, text=True)
    if fails:
        assert done.returncode == 1 and fails in done.stderr, (config, arguments, done)
        return None
    assert done.returncode == 0, (config, arguments, done)
    return json.loads(done.stdout), done.stderr


free, _ = run({}, "-p", "Hello", "-n", "12")
assert free["reason"] == "length" and len(free["tokens"]) == 12

# The text ends before a stop string of the file, as before one of the line; ids have no text to look at.
stop = free["text"][4:7]
before = free["text"][: free["text"].index(stop)]
for config, arguments in (({"stop_strings": ["nowhere", stop]}, ()), ({"stop_strings": stop}, ()), ({}, ("--stop", stop)),
                          ({"stop_strings": ["nowhere"]}, ("--stop", stop))):
    found, _ = run(config, "-p", "Hello", "-n", "12", *arguments)
    assert (found["text"], found["reason"]) == (before, "stop"), (config, arguments, found, free)
found, told = run({"stop_strings": [stop]}, "--tokens", "5,6", "-n", "12")
assert len(found["tokens"]) == 12 and "the stop_strings of generation_config.json are not looked for" in told

# max_length counts the prompt; max_new_tokens and the line come first.
for config, arguments, most in (({"max_length": 9}, (), 4), ({"max_length": 9, "max_new_tokens": 2}, (), 2),
                                ({"max_length": 9}, ("-n", "12"), 12), ({"max_length": 6}, (), 1)):
    found, _ = run(config, "-p", "Hello", *arguments)
    assert (len(found["tokens"]), found["reason"]) == (most, "length"), (config, arguments, found)
run({"max_length": 5}, "-p", "Hello", fails="error: the prompt has 5 tokens; generation_config.json's max_length is 5: say")

# Beams that the file asks for.
found, _ = run({"num_beams": 3, "num_return_sequences": 2, "max_length": 8}, "-p", "Hello")
assert [len(one["tokens"]) for one in found["sequences"]] == [3, 3]
run({"num_beams": 3}, "-p", "Hello", "-n", "3", "--stop", "x",
    fails="error: --stop does not go with beams, of which generation_config.json asks for 3; --temperature 0 takes")
assert run({"num_beams": 3}, "-p", "Hello", "-n", "3", "--temperature", "0", "--stop", "\x01\x02")[0]["reason"] == "length"
run({"stop_strings": ["x"]}, "-p", "Hello", "-n", "3", "--beams", "2",
    fails="error: --beams does not go with the stop_strings of generation_config.json")
run({"num_beams": 3, "stop_strings": ["x"]}, "-p", "Hello", fails="num_beams is 3 with stop_strings: beams do not end at a text")

# Rules about tokens: of the file, and of the line, which comes first.
prompt = [5, 6, 7]
tokens = lambda config, *arguments: run(config, "--tokens", "5,6,7", "-n", "24", *arguments)[0]["tokens"]
plain = tokens({})
assert len(set(prompt + plain)) < 27, "the text repeats nothing: another prompt is needed"
fresh = tokens({"no_repeat_ngram_size": 1})
assert len(set(prompt + fresh)) == 27, fresh
same = next(i for i, (one, other) in enumerate(zip(plain, fresh)) if one != other)
assert plain[same] in prompt + plain[:same], "the first token that differs is no repetition"
assert tokens({}, "--no-repeat-ngram", "1") == fresh == tokens({"no_repeat_ngram_size": 5}, "--no-repeat-ngram-size", "1")
assert tokens({"no_repeat_ngram_size": 1}, "--no-repeat-ngram", "0") == plain
beams = run({"no_repeat_ngram_size": 1}, "--tokens", "5,6,7", "-n", "24", "--beams", "3")[0]["sequences"][0]["tokens"]
assert len(set(prompt + beams)) == 27, beams

ANY = ("--any-weights", "--json")
end = {"eos_token_id": plain[0]}
assert tokens(end) == []
for config, arguments in (({"min_new_tokens": 4}, ()), ({"min_length": 7}, ()), ({}, ("--min-new-tokens", "4")), ({"min_length": 20}, ("--min-new-tokens", "4")),
                          ({"min_length": 20, "min_new_tokens": 4}, ())):
    found = tokens(end | config, *arguments)
    assert len(found) >= 4 and plain[0] not in found, (config, arguments, found)
    assert found == tokens(end | {"min_new_tokens": 4}), (config, arguments, found)
assert plain[0] not in tokens({"suppress_tokens": [plain[0]]}) and tokens({"begin_suppress_tokens": [plain[0]]})[0] != plain[0]

# A first token that is forced is for texts that start from one token.
forced = {"forced_bos_token_id": 9}
assert run(forced, "--tokens", "5", "-n", "3")[0]["tokens"][0] == 9 and tokens(forced) == plain
ends = run({"forced_eos_token_id": 3, "eos_token_id": 3}, "--tokens", "5,6,7", "-n", "4")[0]
assert ends["reason"] == "end" and ends["tokens"] == plain[:3], ends

# Sequences that never come, and biases of sequences: the last token of each is meant, behind the others.
word = plain[2:5]
without = tokens({"bad_words_ids": [word]})
assert without[:4] == plain[:4] and without[4] != plain[4] and all(without[at : at + 3] != word for at in range(len(without))), without
beams = ("--tokens", "5,6,7", "-n", "12", "--beams", "3", "--returns", "3")
pairs = lambda found: {(one["tokens"][at], one["tokens"][at + 1]) for one in found["sequences"] for at in range(11)}
common = sorted(pairs(run({}, *beams)[0]))[:3]
assert not pairs(run({"bad_words_ids": [list(pair) for pair in common]}, *beams)[0]) & set(common)
other = (plain[3] + 1) % 64
assert tokens({"sequence_bias": [[plain[1:3] + [other], 1e6]]})[:4] == plain[:3] + [other]
assert (plain[0], other) in pairs(run({"sequence_bias": [[[plain[0], other], 1e6], [[plain[0]], 1e3]]}, *beams)[0])
assert set(tokens({"sequence_bias": [[[other], 1e6]]})) == {other} and tokens({"sequence_bias": [[[plain[0] + 1, other], 1e6]]})[0] == plain[0]
run({"bad_words_ids": [[1, 2], 3]}, "-p", "Hello", fails="error: generation_config.json: bad_words_ids has 3, expected a list of token ids")
run({}, "-p", "Hello", "--target-language", "x", fails="error: --source-language and --target-language are for models with an encoder and a decoder")
