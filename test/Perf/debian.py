"""Tells which of Debian's packages are installed: their files do not, since others have files of the same names (libblas-dev has a cblas.h as well)."""

import subprocess


def missing(packages):
    """Those of the packages that are not installed."""
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", *packages], capture_output=True, text=True)
    installed = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("installed ")}
    return [package for package in packages if package not in installed]


def install(packages):
    """Installs those that are missing, as root."""
    if wanted := missing(packages):
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", *wanted], check=True, stdout=subprocess.DEVNULL)


def flags(library):
    """A compiler's options for the library, as its own package tells them."""
    return subprocess.run(["pkg-config", "--cflags", "--libs", library], check=True, capture_output=True, text=True).stdout.split()
