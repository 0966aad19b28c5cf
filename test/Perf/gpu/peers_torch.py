"""PyTorch's side of test/Perf/gpu/speed.py: its attention by each back end, flex_attention for masks, FlashAttention's packages where they are installed, a matmul."""

import numpy as np

import programs

BACKENDS = {"torch flash": "FLASH_ATTENTION", "torch cuDNN": "CUDNN_ATTENTION", "torch efficient": "EFFICIENT_ATTENTION"}


def load():
    """PyTorch or None, and what there is. Nothing touches the GPU."""
    try:
        import torch
    except ImportError as problem:
        return None, f"PyTorch is missing ({problem}): Rapt is timed alone, without a measured peak"
    if torch.version.cuda is None:
        return None, f"PyTorch {torch.__version__} has no CUDA: Rapt is timed alone, without a measured peak"
    torch.set_grad_enabled(False)
    return torch, f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}"


def tensors(torch, arrays):
    """Operands on the GPU."""
    return [torch.from_numpy(array.view(np.int16)).cuda().view(torch.bfloat16) if array.dtype == np.uint16 else torch.from_numpy(array).cuda() for array in arrays]


def bits(torch, result):
    return result.contiguous().view(torch.int16).cpu().numpy().view(np.uint16)


def matmul(torch, size):
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    c = torch.empty_like(a)
    return lambda: torch.matmul(a, b, out=c)


def fused(torch, q, k, v, is_causal):
    """torch.nn.functional.scaled_dot_product_attention by each back end."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def by(backend):
        def run():
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal).transpose(1, 2)
        return run
    return {name: by(getattr(SDPBackend, backend)) for name, backend in BACKENDS.items() if hasattr(SDPBackend, backend)}


def flexible(torch, program, q, k, v, ids):
    """flex_attention with the program's mask, compiled for these shapes at its first call."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    window, cap = programs.WINDOW, programs.CAP
    masks = {"window": lambda b, h, i, j: (j <= i) & (i - j < window), "documents": lambda b, h, i, j: (j <= i) & (ids[b, i] == ids[b, j]),
             "softcap": lambda b, h, i, j: j <= i}
    scores = {"softcap": lambda score, b, h, i, j: cap * torch.tanh(score / cap)}
    blocks = create_block_mask(masks[program.kind], q.shape[0] if ids is not None else None, None, q.shape[2], k.shape[2], device="cuda")
    compiled = torch.compile(flex_attention, dynamic=False)
    return lambda: compiled(q, k, v, score_mod=scores.get(program.kind), block_mask=blocks).transpose(1, 2)


def packages(program, q, k, v):
    """FlashAttention's own packages."""
    options = {"causal": program.is_causal}
    if program.kind == "window":
        options["window_size"] = (programs.WINDOW - 1, 0)
    if program.kind == "softcap":
        options["softcap"] = programs.CAP
    found = {}
    for name, module in (("FlashAttention 2", "flash_attn"), ("FlashAttention 3", "flash_attn_interface")):
        try:
            function = __import__(module).flash_attn_func
        except Exception:  # a package that is not installed, or not for this PyTorch
            continue

        def run(function=function):
            result = function(q, k, v, **options)
            return result[0] if isinstance(result, tuple) else result
        found[name] = run
    return found


def peers(torch, program, arrays):
    """{name: function whose result is laid out as the program's}. A function that fails is not for these operands."""
    if program.kind == "matmul":
        x, w = tensors(torch, arrays)
        return {"torch matmul": lambda: torch.matmul(x, w.T if program.is_tied else w)}
    q, k, v, *rest = tensors(torch, arrays)
    if program.is_decode:  # 8 query heads that share keys are 8 queries without a mask
        q = q.squeeze(1).transpose(1, 2)
    heads_first = [x.transpose(1, 2) for x in (q, k, v)]
    found = packages(program, q, k, v) if program.kind != "documents" else {}
    if program.kind in ("dense", "causal", "decode"):
        found |= fused(torch, *heads_first, program.is_causal)
        return {name: (lambda run=run: run().transpose(1, 2)) for name, run in found.items()} if program.is_decode else found
    try:
        return found | {"torch flex": flexible(torch, program, *heads_first, rest[0] if rest else None)}
    except Exception as problem:
        def missing(text=str(problem)):
            raise RuntimeError(text)
        return found | {"torch flex": missing}
