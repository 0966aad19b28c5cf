//===- FakeDevice.h - Artifacts of code for GPUs ---------------------------------===//
//
// Three models whose kernels are PTX by hand: the decoder of fake_artifact.c, so that the
// same answers are right, a recurrent one, and one entry on tensors.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "FakeModel.h"

namespace rapt::test {

/// A copy of an artifact's table, which a test may damage before it opens it. It outlives the module. The entries start
/// the kernels of the model's last opened artifact.
struct DeviceArtifact {
  ~DeviceArtifact();
  std::string manifest;
  std::vector<rapt_artifact_entry> entries;
  std::vector<rapt_device_image> images;
  rapt_device_code code{};
  std::vector<const rapt_device_code *> variantCode; ///< of a table of ABI 1.5
  rapt_artifact table{};

  rapt_status open(rapt_module **module, Message &message, rapt_module_options options = {});

private:
  const rapt_device_code **started = nullptr, *startedBefore = nullptr;
};

DeviceArtifact decoderOnDevice();
/// x = 2 x + token for a sequence; the logits of vocabulary `counterVocabulary` are x, x + 1, ...
DeviceArtifact counterOnDevice();
inline constexpr int counterVocabulary = 4;
/// Entry "add": sum = x + y, all f32 [n].
DeviceArtifact adderOnDevice();

/// Entry "add" as a bare kernel: starts a kernel of `code`, that of adderOnDevice().
int32_t startAdder(const rapt_env *env, const rapt_device_code *code, const float *x, const float *y, float *sum,
                   int64_t count);

/// Opens decoderOnDevice() with ABI 1.7, since which launches tell their dispatches, or a newer one.
rapt_status openTimed(DeviceArtifact &decoder, rapt_module **module, Message &message, uint32_t minor = 7);

/// The undamaged decoder and counter, opened once.
rapt_module *deviceModule();
rapt_module *counterModule();

/// Faults of the entries, and what they do beside their work. Reset by the test that sets it.
struct DeviceFaults {
  bool readsBeyondMemory = false;
  bool startsForeignKernel = false;
  bool startsMissingKernel = false;
  bool returnsFive = false;
  bool overlaps = false;              ///< kernels say that they wait for the one in front of them, which they do not
  int repeats = 0;                    ///< times that the decoder starts its first kernel once more
  void (*atLaunch)(void *) = nullptr; ///< called between the kernels of the decoder
  void *user = nullptr;
};
extern thread_local DeviceFaults deviceFaults;

} // namespace rapt::test
