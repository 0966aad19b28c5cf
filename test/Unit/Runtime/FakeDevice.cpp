#include "FakeDevice.h"
#include "fake_manifest.h"
#include <cstring>
#include <utility>

namespace rapt::test {

thread_local DeviceFaults deviceFaults;

namespace {

// The kernels' only parameters, structs by value. Addresses are the device's.
struct DecoderArguments {
  const void *cache, *tokens, *rowBegin, *past, *table, *want, *weights, *workspace, *logits;
  int64_t count, wanted, width;
};
struct CounterArguments {
  const void *state, *slot, *target, *tokens, *want, *logits;
  int64_t rows, wanted;
};
struct AdderArguments {
  const void *x, *y, *sum;
  int64_t count;
};

// `row_of` of fake_artifact.c: %row, where its tokens begin (%s) and its %past.
#define FIND_ROW                                                                                                       \
  R"(ld.param.b64 %base, [a+16]; mov.u32 %row, 0;
Search:
  mul.wide.u32 %o, %row, 4; add.s64 %o, %base, %o; ld.global.b32 %e, [%o+4]; setp.gt.s32 %p, %e, %t; @%p bra Found;
  add.s32 %row, %row, 1; bra Search;
Found:
  ld.global.b32 %s, [%o]; ld.param.b64 %base, [a+24]; mul.wide.u32 %o, %row, 4; add.s64 %o, %base, %o;
  ld.global.b32 %past, [%o];
)"
// %at: the address of position %pos of row %row in the cache.
#define FIND_SLOT                                                                                                      \
  R"(ld.param.b64 %base, [a+32]; ld.param.b32 %e, [a+88]; shr.u32 %k, %pos, 3; mad.lo.s32 %k, %row, %e, %k;
  mul.wide.u32 %o, %k, 4; add.s64 %o, %base, %o; ld.global.b32 %k, [%o]; and.b32 %e, %pos, 7; mad.lo.s32 %k, %k, 8, %e;
  ld.param.b64 %base, [a]; mul.wide.u32 %o, %k, 8; add.s64 %at, %base, %o;
)"
#define REGISTERS                                                                                                      \
  R"(  .reg .pred %p; .reg .b64 %base, %o, %at, %i, %n; .reg .f32 %f;
  .reg .b32 %t, %b, %row, %e, %s, %past, %pos, %k, %v, %h;
  mov.u32 %b, %ctaid.x; mov.u32 %t, %tid.x; mad.lo.s32 %t, %b, 32, %t; cvt.s64.s32 %i, %t;
)"

constexpr char decoderPtx[] = R"(.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 4 .b8 pool[];
.visible .entry insert(.param .align 8 .b8 a[96])
{
)" REGISTERS R"(
  ld.param.b64 %n, [a+72]; setp.ge.s64 %p, %i, %n; @%p ret;
)" FIND_ROW R"(
  add.s32 %pos, %past, %t; sub.s32 %pos, %pos, %s;
)" FIND_SLOT R"(
  ld.param.b64 %base, [a+8]; mul.wide.u32 %o, %t, 4; add.s64 %o, %base, %o; ld.global.b32 %v, [%o];
  mad.lo.s32 %v, %v, 1000003, %pos; st.global.b32 [%at], %v;
  ret;
}
.visible .entry hash(.param .align 8 .b8 a[96])
{
)" REGISTERS R"(
  ld.param.b64 %n, [a+80]; setp.ge.s64 %p, %i, %n; @%p ret;
  .reg .b64 %slot; ld.param.b64 %slot, [a+56]; mul.wide.u32 %o, %t, 4; add.s64 %slot, %slot, %o;
  ld.param.b64 %base, [a+40]; add.s64 %o, %base, %o; ld.global.b32 %t, [%o];
)" FIND_ROW R"(
  .reg .b32 %last; add.s32 %last, %past, %t; sub.s32 %last, %last, %s;
  ld.param.b64 %base, [a+48]; ld.global.b32 %h, [%base]; mov.u32 %pos, 0;
Next:
  setp.gt.s32 %p, %pos, %last; @%p bra Done;
)" FIND_SLOT R"(
  ld.global.b32 %v, [%at]; mad.lo.s32 %h, %h, 31, %v; add.s32 %pos, %pos, 1; bra Next;
Done:
  st.global.b32 [%slot], %h;
  ret;
}
.visible .entry project(.param .align 8 .b8 a[96])
{
)" REGISTERS R"(
  mov.u32 %t, %tid.x; setp.ne.s32 %p, %t, 0; @%p bra Wait;
  ld.param.b64 %base, [a+56]; mul.wide.u32 %o, %b, 4; add.s64 %o, %base, %o; ld.global.b32 %h, [%o];
  st.shared.b32 [pool+65532], %h;
Wait:
  bar.sync 0; ld.shared.b32 %h, [pool+65532];
Next:
  setp.ge.s32 %p, %t, 257; @%p ret;
  mul.lo.s32 %v, %t, 0x9E3779B1; xor.b32 %v, %v, %h; mul.lo.s32 %v, %v, 0x85EBCA77; shr.u32 %v, %v, 8;
  cvt.rn.f32.u32 %f, %v; mul.rn.f32 %f, %f, 0f35800000;
  ld.param.b64 %base, [a+64]; mad.lo.s32 %k, %b, 257, %t; mul.wide.u32 %o, %k, 4; add.s64 %o, %base, %o;
  st.global.f32 [%o], %f; add.s32 %t, %t, 64; bra Next;
}
)";

