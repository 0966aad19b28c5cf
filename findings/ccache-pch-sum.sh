#!/bin/sh
# ccache and clang: FILE.sum, which may stand for a precompiled header FILE, counts only where FILE ends in .pch.
#
# ccache can take the content of FILE.sum for that of the precompiled header FILE (CCACHE_PCH_EXTSUM=1, pch_external_checksum). clang takes a
# precompiled header of any name by -include-pch, and build systems that compile one as an ordinary source name it header.h.o. A good engineer
# would guess that FILE.sum counts for whatever -include-pch names: ccache says in its log that it has seen the header. But it counts only where
# the name ends in .pch (or gcc's .gch). For another name the sum is never read, and no message says so: two builds of the same header whose
# bytes differ, as those with other absolute paths inside do, get no hits from each other.
#
# Debian 12 on amd64; needs apt-get and network. Prints the versions, the guess and what happens; fails where that is no longer so.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get -qq -o APT::Sandbox::User=root download ccache=4.8+really4.7.5-1 libhiredis0.14=0.14.1-3 clang-14=1:14.0.6-12 libclang-common-14-dev=1:14.0.6-12 \
  libclang-cpp14=1:14.0.6-12 libllvm14=1:14.0.6-12 libz3-4=4.8.12-3.1 libedit2=3.1-20221030-2
for package in *.deb; do dpkg-deb -x "$package" root; done
export LD_LIBRARY_PATH="$work/root/usr/lib/x86_64-linux-gnu:$work/root/usr/lib/llvm-14/lib" CCACHE_DIR="$work/cache" CCACHE_PCH_EXTSUM=1 \
  CCACHE_SLOPPINESS=pch_defines,time_macros
ccache=$work/root/usr/bin/ccache
clang=$work/root/usr/lib/llvm-14/bin/clang
"$ccache" --version | head -n 1
"$clang" --version | head -n 1

echo 'static inline int twice(int x) { return 2 * x; }' >header.h
echo 'int four(void) { return twice(2); }' >source.c
"$clang" -x c-header header.h -o header.h.o
cp header.h.o header.pch

# hits_after_another_sum PCH: "hit" where a second compilation hits although the sum has changed in between.
hits_after_another_sum() {
  rm -rf "$CCACHE_DIR"
  echo first >"$1.sum"
  "$ccache" "$clang" -include-pch "$1" -c source.c -o source.o
  sleep 1
  echo second >"$1.sum"
  "$ccache" "$clang" -include-pch "$1" -c source.c -o source.o
  "$ccache" --print-stats | awk '$1 ~ /^(direct|preprocessed)_cache_hit$/ {hits += $2} END {print hits ? "hit" : "miss"}'
}
echo "guess: with either name another sum is a miss"
by_pch=$(hits_after_another_sum header.pch)
by_o=$(hits_after_another_sum header.h.o)
echo "seen:  header.pch: $by_pch; header.h.o: $by_o"
[ "$by_pch" = miss ] && [ "$by_o" = hit ]
