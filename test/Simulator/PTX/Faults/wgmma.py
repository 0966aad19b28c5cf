"""Writes a kernel with one wgmma on 64 x 16 and 8 x 16 operands of zeros, with a fault that its argument names."""

import sys

fault = sys.argv[1]
D = "{%d0, %d1, %d2, %d3}"
lines = {
    "fence": "wgmma.fence.sync.aligned;",
    "proxy": "fence.proxy.async;",
    "commit": "wgmma.commit_group.sync.aligned;",
    "wait": "wgmma.wait_group.sync.aligned 0;",
}
if fault in lines:
    lines[fault] = ""
print(f""".version 8.3
.target sm_90a
.address_size 64
.shared .align 1024 .b8 tile[2560];
.visible .entry k(.param .u64 o) {{
  .reg .b32 %t, %s, %i, %z; .reg .b32 %d<4>; .reg .b64 %a, %b, %x, %o; .reg .pred %p;
  mov.u32 %t, %tid.x; mov.b32 %z, 0; mov.u32 %s, tile; mad.lo.s32 %s, %t, 4, %s; mov.b32 %i, 0;
LOOP: st.shared.b32 [%s], %z; add.s32 %s, %s, 512; add.s32 %i, %i, 128; setp.lt.u32 %p, %i, {576 if fault != "race" else 0}; @%p bra LOOP;
  {lines["proxy"]}
  {"bar.sync 0;" if fault != "barrier" else ""}
  mov.b64 %x, tile; shr.u64 %x, %x, 4; or.b64 %a, %x, {1024 >> 4 << 16 | 128 >> 4 << 32}; add.s64 %x, %x, {2048 >> 4}; or.b64 %b, %x, {128 >> 4 << 16 | 128 >> 4 << 32};
  {"mov.b32 %d0, 0; mov.b32 %d1, 0; mov.b32 %d2, 0; mov.b32 %d3, 0;" if fault != "accumulator" else ""}
  {lines["fence"]}
  {"mov.b32 %d0, 1;" if fault == "moved" else ""}
  setp.ne.b32 %p, 1, 0;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {D}, %a, %b, %p, 1, 1, 0, 0;
  {lines["commit"]}
  {lines["wait"]}
  ld.param.b64 %o, [o]; mul.wide.u32 %x, %t, 16; add.s64 %o, %o, %x; st.global.v4.b32 [%o], {D};
  ret;
}}""")
