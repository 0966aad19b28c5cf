"""compare_torch.py THREADS: PyTorch's side of test/Perf/compare, with the protocol, numbers and cases of compare_worker.h."""

import sys
import time

import numpy as np
import torch

torch.set_num_threads(int(sys.argv[1]))
torch.set_grad_enabled(False)


def numbers(salt, *shape):
    i = np.arange(np.prod(shape), dtype=np.uint64)
    return torch.from_numpy((((i * 7919 + salt * 104729) % 2048) / 1024 - 1).astype(np.float32).reshape(shape))


def matmul(n, k, m):
    x, w = numbers(1, int(m), int(k)), numbers(2, int(k), int(n))
    return lambda: x @ w


def attention(kind, length, size):
    length, size = int(length), int(size)
    q, k, v = (numbers(salt, length, 12, size).transpose(0, 1).contiguous() for salt in (1, 2, 3))
    keys = k.transpose(1, 2).contiguous()
    mask = torch.full((length, length), float("-inf")).triu(1) if kind == "causal" else torch.zeros(1, 1)
    return lambda: (torch.softmax(torch.baddbmm(mask.expand(12, length, length), q, keys, alpha=size**-0.5), -1) @ v).transpose(0, 1)


def lstm(rows, length):
    model = torch.nn.LSTM(512, 512, bias=False, batch_first=True)
    model.weight_ih_l0.copy_(numbers(2, 512, 2048).T / 16)
    model.weight_hh_l0.copy_(numbers(3, 512, 2048).T / 16)
    x = numbers(1, int(rows), int(length), 512)
    return lambda: model(x)[0]


cases = {}
print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads", flush=True)
for line in sys.stdin:
    what, argument, *words = line.split()
    case = " ".join(words)
    if case not in cases:
        try:
            made = {"matmul": matmul, "attention": attention, "lstm": lstm}[words[0]](*words[1:])
            made(), made()
        except (KeyError, TypeError, RuntimeError) as problem:
            print("lacks", " ".join(str(problem).split()), flush=True)
            continue
        cases[case] = made
    runs, processor = int(argument) if what == "time" else 1, time.process_time()
    begin = time.perf_counter()
    while runs > 1 and time.perf_counter() < begin + 5e-3:
        cases[case]()
    wall = time.perf_counter()
    for _ in range(runs):
        result = cases[case]()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    if what == "write":
        result.contiguous().numpy().tofile(argument)
    print(f"{wall:.9f} {processor:.9f}", flush=True)
