// RUN: rapt-opt %s --attn-generic-layout=laid-out --verify-diagnostics

// A layout of another pass has where the parameter begins and how far its layers are apart.
// expected-error@+1 {{has a layout, but no offset and stride that 64 bits hold}}
attn.parameter @placed : tensor<2x64x32x!attn.quantized<u8 group 32 axis 0>> from [#attn.source<"w">] {layout = #attn_gpu.quantized_panels<shape = [64, 64], interleave = 4>}
