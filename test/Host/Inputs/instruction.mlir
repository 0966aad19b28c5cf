func.func @instruction() {
  %t = amx.tile_zero : !amx.tile<16x16xf32>
  return
}
