"""doubling_calls.py N: a function that calls one that calls another, N deep, each the next one twice."""

import sys

TYPE = "tensor<?x64xf32>"


def main(levels):
    for level in range(levels):
        print(f"""func.func private @g{level}(%x: {TYPE}) -> {TYPE} {{
  %y = func.call @g{level + 1}(%x) : ({TYPE}) -> {TYPE}
  %z = func.call @g{level + 1}(%y) : ({TYPE}) -> {TYPE}
  return %z : {TYPE}
}}""")
    print(f"""func.func private @g{levels}(%x: {TYPE}) -> {TYPE} {{
  %y = arith.addf %x, %x : {TYPE}
  return %y : {TYPE}
}}
attn.dim @n min 1 max 64
func.func @f(%x: {TYPE} {{attn.name = "x", attn.dims = ["n"]}}) -> ({TYPE} {{attn.name = "y", attn.dims = ["n"]}}) attributes {{attn.entry}} {{
  %y = func.call @g0(%x) : ({TYPE}) -> {TYPE}
  return %y : {TYPE}
}}""")


main(int(sys.argv[1]))
