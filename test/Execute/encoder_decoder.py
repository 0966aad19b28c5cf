"""Random encoder-decoders, compiled or evaluated, against float64: what t5_random.py and transformer_random.py share."""

import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

import numpy

import passed

TOLERANCE = {"F32": 1e-5, "BF16": 1e-2, "F16": 1e-3}
# Lengths of sources and targets of each batch: 1, primes, a tile and one more, longer than a cache block.
BATCHES = {"ragged": ((5, 70, 1), (9, 1, 33)), "whole": ((129,), (67,)), "short": ((1, 1), (1, 2))}


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise AssertionError(f"exit status {done.returncode} of {' '.join(command)}\n{done.stdout}{done.stderr}".rstrip())


def batch(lengths, vocabulary, random):
    ids = random.randint(0, vocabulary, (len(lengths), max(lengths)))
    mask = (numpy.arange(max(lengths))[None, :] < numpy.array(lengths)[:, None]).astype(numpy.int64)
    return ids.astype(numpy.int64), mask


def expected(model, sources, targets, ids, tokens):
    """The encoder's output and the logits, 0 behind each row's end."""
    hidden, logits = None, None
    for row, (source, target) in enumerate(zip(sources, targets)):
        h = model.encode(ids[row, :source])
        l = model.decode(tokens[row, :target], h)
        if hidden is None:
            hidden, logits = numpy.zeros((*ids.shape, h.shape[1])), numpy.zeros((*tokens.shape, l.shape[1]))
        hidden[row, :source], logits[row, :target] = h, l
    return hidden, logits


def compare(label, found, wanted, mask, tolerance):
    assert found.dtype == numpy.float32, f"{label} are {found.dtype}, expected float32"
    assert found.shape == wanted.shape, f"{label} are {found.shape}, expected {wanted.shape}"
    assert not found[mask == 0].any(), f"{label} behind a row's end are not 0"
    error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
    assert error <= tolerance, f"{label}: relative L2 {error:.2e}, allowed {tolerance:.0e}"
    return error


def check(name, options, work, build, storage, batches):
    """Raises AssertionError with what is wrong, or returns the largest relative L2."""
    directory = os.path.join(work, name)
    source = os.path.join(directory, "model")
    model = build(name, source)
    if options.rapt_reference:
        text = os.path.join(directory, "imported.mlir")
        run([options.raptc, source, "--emit=imported", "-o", text])
        program = [options.rapt_reference, text, f"--weights={source}"]
    else:
        library = os.path.join(directory, "model.so")
        run([options.raptc, source, "-o", library])
        program = [options.rapt_run, library]
    worst, random = 0.0, numpy.random.RandomState(3)
    for label, (sources, targets) in batches.items():
        ids, mask = batch(sources, model.settings["vocab_size"], random)
        tokens, decoderMask = batch(targets, model.settings["vocab_size"], random)
        at = lambda part: os.path.join(directory, f"{label}-{part}.npy")
        command = list(program)
        for part, array in (("input_ids", ids), ("attention_mask", mask), ("decoder_input_ids", tokens), ("decoder_attention_mask", decoderMask)):
            numpy.save(at(part), array)
            command += ["--input", f"{part}={at(part)}"]
        for part in ("logits", "encoder_last_hidden_state"):
            command += ["--output", f"{part}={at(part)}"]
        run(command)
        hidden, logits = expected(model, sources, targets, ids, tokens)
        worst = max(worst, compare(f"{label}: the encoder's outputs", numpy.load(at("encoder_last_hidden_state")), hidden, mask, TOLERANCE[storage]))
        worst = max(worst, compare(f"{label}: logits", numpy.load(at("logits")), logits, decoderMask, TOLERANCE[storage]))
    return worst


def run_all(options, names, work, build, storage):
    failed = 0
    batches = {"ragged": BATCHES["ragged"]} if options.rapt_reference else BATCHES
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = [(name, pool.submit(check, name, options, work, build, storage[name], batches)) for name in names]
        for name, result in results:
            try:
                print(f"PASS {name}: relative L2 {result.result():.1e}", flush=True)
                way, cells = ("compiled", ["prefill"]) if options.rapt_run else ("reference", [])
                passed.model(way, os.path.join(work, name, "model"), options.raptc, *cells)
            except AssertionError as error:
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
            except Exception:
                failed += 1
                print(f"FAIL {name}:\n{traceback.format_exc()}", flush=True)
    print(f"{len(names) - failed} passed, {failed} failed")
    return failed


def run_program(parser, cases, few, build, storage):
    parser.add_argument("--raptc", required=True)
    parser.add_argument("--rapt-run")
    parser.add_argument("--rapt-reference")
    parser.add_argument("--work", help="keep the models and outputs in this folder")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--few", action="store_true", help="only " + ", ".join(few))
    parser.add_argument("--only", nargs="*", choices=list(cases))
    options = parser.parse_args()
    if bool(options.rapt_reference) == bool(options.rapt_run):
        parser.error("give one of --rapt-run and --rapt-reference")
    names = options.only or (few if options.few else list(cases))
    work = options.work or tempfile.mkdtemp(prefix="rapt-encoder-decoder-")
    failed = run_all(options, names, work, build, storage)
    if not options.work:
        shutil.rmtree(work)
    sys.exit(1 if failed else 0)
