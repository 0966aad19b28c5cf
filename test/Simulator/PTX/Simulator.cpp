//===- Simulator.cpp - Runs PTX kernels without a GPU ------------------------===//
#include "test/Simulator/PTX/Simulator.h"
#include "test/Simulator/PTX/Parser.h"
#include <algorithm>
#include <numeric>
using namespace rapt;
using namespace rapt::ptx;

namespace {

/// Limits of sm_80 to sm_90: threads of a block, and its shared memory with what the machine keeps.
constexpr uint64_t mostThreads = 1024, mostSharedBytes = 227 * 1024;

std::string triple(const std::array<uint32_t, 3> &values) {
  return "(" + std::to_string(values[0]) + ", " + std::to_string(values[1]) + ", " + std::to_string(values[2]) + ")";
}

uint64_t volume(const std::array<uint32_t, 3> &extents) { return uint64_t(extents[0]) * extents[1] * extents[2]; }

Status check(const Kernel &kernel, const LaunchOptions &options) {
  uint64_t threads = volume(options.threads);
  if (threads == 0 || threads > mostThreads)
    return Error{"a block of " + triple(options.threads) + " threads; from 1 to 1024 are allowed"};
  if (volume(options.grid) == 0 || volume(options.grid) > 1u << 24)
    return Error{"a grid of " + triple(options.grid) + " blocks; from 1 to 2^24 are simulated"};
  if (kernel.requiredThreads[0] && kernel.requiredThreads != options.threads)
    return Error{"a block of " + triple(options.threads) + " threads, but kernel '" + kernel.name + "' requires " +
                 triple(kernel.requiredThreads)};
  if (kernel.mostThreads[0] && threads > volume(kernel.mostThreads))
    return Error{"a block of " + triple(options.threads) + " threads, but kernel '" + kernel.name + "' allows " +
                 triple(kernel.mostThreads)};
  if (uint64_t(kernel.sharedBytes) + options.dynamicSharedBytes > mostSharedBytes)
    return Error{"kernel '" + kernel.name + "' needs " +
                 std::to_string(kernel.sharedBytes + options.dynamicSharedBytes) +
                 " bytes of shared memory; there are " + std::to_string(mostSharedBytes)};
  if (options.parameters.size() != kernel.parameterBytes)
    return Error{"kernel '" + kernel.name + "' takes " + std::to_string(kernel.parameterBytes) +
                 " bytes of parameters, not " + std::to_string(options.parameters.size())};
  return {};
}

} // namespace

Expected<std::unique_ptr<LoadedModule>> Simulator::load(std::string_view ptx) {
  RAPT_ASSIGN_OR_RETURN(Module module, parse(ptx));
  auto loaded = std::make_unique<LoadedModule>();
  loaded->module = std::move(module);
  for (const Variable &variable : loaded->module.variables) {
    bool isInMemory = variable.space == Space::Global || variable.space == Space::Const;
    loaded->variableAddresses.push_back(isInMemory ? memory.allocate(variable.size) : 0);
    std::vector<std::byte> contents = variable.contents;
    contents.resize(variable.size);
    if (isInMemory && !memory.write(loaded->variableAddresses.back(), contents))
      return Error{"variable '" + variable.name + "' has no memory"};
  }
  return loaded;
}

Status Simulator::launch(const LoadedModule &module, std::string_view name, const LaunchOptions &options,
                         Findings &findings) {
  const Kernel *kernel = module.module.find(name);
  if (!kernel)
    return Error{"no kernel '" + std::string(name) + "' in the module"};
  RAPT_RETURN_IF_ERROR(check(*kernel, options));
  log.beginLaunch();
  Launch launch{*kernel, options, module.variableAddresses, memory, log, findings, std::mt19937_64(options.seed),
                0,       {}};
  std::vector<uint32_t> order(volume(options.grid));
  std::iota(order.begin(), order.end(), 0);
  if (options.seed)
    std::ranges::shuffle(order, launch.random);
  for (uint32_t number : order) {
    Block block(launch, number);
    if (!block.run())
      break;
  }
  return {};
}
