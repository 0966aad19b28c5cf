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