constexpr char counterPtx[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry count(.param .align 8 .b8 a[64])
{
)" REGISTERS R"(
  ld.param.b64 %n, [a+48]; setp.ge.s64 %p, %i, %n; @%p ret;
  .reg .b64 %from, %to, %x; .reg .f32 %g; mul.wide.u32 %o, %t, 4; ld.param.b64 %x, [a];
  ld.param.b64 %base, [a+8]; add.s64 %at, %base, %o; ld.global.b32 %k, [%at];
  mul.wide.u32 %from, %k, 64; add.s64 %from, %x, %from;
  ld.param.b64 %base, [a+16]; add.s64 %at, %base, %o; ld.global.b32 %k, [%at];
  mul.wide.u32 %to, %k, 64; add.s64 %to, %x, %to;
  ld.param.b64 %base, [a+24]; add.s64 %at, %base, %o; ld.global.b32 %k, [%at]; cvt.rn.f32.s32 %f, %k;
  ld.global.f32 %g, [%from]; fma.rn.f32 %f, %g, 0f40000000, %f; st.global.f32 [%to], %f;
  ret;
}
.visible .entry tell(.param .align 8 .b8 a[64])
{
)" REGISTERS R"(
  ld.param.b64 %n, [a+56]; setp.ge.s64 %p, %i, %n; @%p ret;
  ld.param.b64 %base, [a+32]; mul.wide.u32 %o, %t, 4; add.s64 %o, %base, %o; ld.global.b32 %k, [%o];
  ld.param.b64 %base, [a+16]; mul.wide.u32 %o, %k, 4; add.s64 %o, %base, %o; ld.global.b32 %k, [%o];
  ld.param.b64 %base, [a]; mul.wide.u32 %o, %k, 64; add.s64 %o, %base, %o; ld.global.f32 %f, [%o];
  ld.param.b64 %base, [a+40]; mul.wide.u32 %o, %t, 16; add.s64 %o, %base, %o; mov.u32 %k, 0;
Next:
  st.global.f32 [%o], %f; add.f32 %f, %f, 0f3F800000; add.s64 %o, %o, 4; add.s32 %k, %k, 1;
  setp.lt.s32 %p, %k, 4; @%p bra Next;
  ret;
}
)";

constexpr char adderPtx[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .align 8 .b8 a[32])
{
)" REGISTERS R"(
  ld.param.b64 %n, [a+24]; setp.ge.s64 %p, %i, %n; @%p ret;
  .reg .f32 %g; mul.wide.u32 %o, %t, 4;
  ld.param.b64 %base, [a]; add.s64 %at, %base, %o; ld.global.f32 %f, [%at];
  ld.param.b64 %base, [a+8]; add.s64 %at, %base, %o; ld.global.f32 %g, [%at];
  ld.param.b64 %base, [a+16]; add.s64 %at, %base, %o; add.f32 %f, %f, %g; st.global.f32 [%at], %f;
  ret;
}
.visible .entry add_four(.param .align 8 .b8 a[32])
{
)" REGISTERS R"(
  ld.param.b64 %n, [a+24]; mul.lo.s64 %i, %i, 4; setp.ge.s64 %p, %i, %n; @%p ret;
  .reg .f32 %x<4>; .reg .f32 %y<4>; mul.lo.s64 %o, %i, 4;
  ld.param.b64 %base, [a]; add.s64 %at, %base, %o; ld.global.v4.f32 {%x0, %x1, %x2, %x3}, [%at];
  ld.param.b64 %base, [a+8]; add.s64 %at, %base, %o; ld.global.v4.f32 {%y0, %y1, %y2, %y3}, [%at];
  add.f32 %x0, %x0, %y0; add.f32 %x1, %x1, %y1; add.f32 %x2, %x2, %y2; add.f32 %x3, %x3, %y3;
  ld.param.b64 %base, [a+16]; add.s64 %at, %base, %o; st.global.v4.f32 [%at], {%x0, %x1, %x2, %x3};
  ret;
}
)";

