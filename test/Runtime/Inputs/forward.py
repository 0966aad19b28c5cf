"""Inputs for forward, and its answer recomputed: logits are a hash of all tokens up to a position (fake_artifact.c)."""
import sys

import numpy as np

action, folder = sys.argv[1:]
lengths = [70, 3, 0]
ids = np.arange(3 * 70, dtype=np.int64).reshape(3, 70) * 7 % 257
mask = np.array([[t < n for t in range(70)] for n in lengths]).astype(np.int64)


def expected():
    logits = np.zeros((3, 70, 257), np.float32)
    v = np.arange(257, dtype=np.uint64) * 2654435761 % 2**32
    for row, length in enumerate(lengths):
        h = 42
        for t in range(length):
            h = (h * 31 + int(ids[row, t]) * 1000003 + t) % 2**32
            logits[row, t] = ((np.uint64(h) ^ v) * np.uint64(2246822519) % 2**32 >> np.uint64(8)) / 2.0**20
    return logits


if action == "write":
    np.save(folder + "/ids.npy", ids)
    np.save(folder + "/mask.npy", mask)
    np.save(folder + "/left.npy", mask[:, ::-1].copy())
    np.save(folder + "/float.npy", ids.astype(np.float32))
    np.save(folder + "/long.npy", np.zeros((1, 257), np.int32))
    np.save(folder + "/fortran.npy", np.asfortranarray(ids))
    whole = open(folder + "/ids.npy", "rb").read()
    open(folder + "/short.npy", "wb").write(whole[:-1])
else:
    logits = np.load(folder + "/logits.npy")
    assert logits.dtype == np.float32 and np.array_equal(logits, expected())
