"""The messages of ptxas about PTX. It takes seconds and says the same each time, so answers are kept between runs beside the objects of raptc: in the folder `ptxas` of
RAPT_OBJECT_CACHE. One in twenty, drawn as that of objects is (RAPT_CHECK_OBJECT_CACHE), is asked for again and compared."""

import hashlib
import os
import pathlib
import subprocess

MOST = 1000  # answers that are kept


def _ask(program, chip, file):
    done = subprocess.run([program, f"-arch={chip}", "-v", file, "-o", "/dev/null"], capture_output=True, text=True, check=True)
    return "".join(line for line in done.stderr.splitlines(keepends=True) if "Compile time" not in line).replace(str(file), "FILE")


def _is_checked(key):
    one_in, _, seed = os.environ.get("RAPT_CHECK_OBJECT_CACHE", "").partition(":")
    return bool(seed) and int(hashlib.sha256(f"{seed} {key}".encode()).hexdigest(), 16) % int(one_in) == 0


def messages(program, chip, file):
    """The lines of `ptxas -v` for this file of PTX, which has to be right."""
    cache = os.environ.get("RAPT_OBJECT_CACHE")
    if not cache or not os.path.isdir(cache):
        return _ask(program, chip, file)
    hashed = hashlib.sha256(pathlib.Path(program).read_bytes())
    hashed.update(f" {chip} ".encode() + pathlib.Path(file).read_bytes())
    folder, key = pathlib.Path(cache) / "ptxas", hashed.hexdigest()
    folder.mkdir(exist_ok=True)
    kept = folder / key
    known = kept.read_text() if kept.exists() else None
    if known is not None and not _is_checked(key):
        os.utime(kept)
        return known
    answer = _ask(program, chip, file)
    if known not in (None, answer):
        raise RuntimeError(f"{kept}: ptxas said something else before")
    own = folder / f"{key}.{os.getpid()}"
    own.write_text(answer)
    own.replace(kept)
    for old in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-MOST]:
        old.unlink(missing_ok=True)
    return answer