/// The code that entries start kernels of, as compiled code would have it: one a model, that of the last opened table.
const rapt_device_code *decoderCode, *counterCode, *adderCode;

template <typename Arguments>
int32_t start(const rapt_env *env, const rapt_device_code *code, const char *name, uint32_t index, uint32_t threads,
              uint32_t shared, const Arguments &arguments, int64_t blocks, int64_t dispatch = -1) {
  rapt_kernel kernel{
      code, name, index, threads, shared, sizeof arguments, dispatch, deviceFaults.overlaps ? RAPT_KERNEL_OVERLAPS : 0,
      0};
  rapt_device_code foreign = *code;
  if (deviceFaults.startsForeignKernel)
    kernel.code = &foreign;
  if (deviceFaults.startsMissingKernel)
    kernel.name = "missing", kernel.index = 3;
  Arguments copy = arguments;
  const int32_t result = env->launch(env->user, &kernel, &copy, blocks);
  memset(&copy, 0xff, sizeof copy); // a launch has its own copy
  if (deviceFaults.atLaunch)
    deviceFaults.atLaunch(deviceFaults.user);
  return result;
}

int32_t decoderStep(const rapt_env *env, void *const *b, const int64_t *dims) {
  DecoderArguments a{b[2], b[3], b[4], b[5], b[6], b[7], b[0], b[1], b[8], dims[0], dims[2], dims[3]};
  if (deviceFaults.readsBeyondMemory)
    a.cache = nullptr;
  int32_t stop = start(env, decoderCode, "insert", 0, 32, 0, a, (dims[0] + 31) / 32, 0);
  for (int i = 0; i < deviceFaults.repeats && !stop; ++i)
    stop = start(env, decoderCode, "insert", 0, 32, 0, a, (dims[0] + 31) / 32, 0);
  if (!stop)
    stop = start(env, decoderCode, "hash", 1, 32, 0, a, (dims[2] + 31) / 32);
  if (!stop)
    stop = start(env, decoderCode, "project", 2, 64, 65536, a, dims[2], 1);
  return deviceFaults.returnsFive ? 5 : stop;
}

int64_t decoderWorkspace(const int64_t *dims, int64_t workers) { return workers + (dims[2] * 4 + 63) / 64 * 64; }

int32_t counterStep(const rapt_env *env, void *const *b, const int64_t *dims) {
  const CounterArguments a{b[2], b[4], b[5], b[3], b[7], b[8], dims[0], dims[1]};
  int32_t stop = start(env, counterCode, "count", 0, 32, 0, a, (dims[0] + 31) / 32);
  return stop ? stop : start(env, counterCode, "tell", 1, 32, 0, a, (dims[1] + 31) / 32);
}

int32_t adderRun(const rapt_env *env, void *const *b, const int64_t *dims) {
  return startAdder(env, adderCode, static_cast<const float *>(b[0]), static_cast<const float *>(b[1]),
                    static_cast<float *>(b[2]), dims[0]);
}

int64_t noWorkspace(const int64_t *, int64_t) { return 0; }

std::string withDevice(std::string manifest) {
  const std::string at = "\"cpu\": ";
  return manifest.insert(manifest.find(at),
                         R"("device": {"kind": "cuda", "images": [{"arch": "sm_80", "form": "ptx"}]}, )");
}

/// Tensors of an entry, as a manifest lists them.
struct Tensor {
  const char *name, *kind, *dtype, *shape;
};
std::string tensorsOf(std::initializer_list<Tensor> tensors) {
  std::string list;
  for (const Tensor &t : tensors)
    list += std::string(list.empty() ? "" : ", ") + R"({"name": ")" + t.name + R"(", "kind": ")" + t.kind +
            R"(", "dtype": ")" + t.dtype + R"(", "shape": [)" + t.shape + "]}";
  return list;
}

/// A manifest of one entry: its name and dims, and its buffers.
std::string plainManifest(const char *name, const std::string &model, const std::string &entry,
                          const std::string &buffers) {
  const std::string fake = FAKE_MANIFEST, zeros(32, '0');
  const size_t target = fake.find("\"target\": "), end = fake.find("}, ", target);
  return withDevice(std::string(R"({"rapt": {"version": "0.1.0", "abi": [1, 4]}, "name": ")") + name + "\", " + model +
                    R"("interface_id": ")" + zeros + R"(", "content_id": ")" + zeros + "\", " +
                    fake.substr(target, end + 3 - target) + R"("parameters": [], "entries": [{"name": )" + entry +
                    R"(, "buffers": [)" + buffers + "]}]}");
}

