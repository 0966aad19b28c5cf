// RUN: rapt-opt %s --attn-set-target="vector-bytes=64 vector-registers=32" | rapt-opt --attn-set-stage=stage=tiled | FileCheck %s
// CHECK: module attributes {attn.stage = "tiled", attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}}
module attributes {attn.stage = "imported"} {
}

// RUN: rapt-opt %s --attn-set-target="vector-bytes=64 vector-registers=32 byte-dot bf16-dot bf16-round power-scale amx-bf16 amx-int8 emulated" | FileCheck %s --check-prefix=ALL
// ALL: attn.target = {amx_bf16, amx_int8, bf16_dot, bf16_round, byte_dot, emulated, power_scale, vector_bytes = 64 : i64, vector_registers = 32 : i64}
