// RUN: rapt-opt %s --attn-set-target="capabilities=vector_bytes=64,vector_registers=32" | rapt-opt --attn-set-stage=stage=tiled | FileCheck %s
// CHECK: module attributes {attn.stage = "tiled", attn.target = {target = "cpu", vector_bytes = 64 : i64, vector_registers = 32 : i64}}
module attributes {attn.stage = "canonical"} {
}

// RUN: rapt-opt %s --attn-set-target="target=generic capabilities=vector_bytes=64,vector_registers=32,byte_dot,bf16_dot,bf16_round,power_scale,amx_bf16,amx_int8,emulated" | FileCheck %s --check-prefix=ALL
// ALL: attn.target = {amx_bf16, amx_int8, bf16_dot, bf16_round, byte_dot, emulated, power_scale, target = "generic", vector_bytes = 64 : i64, vector_registers = 32 : i64}

// RUN: not rapt-opt %s --attn-set-target="capabilities=vector_byte=64" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not rapt-opt %s --attn-set-target="capabilities=vector_bytes=-1" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown capability 'vector_byte{{.*}}'; lib/TargetInfo/Capabilities.def lists those of a target
