#!/usr/bin/env python3
"""rapt-run --audio on a random model of whisper, from a sound file to text, beside numpy alone: log-mel features (test/Audio/make-fixtures.py),
the model (test/Reference/numpy/whisper.py), the rules of timestamps, the windows of a long sound, those that are written again at higher
temperatures, silent ones and prompts of earlier text (written again here from Whisper's decoding.py and transcribe.py), random numbers
(Philox4x32-10), and segments (test/Unit/Generation/segments.py).

    transcription.py --raptc build/bin/raptc --rapt-run build/bin/rapt-run

Each fault gives one line.
"""

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import wave
import zlib

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "Reference", "numpy"), os.path.join(HERE, "..", "Unit", "Generation")]

import beam_search  # noqa: E402
import passed  # noqa: E402
import whisper  # noqa: E402
from segments import cut_parts  # noqa: E402

specification = importlib.util.spec_from_file_location("fixtures", os.path.join(HERE, "..", "Audio", "make-fixtures.py"))
fixtures = importlib.util.module_from_spec(specification)
specification.loader.exec_module(fixtures)

WORDS, PREVIOUS, SILENCE, END, START, NO_TIMES, TIMES, LAST = 38, 38, 39, 40, 41, 46, 47, 98
LANGUAGES, TASKS = {"en": 42, "de": 43}, {"transcribe": 44, "translate": 45}
RATE, HOP, FRAMES, STRIDE = 16000, 160, 100, 2
CONFIG = whisper.SMALL | {"vocab_size": 100, "decoder_start_token_id": START, "eos_token_id": END, "pad_token_id": END, "bos_token_id": END}
PROCESSOR = {"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": CONFIG["num_mel_bins"], "chunk_length": 1, "sampling_rate": RATE,
             "hop_length": HOP, "n_fft": 400, "n_samples": RATE, "nb_max_frames": FRAMES, "padding_side": "right", "padding_value": 0.0}


class Remembered:
    """numpy's model, which computes the logits of a text and a sound once: the models have the same weights, and their rules differ."""

    known = {}

    def __init__(self, model):
        self.model = model

    def encode(self, features):
        key = features.tobytes()
        if key not in self.known:
            self.known[key] = self.model.encode(features)
        return self.known[key]

    def decode(self, tokens, hidden):
        key = hidden.tobytes(), tuple(tokens)
        if key not in self.known:
            self.known[key] = self.model.decode(tokens, hidden)
        return self.known[key]