template <size_t N>
DeviceArtifact make(std::string manifest, rapt_artifact_entry entry, const char (&ptx)[N], uint64_t kernels) {
  DeviceArtifact made;
  made.manifest = std::move(manifest);
  made.entries = {entry};
  made.images = {{"sm_80", ptx, N, 0, 0}};
  made.code = {2, 1, nullptr, kernels};
  made.table = {RAPT_ARTIFACT_MAGIC, RAPT_ABI_MAJOR, 4, nullptr, 0, nullptr, 1, nullptr, 0, nullptr, nullptr};
  return made;
}

rapt_module *openOnce(DeviceArtifact &artifact) {
  rapt_module *module = nullptr;
  Message message;
  EXPECT_EQ(artifact.open(&module, message), RAPT_OK) << message.text;
  return module;
}

} // namespace

DeviceArtifact::~DeviceArtifact() {
  if (started)
    *started = startedBefore;
}

rapt_status DeviceArtifact::open(rapt_module **module, Message &message, rapt_module_options options) {
  const std::string weights = inBuild("/test/fake/fake-0000cafe.weights");
  options.size = sizeof options;
  if (manifest.find("\"weights\": {") != std::string::npos && !options.weights_path)
    options.weights_path = weights.c_str();
  table.manifest = manifest.c_str();
  table.manifest_size = manifest.size();
  table.entries = entries.data();
  code.images = images.data();
  table.device_code = &code;
  table.variant_code = variantCode.empty() ? nullptr : variantCode.data();
  if (!started) {
    rapt_entry_fn run = table.entries[0].run;
    started = run == decoderStep ? &decoderCode : run == counterStep ? &counterCode : &adderCode;
    startedBefore = std::exchange(*started, &code);
  }
  return rapt_module_from_artifact(&table, &options, module, message.text, message.size);
}

int32_t startAdder(const rapt_env *env, const rapt_device_code *code, const float *x, const float *y, float *sum,
                   int64_t count) {
  const AdderArguments a{x, y, sum, count};
  const bool isWide = count % 4 == 0;
  return start(env, code, isWide ? "add_four" : "add", isWide, 32, 0, a, (count + 31) / 32);
}

DeviceArtifact decoderOnDevice() {
  std::string manifest = withDevice(FAKE_MANIFEST);
  return make(manifest.replace(manifest.find("[1, 0]"), 6, "[1, 4]"), {"step", decoderStep, decoderWorkspace},
              decoderPtx, 4);
}

DeviceArtifact counterOnDevice() {
  const std::string memory = R"({"name": "weights", "kind": "weights"}, {"name": "workspace", "kind": "workspace"}, )";
  return make(plainManifest("counter",
                            R"("model": {"family": "counter", "task": "decoder", "vocab": 4, "positions": 256}, )"
                            R"("bounds": {"tokens": 64, "rows": 8, "positions": 256}, )",
                            R"("step", "dims": ["rows", "wanted", "slots"], "bounds": [[1, 8], [0, 64], [1, 1048576]])",
                            memory + tensorsOf({{"state", "cache", "f32", R"("slots", 16)"},
                                                {"tokens", "input", "i32", R"("rows")"},
                                                {"state_slot", "input", "i32", R"("rows")"},
                                                {"state_target", "input", "i32", R"("rows")"},
                                                {"row_begin", "input", "i32", R"("rows+1")"},
                                                {"want", "input", "i32", R"("wanted")"},
                                                {"logits", "output", "f32", R"("wanted", 4)"}})),
              {"step", counterStep, noWorkspace}, counterPtx, 4);
}

DeviceArtifact adderOnDevice() {
  return make(plainManifest("adder", "", R"("add", "dims": ["n"], "bounds": [[1, 16777216]])",
                            tensorsOf({{"x", "input", "f32", R"("n")"},
                                       {"y", "input", "f32", R"("n")"},
                                       {"sum", "output", "f32", R"("n")"}})),
              {"add", adderRun, noWorkspace}, adderPtx, 4);
}

rapt_status openTimed(DeviceArtifact &decoder, rapt_module **module, Message &message, uint32_t minor) {
  decoder.manifest.replace(decoder.manifest.find("[1, 4]"), 6, "[1, " + std::to_string(minor) + "]");
  decoder.table.abi_minor = minor;
  decoder.variantCode = {&decoder.code};
  return decoder.open(module, message);
}

rapt_module *deviceModule() {
  static DeviceArtifact artifact = decoderOnDevice();
  static rapt_module *module = openOnce(artifact);
  return module;
}

rapt_module *counterModule() {
  static DeviceArtifact artifact = counterOnDevice();
  static rapt_module *module = openOnce(artifact);
  return module;
}

} // namespace rapt::test
