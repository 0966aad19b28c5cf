"""Compares outputs with a golden file of golden.py."""

import numpy


def differences(golden, found, tolerance):
    """`golden`: an output of a golden file; `found`: the matrix of all its positions. Gives what differs as a list of lines,
    and the relative L2 of the samples.

    Checked are relative L2 of the sampled columns, together and of each position; every position's norm and log-sum-exp to
    the same relative error; every position's argmax where its lead is larger than twice the error allowed in the norm."""
    if list(found.shape) != golden["shape"]:
        return [f"shape {list(found.shape)}, expected {golden['shape']}"], numpy.inf
    if not numpy.isfinite(found).all():
        return ["not all values are finite"], numpy.inf
    result, positions = [], golden["positions"]
    expected, sampled = numpy.array(golden["values"]), found[positions][:, golden["columns"]].astype(numpy.float64)
    error = numpy.linalg.norm(sampled - expected) / numpy.linalg.norm(expected)
    if error > tolerance:
        result.append(f"relative L2 {error:.2e} of all samples")
    for position, ours, theirs in zip(positions, sampled, expected):
        one = numpy.linalg.norm(ours - theirs) / numpy.linalg.norm(theirs)
        if one > tolerance:
            result.append(f"position {position}: relative L2 {one:.2e}")
    for position, row in enumerate(found):
        row = row.astype(numpy.float64)
        ours = {"norm": numpy.linalg.norm(row)}
        if "logsumexp" in golden:
            ours["logsumexp"] = row.max() + numpy.log(numpy.exp(row - row.max()).sum())
        for name, value in ours.items():
            theirs = golden[name][position]
            if abs(value - theirs) > tolerance * abs(theirs):
                result.append(f"position {position}: {name} {value:.9g}, expected {theirs:.9g}")
        certain = "lead" in golden and golden["lead"][position] > 2 * tolerance * golden["norm"][position]
        if certain and row.argmax() != golden["argmax"][position]:
            result.append(f"position {position}: argmax {row.argmax()}, expected {golden['argmax'][position]}")
    return result, error
