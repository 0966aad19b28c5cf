#!/usr/bin/env python3
"""Writes small sound files and the features of Whisper and Gemma 4 that NumPy makes of them: data/sweep.*, data/tune.wav, data/expected.json.

    make-fixtures.py [--to DIR]

The features follow the definitions of transformers' WhisperFeatureExtractor and Gemma4AudioFeatureExtractor in double, with a matrix as Fourier
transform.
Needs Debian's python3-numpy; the compressed files are made with libsndfile1."""

import argparse
import ctypes
import json
import wave
from pathlib import Path

import numpy as np

WHISPER = {"feature_extractor_type": "WhisperFeatureExtractor", "processor_class": "WhisperProcessor", "padding_side": "right",
           "padding_value": 0.0, "return_attention_mask": False}
LARGE = {"feature_size": 128, "sampling_rate": 16000, "hop_length": 160, "n_fft": 400, "chunk_length": 30, "n_samples": 480000,
         "nb_max_frames": 3000, "dither": 0.0, "do_normalize": False}
SMALL = {"feature_size": 80, "mel_filters": [[0.5]]}  # what older files have is not read
TUNE = {"sampling_rate": 4000, "chunk_length": 1}


def slaney_hertz(mel):
    """Auditory Toolbox: 3 mels are 200 Hz up to 1000 Hz, then 27 mels are a factor of 6.4."""
    return np.where(mel < 15, mel * 200 / 3, 1000 * 6.4 ** ((mel - 15) / 27))


