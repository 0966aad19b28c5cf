"""The parts that scripts with checks (what, whether it holds, the figures) share: the verdict, and the size of a trained model."""

import os
import sys

import passed


def finish(checks, *notes):
    """Prints a line for each check and "N passed, N failed"; `notes` are of compiled code where all passed. Ends the script,
    with exit status 1 if any failed or none was made."""
    right = failed = 0
    try:
        for name, holds, figures in checks:
            print(f"{'PASS' if holds else 'FAIL'} {name}: {figures}", flush=True)
            right, failed = right + bool(holds), failed + (not holds)
    except (AssertionError, ValueError, KeyError) as error:
        print(f"FAIL {type(error).__name__}: {error}")
        failed += 1
    print(f"{right} passed, {failed} failed")
    if right and not failed:
        passed.note("compiled", *notes)
    sys.exit(not right or failed > 0)


def directory_size(model, most):
    size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(model) for name in names
               if not name.endswith(".pyc"))
    return "size of the directory", size <= most, f"{size} bytes, at most {most}"
