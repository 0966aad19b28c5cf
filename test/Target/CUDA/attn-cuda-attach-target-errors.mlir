// RUN: rapt-opt %s --attn-cuda-attach-target --split-input-file --verify-diagnostics

// expected-error@+1 {{attn.target names the architecture sm_81a; known are sm_80, }}
module attributes {attn.target = {target = "cuda", device_arch = 81 : i64, device_exact}} {
}

// -----

// expected-error@+1 {{attn.target names the architecture sm_0; known are sm_80, }}
module {
}