def write_model(directory, processor=PROCESSOR, isMultilingual=True, **generation):
    model = Remembered(whisper.make(directory, CONFIG, 11, gain=6))
    special = {END: "<|endoftext|>", START: "<|startoftranscript|>", NO_TIMES: "<|notimestamps|>", SILENCE: "<|nospeech|>"}
    special |= {id: f"<|{name}|>" for name, id in (LANGUAGES | TASKS).items()}
    added = [{"id": id, "content": special[id], "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False} for id in sorted(special)]
    bytelevel = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": " w[0-9]+"}, "behavior": "Isolated", "invert": False}
    tokenizer = {"added_tokens": added, "normalizer": None, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, bytelevel]}, "post_processor": None,
                 "decoder": bytelevel, "model": {"type": "BPE", "vocab": {f"\u0120w{i}": i for i in range(WORDS)}, "merges": [], "ignore_merges": True}}
    config = {"eos_token_id": END, "no_timestamps_token_id": NO_TIMES, "is_multilingual": isMultilingual, "max_length": 24,
              "prev_sot_token_id": PREVIOUS, "suppress_tokens": [3, 5, PREVIOUS, SILENCE, START, *LANGUAGES.values(), *TASKS.values()], "begin_suppress_tokens": [0, END]}
    if isMultilingual:
        config |= {"lang_to_id": {f"<|{name}|>": id for name, id in LANGUAGES.items()}, "task_to_id": TASKS}
    for name, content in (("tokenizer", tokenizer), ("generation_config", config | generation), ("preprocessor_config", processor)):
        with open(os.path.join(directory, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(content, file)
    return model, config | generation


def write_sound(path, seconds, seed):
    """Tones that change every fifth of a second, above noise."""
    random, count = numpy.random.RandomState(seed), int(seconds * RATE)
    tones = numpy.repeat(random.uniform(100, 6000, count // 3200 + 1), 3200)[:count]
    loud = numpy.repeat(random.uniform(0, 0.5, count // 3200 + 1), 3200)[:count]
    samples = loud * numpy.sin(numpy.cumsum(2 * numpy.pi * tones / RATE)) + 0.01 * random.standard_normal(count)
    whole = numpy.rint(samples * 32767).clip(-32768, 32767).astype("<i2")
    with wave.open(path, "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(whole.tobytes())
    return whole / 32768


def allowed(logits, made, withTimes, config):
    """Logits of the next token under the rules; -infinity for those that may not come."""
    logits, never = logits[:LAST].copy(), -math.inf
    logits[config["suppress_tokens"]] = never
    if not made:
        logits[config["begin_suppress_tokens"]] = never
    if not withTimes:
        return logits
    logits[NO_TIMES] = never
    isTime = [id >= TIMES for id in made]
    isPair = len(made) < 2 or isTime[-2]
    if made and isTime[-1] and isPair:
        logits[TIMES:] = never
    elif made and isTime[-1]:
        logits[:END] = never
    times = [id for id in made if id >= TIMES]
    if times:
        logits[TIMES : times[-1] + (not (isTime[-1] and not isPair))] = never
    if not made:
        logits[:TIMES] = never
        if "max_initial_timestamp_index" in config:
            logits[TIMES + config["max_initial_timestamp_index"] + 1 :] = never
    powers = numpy.exp(logits - logits.max())
    if powers[TIMES:].sum() > powers[:TIMES].max():
        logits[:TIMES] = never
    return logits


def uniform(sequence, draw, seed=0):
    """The draw of a sequence by Philox4x32 with 10 rounds, in [0, 1)."""
    counter, key = [draw & 0xFFFFFFFF, draw >> 32, sequence & 0xFFFFFFFF, sequence >> 32], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [second >> 32 ^ counter[1] ^ key[0], second & 0xFFFFFFFF, first >> 32 ^ counter[3] ^ key[1], first & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return ((counter[0] << 32 | counter[1]) >> 11) * 2.0**-53


def log_softmax(logits):
    shifted = logits - logits.max()
    return shifted - math.log(numpy.exp(shifted).sum())


def write_window(model, hidden, prompt, most, withTimes, config, beams, temperature=0, sequence=0):
    """The new tokens, and the sum of the logarithms of their probabilities, with that of the end."""
    if beams and temperature == 0:
        rules = lambda tokens, scores: allowed(scores, tokens[len(prompt) :], withTimes, config)
        logits = lambda tokens: list(model.decode(tokens, hidden)[-1][:LAST])
        tokens, score = beam_search.beam_search(logits, prompt, beams, 1, most, [END], rules=rules)[0]
        return [id for id in tokens if id != END], score * len(tokens)
    made, total = [], 0.0
    while len(made) < most:
        logits = allowed(model.decode(prompt + made, hidden)[-1], made, withTimes, config)
        next = int(logits.argmax())
        if temperature > 0:
            powers = numpy.exp((logits - logits.max()) / temperature)
            next = int(numpy.argmax(numpy.cumsum(powers) > uniform(sequence, len(made)) * powers.sum()))
        total += log_softmax(logits)[next]
        if next == END:
            break
        made.append(next)
    return made, total


def words(ids):
    return " ".join(f"w{id}" for id in ids if id < WORDS)


class Fallback:
    """Thresholds and temperatures; `seen` collects what happened."""

    def __init__(self, temperatures=(0.0,), ratio=None, logprob=None, silence=None):
        self.temperatures, self.ratio, self.logprob, self.silence, self.seen = temperatures, ratio, logprob, silence, []

    def near(self, number, threshold):
        assert threshold is None or abs(number - threshold) > 1e-3 * abs(threshold), f"{number} is too near {threshold}: another sound is needed"

    def refuses(self, result):
        self.near(result["avg_logprob"], self.logprob)
        unlikely = self.logprob is not None and result["avg_logprob"] < self.logprob
        repeated = self.ratio is not None and result["compression_ratio"] > self.ratio
        silent = self.silence is not None and result["no_speech_prob"] > self.silence and unlikely
        self.seen.append((result["temperature"], unlikely, repeated, silent))
        return (unlikely or repeated) and not silent

    def isSilence(self, result):
        if self.silence is None:
            return False
        self.near(result["no_speech_prob"], self.silence)
        return result["no_speech_prob"] > self.silence and not (self.logprob is not None and result["avg_logprob"] > self.logprob)


def attempts(model, hidden, prompt, most, withTimes, config, beams, fallback, window):
    """New tokens of the window, and the numbers of the attempt that they are of."""
    if fallback is None:
        return write_window(model, hidden, prompt, most, withTimes, config, beams)[0], {"temperature": 0}
    silence = math.exp(log_softmax(model.decode(prompt[: prompt.index(START) + 1], hidden)[-1])[SILENCE])
    for number, temperature in enumerate(fallback.temperatures):
        made, total = write_window(model, hidden, prompt, most, withTimes, config, beams, temperature, window + (number << 32))
        text = words(made).encode()
        result = {"temperature": temperature, "avg_logprob": total / (len(made) + 1), "compression_ratio": len(text) / len(zlib.compress(text))}
        if fallback.silence is not None:
            result["no_speech_prob"] = silence
        if not fallback.refuses(result):
            break
    return made, result


def transcribe(model, samples, config, times=False, language=None, task="transcribe", most=None, beams=None, fallback=None, conditions=False, before=()):
    columns = fixtures.features(samples, PROCESSOR)
    frames, begin, segments, said, windows = max(1, len(samples) // HOP), 0, [], list(before), 0
    withTimes = times or frames > FRAMES
    while begin < frames:
        window = columns[:, begin : begin + FRAMES]
        hidden = model.encode(numpy.pad(window, ((0, 0), (0, FRAMES - window.shape[1]))))
        if config["is_multilingual"] and language is None:
            logits = model.decode([START], hidden)[0]
            language = max(sorted(LANGUAGES), key=lambda name: logits[LANGUAGES[name]])
        prompt = [PREVIOUS, *said[-(CONFIG["max_target_positions"] // 2 - 1) :]] if said else []
        prompt += [START] + ([LANGUAGES[language], TASKS[task]] if config["is_multilingual"] else []) + ([] if withTimes else [NO_TIMES])
        room = CONFIG["max_target_positions"] - len(prompt)
        made, result = attempts(model, hidden, prompt, min(room, config["max_length"] - 1 if most is None else most), withTimes, config, beams, fallback, windows)
        windows += 1
        if fallback is not None and fallback.isSilence(result):
            begin += min(FRAMES, frames - begin)
            continue
        if not withTimes:
            made = [id for id in made if id < TIMES]
        parts, advance = cut_parts(made, TIMES, STRIDE, begin, min(FRAMES, frames - begin))
        for first, last, part in parts:
            text = words(part)
            if text:
                segments.append({"start": first * HOP / RATE, "end": last * HOP / RATE, "text": text} | (result if fallback else {}))
                said += part
        if not conditions or result["temperature"] > 0.5:
            said = []
        begin += advance
    return {"task": task, "language": language, "text": " ".join(part["text"] for part in segments), "segments": segments}


def stamp(seconds):
    return f"{int(seconds // 60):02}:{seconds % 60:06.3f}"


# A rule of generation is of the program that runs models: the same for each target. The generic one compiles in half of the time.
FAST = () if os.environ.get("RAPT_FULL") == "1" else ("--target=generic",)


class Test:
    def __init__(self, options, work):
        self.options, self.work = options, work

    def compiled(self, name, *flags, **how):
        directory, library = os.path.join(self.work, name), os.path.join(self.work, name + ".so")
        model, config = write_model(directory, **how)
        subprocess.run([self.options.raptc, directory, *flags, "-o", library], check=True, capture_output=True)
        return library, model, config

    def run(self, library, *arguments, fails=None):
        done = subprocess.run([self.options.rapt_run, library, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        if fails:
            assert done.returncode in (1, 2) and fails in done.stderr and done.stdout == "", (arguments, done)
        else:
            assert done.returncode == 0, (arguments, done)
        return done.stdout

    def compare(self, made, path, samples, *arguments, **how):
        library, model, config = made
        wanted = transcribe(model, samples, config, **how)
        found = json.loads(self.run(library, "--audio", path, "--json", "--seed", "0", *arguments))
        isDrawn = how.get("fallback") and len(how["fallback"].temperatures) > 1
        assert found.pop("seed", None) == (0 if isDrawn else None), (found, arguments)
        for one, other in zip(found["segments"], wanted["segments"]):
            for name in ("avg_logprob", "compression_ratio", "no_speech_prob", "temperature"):
                number = other.get(name)
                assert number is None or abs(one[name] - number) <= 1e-4 * max(1, abs(number)), f"{path} {arguments}: {name} is {one[name]}, expected {number}"
                one[name] = number
        found["segments"] = [{name: value for name, value in one.items() if value is not None} for one in found["segments"]]
        assert found == wanted, f"{path} {arguments}:\n{found}\n{wanted}"
        return wanted


def check_fallback(test, plain, sounds):
    """Windows that are written again, silent ones, and prompts of earlier text."""
    steps = [number * 0.2 for number in range(6)]
    configured = test.compiled("configured", *FAST, temperature=[0.0, 0.5, 0.9], compression_ratio_threshold=1.8, condition_on_prev_tokens=True)
    silent = test.compiled("silent", *FAST, no_speech_threshold=1e-8, logprob_threshold=-0.25, prompt_condition_type="first-segment")
    step = ("--temperature-increment-on-fallback", "0.2")
    judged, changed, said = [], 0, [1, 2, 4]
    for path, samples in (sounds["long"], sounds["ends"], sounds["short"]):
        for made, arguments, how, fallback in (
                (configured, (), {"conditions": True}, Fallback((0.0, 0.5, 0.9), 1.8)),
                (configured, ("--temperature", "0"), {"conditions": True}, Fallback((0.0,), 1.8)),
                (silent, (), {}, Fallback(logprob=-0.25, silence=1e-8)),
                (silent, ("--timestamps", *step), {"times": True}, Fallback(steps, 2.4, -0.25, 1e-8)),
                (plain, step, {}, Fallback(steps, 2.4, -1)),
                (plain, (*step, "--compression-ratio-threshold", "2", "--logprob-threshold", "-0.3", "--condition-on-previous-text", "--timestamps"),
                 {"times": True, "conditions": True}, Fallback(steps, 2, -0.3)),
                (plain, (*step, "--logprob-threshold", "-0.3", "--beams", "2", "--prompt", " w1 w2 w4 "), {"beams": 2, "before": said}, Fallback(steps, 2.4, -0.3)),
                (plain, ("--no-speech-threshold", "1e-8"), {}, Fallback(silence=1e-8)),
                (plain, ("--condition-on-previous-text",), {"conditions": True}, None),
                (plain, ("--prompt", "w1 w2 w4", "--language", "en"), {"before": said, "language": "en"}, None)):
            found = test.compare(made, path, samples, *arguments, fallback=fallback, **how)
            judged += fallback.seen if fallback else []
            without = {name: value for name, value in how.items() if name not in ("conditions", "before")}
            changed += found["text"] != transcribe(made[1], samples, made[2], **without)["text"]
    assert all(any(one[at] for one in judged) for at in (1, 2, 3)), "no text is unlikely, repeats itself or is silent"
    assert {0 < one[0] <= 0.5 for one in judged} == {one[0] > 0.5 for one in judged} == {True, False} and changed > 15, changed

    # Text is printed once it is not refused any more.
    path, samples = sounds["short"]
    wanted = transcribe(plain[1], samples, plain[2], fallback=Fallback(steps, 2, -0.3))["text"]
    assert test.run(plain[0], "--audio", path, *step, "--seed", "0", "--compression-ratio-threshold", "2", "--logprob-threshold", "-0.3") == wanted + "\n"

    # A window's prompt leaves less for new tokens; a model without the tokens says so.
    path, samples = sounds["long"]
    test.run(plain[0], "--audio", path, "--condition-on-previous-text", "-n", "17", fails="--max-new-tokens is 17, but a window of plain has at most 16")
    bare = test.compiled("bare", *FAST, prev_sot_token_id=None)
    test.run(bare[0], "--audio", path, "--prompt", "w1", fails="bare has no token <|startofprev|>")
    test.run(plain[0], "--audio", path, "-p", "w1", "-p", "w2", fails="--audio takes one --prompt, the text before the sound")
    test.run(plain[0], "--audio", path, "-p", "w1", "--output", "logits=x.npy", fails="--audio takes no --output")
    test.run(plain[0], "--tokens", "1", "--no-speech-threshold", "0.6", fails="--no-speech-threshold belongs to --audio")
    test.run(plain[0], "--audio", path, *step, "--temperature", "1.5", fails="--temperature-increment-on-fallback goes up to temperature 1")
    test.run(plain[0], "--audio", path, "--no-speech-threshold", "1.5", fails="--no-speech-threshold; expected a number from 0 to 1")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        test = Test(options, work)
        sounds = {name: (os.path.join(work, name + ".wav"), seconds) for name, seconds in (("short", 0.31), ("window", 1), ("long", 2.713), ("ends", 3))}
        sounds = {name: (path, write_sound(path, seconds, seed)) for seed, (name, (path, seconds)) in enumerate(sounds.items())}
        plain = test.compiled("plain")
        seen = []
        for path, samples in sounds.values():
            for arguments, how in (((), {}), (("--timestamps",), {"times": True}), (("--language", "de", "--task", "translate"), {"language": "de", "task": "translate"}),
                                   (("--language", "<|en|>", "--timestamps", "-n", "7"), {"language": "en", "times": True, "most": 7}),
                                   (("--beams", "3", "--language", "en"), {"beams": 3, "language": "en"})):
                seen.append(test.compare(plain, path, samples, *arguments, **how))
        assert len({result["language"] for result in seen}) == 2 and len({result["text"] for result in seen}) > len(seen) / 2, "the sounds make no difference"
        assert any(len(result["segments"]) > 2 for result in seen)
        passed.model("compiled", os.path.join(work, "plain"), options.raptc, "decode")

        # Text as it is printed, and several sounds.
        path, samples = sounds["long"]
        wanted = transcribe(plain[1], samples, plain[2], times=True)
        lines = "".join(f"[{stamp(part['start'])} -> {stamp(part['end'])}] {part['text']}\n" for part in wanted["segments"])
        assert test.run(plain[0], "--audio", path, "--timestamps") == lines
        assert test.run(plain[0], "--audio", path) == wanted["text"] + "\n"
        both = json.loads(test.run(plain[0], "--audio", path, "--audio", sounds["short"][0], "--json"))["results"]
        assert [one["file"] for one in both] == [path, sounds["short"][0]] and both[0]["text"] == wanted["text"]

        # A bound on the first timestamp, one language alone, and weights of 16 bits.
        bounded = test.compiled("bounded", *FAST, max_initial_timestamp_index=2)
        english = test.compiled("english", *FAST, isMultilingual=False)
        for made in (bounded, english):
            test.compare(made, path, samples, "--timestamps", times=True)
        test.run(english[0], "--audio", path, "--language", "en", fails="english writes one language: it takes no --language and no --task")
        if os.environ.get("RAPT_FULL") == "1":
            half, _, _ = test.compiled("half", "--dtype=bf16")
            assert json.loads(test.run(half, "--audio", path, "--json"))["segments"]

        check_fallback(test, plain, sounds)

        # Faults.
        other = test.compiled("bins", *FAST, processor=PROCESSOR | {"feature_size": 16})
        test.run(other[0], "--audio", path, fails="preprocessor_config.json makes features of 16 bins, but the model reads 8")
        test.run(plain[0], "-p", "hello", fails="--audio")
        test.run(plain[0], "--audio", path, "--language", "fr", fails="--language: plain knows no language fr")
        test.run(plain[0], "--audio", os.path.join(work, "none.wav"), fails="none.wav")
        with open(os.path.join(work, "text.wav"), "w") as file:
            file.write("this is no sound")
        test.run(plain[0], "--audio", os.path.join(work, "text.wav"), fails="text.wav")
    print("sounds to texts: ok")


if __name__ == "__main__":
    main()
