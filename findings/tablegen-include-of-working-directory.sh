#!/bin/sh
# TableGen: an include is taken from the working directory before the folders of -I.
#
# llvm-tblgen and mlir-tblgen read .td files that include others by name. A good engineer would guess that -I decides which file that is, as with a
# C compiler, or the folder of the including file. But the name is tried as it stands first, so that a file of that name below the folder in which
# the program happens to run wins against all of -I, and the same command gives other records in another folder, without a message. A copy of a
# source tree that is named by -I is not read while the command runs in the original.
#
# Debian 12 on amd64; needs apt-get and network. Prints the version, the guess and what happens; fails where that is no longer so.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get -qq -o APT::Sandbox::User=root download llvm-14=1:14.0.6-12 libllvm14=1:14.0.6-12 libz3-4=4.8.12-3.1 libedit2=3.1-20221030-2
for package in *.deb; do dpkg-deb -x "$package" root; done
export LD_LIBRARY_PATH="$work/root/usr/lib/x86_64-linux-gnu:$work/root/usr/lib/llvm-14/lib"
tblgen=$work/root/usr/lib/llvm-14/bin/llvm-tblgen
"$tblgen" --version | grep -o "LLVM version.*"

mkdir -p original/parts copy/parts elsewhere
echo 'def FromOriginal;' >original/parts/part.td
echo 'def FromCopy;' >copy/parts/part.td
echo 'include "parts/part.td"' >copy/main.td
# The def that is read where the program runs in a folder.
read_in() { (cd "$1" && "$tblgen" -I "$work/copy" "$work/copy/main.td" | grep -o "From[A-Z][a-z]*"); }
echo "guess: -I copy gives FromCopy in every folder"
elsewhere=$(read_in elsewhere)
original=$(read_in original)
echo "seen:  in a folder without such a file $elsewhere; in the original $original"
[ "$elsewhere" = FromCopy ] && [ "$original" = FromOriginal ]
