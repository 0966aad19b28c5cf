"""Linear attention in closed form, in float64: sums over pairs of tokens, and for the delta rule a triangular system of equations. Short
convolutions as sums of shifted rows."""

import numpy as np


def closed_form(q, k, v, decay, beta, before, scale=1.0):
    """Outputs [tokens, value channels] and the last state of one head from its state before; decay and beta may be None."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    tokens = len(q)
    total = np.zeros_like(k)
    if decay is not None:
        total += np.cumsum(decay.astype(np.float64).reshape(tokens, *decay.shape[1:] or (1,)), 0)
    span = np.exp(np.minimum(total[:, None] - total[None], 0))  # from token j to token i, i >= j, of each channel
    pairs = np.einsum("ic,jc,ijc->ij", q, k, span)
    change = v
    if beta is not None:
        known = np.tril(np.einsum("ic,jc,ijc->ij", k, k, span), -1)
        change = np.linalg.solve(np.eye(tokens) + beta[:, None] * known, beta[:, None] * (v - (k * np.exp(total)) @ before))
    output = (q * np.exp(total)) @ before + np.tril(pairs) @ change
    last = np.exp(total[-1])[:, None] * before + (k * np.exp(total[-1] - total)).T @ change if tokens else before
    return scale * output, last


def convolved(x, weight, bias, before, dilation=1):
    """Outputs of a short convolution without its activation and the state behind one row, from the inputs before."""
    padded = np.concatenate([before, x]).astype(np.float64)
    shifted = [padded[tap * dilation:tap * dilation + len(x)] * weight[tap] for tap in range(len(weight))]
    return bias + np.sum(shifted, 0), padded[len(x):]