def mel_filters(bins, fft_size, rate):
    """[bins, 1 + fft_size / 2]: triangles over the corners from 0 to 8000 Hz, each of area 1."""
    highest = 15 + 27 * np.log(8) / np.log(6.4)
    corners = slaney_hertz(np.linspace(0, highest, bins + 2))
    frequencies = np.linspace(0, rate // 2, fft_size // 2 + 1)
    rows = [np.interp(frequencies, corners[i:i + 3], [0, 1, 0], left=0, right=0) * 2 / (corners[i + 2] - corners[i]) for i in range(bins)]
    return np.array(rows)


def features(samples, config):
    """f32 [bins, frames]"""
    size, hop, rate = config.get("n_fft", 400), config.get("hop_length", 160), config.get("sampling_rate", 16000)
    samples = np.asarray(samples, np.float64)
    samples = np.pad(samples, (0, max(0, config.get("chunk_length", 30) * rate - len(samples))))
    samples = np.pad(samples, size // 2, mode="reflect")
    starts = np.arange(0, len(samples) - size + 1, hop)
    frames = samples[starts[:, None] + np.arange(size)] * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size))
    fourier = np.exp(-2j * np.pi * np.outer(np.arange(size), np.arange(size // 2 + 1)) / size)
    mel = mel_filters(config.get("feature_size", 80), size, rate) @ (np.abs(frames @ fourier) ** 2).T
    decades = np.log10(np.maximum(mel, 1e-10))[:, :-1]
    return ((np.maximum(decades, decades.max() - 8) + 4) / 4).astype(np.float32)


def htk_filters(bins, fft_size, rate, least, most):
    """[bins, 1 + fft_size / 2]: triangles of height 1 over corners that are evenly spaced in HTK's mels."""
    mels = np.linspace(*(2595 * np.log10(1 + hertz / 700) for hertz in (least, most)), bins + 2)
    corners, frequencies = 700 * (10 ** (mels / 2595) - 1), np.linspace(0, rate // 2, fft_size // 2 + 1)
    return np.array([np.interp(frequencies, corners[i:i + 3], [0, 1, 0], left=0, right=0) for i in range(bins)])


def gemma4_features(samples, config):
    """f32 [frames, bins] of frames that end ahead of the last sample; half of the first one is ahead of the sound."""
    rate, bins = config.get("sampling_rate", 16000), config.get("feature_size", 128)
    frame, hop = (round(rate * config.get(key, otherwise) / 1000) for key, otherwise in (("frame_length_ms", 20.0), ("hop_length_ms", 10.0)))
    size = 2 ** int(np.ceil(np.log2(frame)))
    padded = np.pad(np.asarray(samples, np.float64), (frame // 2, 0))
    starts = np.arange(0, len(padded) - frame, hop)
    window = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frame) / frame)).astype(np.float32)
    fourier = np.exp(-2j * np.pi * np.outer(np.arange(frame), np.arange(size // 2 + 1)) / size)
    mel = np.abs(padded[starts[:, None] + np.arange(frame)] * window @ fourier) @ htk_filters(bins, size, rate, config.get("min_frequency", 0.0), config.get("max_frequency", 8000.0)).T
    logarithms = np.log(mel + config.get("mel_floor", 1e-3)) - np.array(config.get("per_bin_mean", 0.0))
    return (logarithms / np.array(config.get("per_bin_stddev", 1.0))).astype(np.float32)


def sample_frames(samples, config):
    """f32 [frames, bins]: the samples, and zeros that fill up the last frame."""
    bins = config.get("feature_size", 640)
    return np.pad(np.asarray(samples, np.float32), (0, -len(samples) % bins)).reshape(-1, bins)


FRAMES = {"Gemma4AudioFeatureExtractor": gemma4_features, "Gemma4UnifiedAudioFeatureExtractor": sample_frames}


def frames_case(name, file, samples, begin, end, extractor, config):
    """Features whose frames are rows."""
    values = FRAMES[extractor](samples[begin:end], config)
    return {"name": name, "file": file, "begin": begin, "end": end, "config": json.dumps({"feature_extractor_type": extractor, **config}), "frames": values.shape[0],
            "bins": values.shape[1], "values": [float(f"{value:.7g}") for value in values.flat]}


def case(name, file, samples, begin, end, config, most=None):
    """The first `most` frames; `rest` is the one value of all later ones."""
    values = features(samples[begin:end], config)
    entry = {"name": name, "file": file, "begin": begin, "end": end, "config": json.dumps({**WHISPER, **config}),
             "bins": values.shape[0], "frames": values.shape[1]}
    most = most or values.shape[1]
    if most < values.shape[1]:
        assert (values[:, most:] == values[0, -1]).all()
        entry["rest"] = float(f"{values[0, -1]:.7g}")
    entry["values"] = [float(f"{value:.7g}") for value in values[:, :most].flat]
    return entry


def integers(samples):
    return np.rint(np.asarray(samples) * 32767).astype("<i2")


def write_wav(path, samples, rate):
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(samples.tobytes())


class Info(ctypes.Structure):
    _fields_ = [("frames", ctypes.c_int64), *[(name, ctypes.c_int) for name in ("samplerate", "channels", "format", "sections", "seekable")]]


def write_compressed(path, samples, rate, kind):
    library = ctypes.CDLL("libsndfile.so.1")
    library.sf_open.restype = ctypes.c_void_p
    info = Info(0, rate, 1, kind, 0, 0)
    file = ctypes.c_void_p(library.sf_open(str(path).encode(), 0x20, ctypes.byref(info)))
    assert file, path
    library.sf_writef_short(file, samples.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(len(samples)))
    library.sf_close(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=Path(__file__).resolve().parent / "data")
    args = parser.parse_args()
    random = np.random.default_rng(7)

    time = np.arange(1600) / 16000
    sweep = integers(0.5 * np.sin(2 * np.pi * (200 + 34000 * time) * time) + 0.02 * random.standard_normal(1600))
    write_wav(args.to / "sweep.wav", sweep, 16000)
    for name, kind in (("sweep.flac", 0x170002), ("sweep.ogg", 0x200060), ("sweep.mp3", 0x230082)):
        write_compressed(args.to / name, sweep, 16000, kind)

    # Grows to its end, so that the frame at the end, which is dropped, is the loudest.
    time = np.arange(5000) / 4000
    tune = integers(0.6 * (time / time[-1]) ** 2 * np.sin(2 * np.pi * (300 + 500 * time) * time) + 0.001 * random.standard_normal(5000))
    tune[3990:4000] = integers(0.9 * np.ones(10))
    write_wav(args.to / "tune.wav", tune, 4000)

    sweep, tune = sweep / 32768, tune / 32768
    cases = [
        case("large", "sweep.wav", sweep, 0, 1600, LARGE, 14), case("small", "sweep.wav", sweep, 0, 1600, SMALL, 14),
        case("no samples", "sweep.wav", sweep, 0, 0, LARGE, 1),
        case("a window, frames that reach over its end", "tune.wav", tune, 0, 4000, {**TUNE, "feature_size": 8, "n_fft": 200, "hop_length": 80}),
        case("more than a window", "tune.wav", tune, 0, 5000, {**TUNE, "feature_size": 8, "n_fft": 50, "hop_length": 80}),
        case("the last frame is incomplete", "tune.wav", tune, 0, 4079, {**TUNE, "feature_size": 5, "n_fft": 64, "hop_length": 100}),
        case("an odd rate, a transform of 7", "tune.wav", tune, 900, 4000, {"sampling_rate": 4001, "chunk_length": 1, "feature_size": 6, "n_fft": 14, "hop_length": 99}),
        case("the least transform", "tune.wav", tune, 3000, 5000, {**TUNE, "feature_size": 2, "n_fft": 2, "hop_length": 61}),
        case("frames further than their length", "tune.wav", tune, 0, 4001, {**TUNE, "feature_size": 12, "n_fft": 120, "hop_length": 333}),
    ]
    gemma4, unified = FRAMES
    published = {"feature_size": 128, "fft_length": 512, "frame_length": 320, "hop_length": 160, "max_frequency": 8000.0, "min_frequency": 0.0, "mel_floor": 0.001,
                 "per_bin_mean": None, "per_bin_stddev": None, "dither": 0.0, "fft_overdrive": False, "input_scale_factor": 1.0, "preemphasis": 0.0,
                 "preemphasis_htk_flavor": True, "padding_side": "right", "padding_value": 0.0, "return_attention_mask": True, "sampling_rate": 16000}
    rows = [
        frames_case("as published", "sweep.wav", sweep, 0, 641, gemma4, {key: value for key, value in published.items() if value is not None}),
        frames_case("the shortest sound", "sweep.wav", sweep, 1000, 1161, gemma4, {}),
        frames_case("an odd frame, bins with means and deviations", "tune.wav", tune, 0, 700, gemma4,
                    {"sampling_rate": 4000, "feature_size": 6, "frame_length_ms": 9.25, "hop_length_ms": 21.75, "min_frequency": 50.0, "max_frequency": 1900.0,
                     "mel_floor": 0.01, "per_bin_mean": [-1.5, 0, 0.5, 1, 1.5, 2], "per_bin_stddev": [1, 2, 0.5, 3, 1.25, 1]}),
        frames_case("samples", "tune.wav", tune, 0, 13, unified, {"sampling_rate": 4000, "feature_size": 6, "audio_samples_per_token": 6}),
    ]
    (args.to / "expected.json").write_text(json.dumps({"features": cases, "frames": rows}, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n")


if __name__ == "__main__":
    main()
