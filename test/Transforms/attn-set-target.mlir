// RUN: rapt-opt %s --attn-set-target="target=cpu capabilities=vector_bytes=64,vector_registers=32" | rapt-opt --attn-set-stage=stage=tiled | FileCheck %s
// CHECK: module attributes {attn.stage = "tiled", attn.target = {target = "cpu", vector_bytes = 64 : i64, vector_registers = 32 : i64}}
module attributes {attn.stage = "canonical"} {
}

// RUN: rapt-opt %s --attn-set-target="target=generic capabilities=vector_bytes=64,vector_registers=32,int8_dot,bf16_dot,bf16_cast,scaled_reduce,amx_bf16,amx_int8,emulated" | FileCheck %s --check-prefix=ALL
// ALL: attn.target = {amx_bf16, amx_int8, bf16_cast, bf16_dot, emulated, int8_dot, scaled_reduce, target = "generic", vector_bytes = 64 : i64, vector_registers = 32 : i64}

// RUN: not rapt-opt %s --attn-set-target="target=cpu capabilities=vector_byte=64" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not rapt-opt %s --attn-set-target="target=cpu capabilities=vector_bytes=-1" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown capability 'vector_byte{{.*}}'; lib/TargetInfo/Capabilities.def lists those of a target

// RUN: not rapt-opt %s --attn-set-target 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: no target given: target=NAME, as in --target
