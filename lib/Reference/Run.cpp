//===- Run.cpp - Entries on named .npy tensors ----------------------------------===//
#include "lib/Reference/Run.h"
#include "dialect/Attn/Entries.h"
#include "lib/Reference/Arguments.h"
#include "lib/Support/EntryRoles.h"
#include "lib/Support/Spelling.h"

using namespace mlir;
namespace rapt::reference {

namespace {

/// An error without a location.
InFlightDiagnostic fail(Operation *op) { return emitError(UnknownLoc::get(op->getContext())); }

template <typename S>
FailureOr<Value<S>> argumentOf(func::FuncOp entry, unsigned i, StringRef name, const NamedTensors &inputs,
                               int64_t cacheBlocks) {
  Type type = entry.getArgumentTypes()[i];
  if (auto cache = dyn_cast<attn::KVCacheType>(type)) {
    Expected<Value<S>> made = makeCache<S>(cache, cacheBlocks);
    if (!made)
      return fail(entry) << made.error().message;
    return *made;
  }
  auto given = inputs.find(name);
  if (given == inputs.end())
    return fail(entry) << "'" << entry.getSymName() << "' needs an input '" << name << "' of type " << type;
  Expected<Value<S>> value = fromNpy<S>(name, given->second, type);
  if (!value)
    return fail(entry) << value.error().message;
  return *value;
}

std::string nameOr(StringAttr given, const char *otherwise, unsigned i) {
  return given ? given.str() : otherwise + std::to_string(i);
}

SmallVector<std::string> argumentNamesOf(func::FuncOp entry) {
  SmallVector<std::string> names;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    names.push_back(nameOr(entry.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr), "arg", i));
  return names;
}

SmallVector<std::string> resultNamesOf(func::FuncOp entry) {
  SmallVector<std::string> names;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    names.push_back(nameOr(entry.getResultAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr), "result", i));
  return names;
}

/// Each of `given` is one of `known`; `what` is "input" or "output".
LogicalResult checkNames(func::FuncOp entry, ArrayRef<std::string> given, ArrayRef<std::string> known, StringRef what) {
  for (const std::string &name : given)
    if (!llvm::is_contained(known, name))
      return fail(entry) << "'" << entry.getSymName() << "' has no " << what << " '" << name << "'; it has "
                         << llvm::join(known, ", ")
                         << didYouMean(findNearest(name, std::vector<std::string_view>(known.begin(), known.end())));
  return success();
}

} // namespace

template <typename S>
FailureOr<NamedTensors> runEntry(ModuleOp module, func::FuncOp entry, ParameterReader &parameters,
                                 const NamedTensors &inputs, ArrayRef<std::string> wanted, int64_t cacheBlocks) {
  const SmallVector<std::string> names = argumentNamesOf(entry), results = resultNamesOf(entry);
  SmallVector<std::string> given;
  for (auto &[name, tensor] : inputs)
    given.push_back(name);
  if (failed(checkNames(entry, given, names, "input")) || failed(checkNames(entry, wanted, results, "output")))
    return failure();
  SmallVector<Value<S>> arguments;
  for (auto [i, name] : llvm::enumerate(names)) {
    FailureOr<Value<S>> argument = argumentOf<S>(entry, unsigned(i), name, inputs, cacheBlocks);
    if (failed(argument))
      return failure();
    arguments.push_back(std::move(*argument));
  }
  FailureOr<SmallVector<Value<S>>> values = Evaluator<S>(module, parameters).runEntry(entry, arguments);
  if (failed(values))
    return failure();
  NamedTensors outputs;
  for (auto [i, name] : llvm::enumerate(results)) {
    if (!llvm::is_contained(wanted, name))
      continue;
    Expected<NpyTensor> tensor = toNpy<S>(name, (*values)[i], entry.getResultTypes()[i]);
    if (!tensor)
      return FailureOr<NamedTensors>(fail(entry) << tensor.error().message);
    outputs[name] = std::move(*tensor);
  }
  return outputs;
}

/// The function of that name, or the module's first entry; tells when there is none.
static func::FuncOp findEntry(ModuleOp module, StringRef name) {
  if (!name.empty()) {
    auto named = module.lookupSymbol<func::FuncOp>(name);
    if (named)
      return named;
    std::vector<std::string_view> known;
    for (auto function : module.getOps<func::FuncOp>())
      known.emplace_back(function.getSymName());
    fail(module) << "there is no function '" << name << "'" << didYouMean(findNearest(std::string_view(name), known));
    return nullptr;
  }
  const SmallVector<FunctionOpInterface> entries = attn::entriesOf(module);
  if (entries.size() == 1 || (!entries.empty() && entries.front()->hasAttr(attn::AttnDialect::entryAttr)))
    return cast<func::FuncOp>(entries.front());
  std::string names;
  for (FunctionOpInterface entry : entries)
    names += (names.empty() ? "" : ", ") + entry.getName().str();
  fail(module) << (names.empty() ? "there is no entry: name a function with --entry"
                                 : "there are several kernels: name one with --entry: " + names);
  return nullptr;
}

/// The name of a result as --output gives it: that of a kernel's result without a name is told by its header.
static std::string resultNamed(ModuleOp module, func::FuncOp entry, const std::string &name) {
  for (unsigned i = 0, count = entry.getNumResults(); i < count && attn::isKernelModule(module); ++i)
    if (!entry.getResultAttr(i, attn::AttnDialect::nameAttr) && name == (count > 1 ? "out" + std::to_string(i) : "out"))
      return "result" + std::to_string(i);
  return name;
}

/// Whether an entry has arguments that the runtime makes of batches: packed rows, caches and states, ones that a caller
/// may leave out. Another one takes arrays as they are.
static bool isOnBatches(func::FuncOp entry) {
  return llvm::any_of(entry.getArguments(), [&](BlockArgument argument) {
    const unsigned i = argument.getArgNumber();
    auto name = entry.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr);
    return entry.getArgAttr(i, attn::AttnDialect::optionalAttr) ||
           (name && (name == nameOf(EntryRole::RowBegin) || findKept(name.getValue())));
  });
}

bool isOfRuntime(ModuleOp module, const Request &request) {
  if (!module->hasAttr(attn::AttnDialect::modelAttr))
    return false;
  for (const auto &[name, file] : request.inputs)
    if (name == nameOf(EntryRole::RowBegin))
      return false;
  const SmallVector<FunctionOpInterface> entries = attn::entriesOf(module);
  auto named = request.entry.empty() && !entries.empty()
                   ? cast<func::FuncOp>(entries.front())
                   : module.lookupSymbol<func::FuncOp>(request.entry.empty() ? forwardEntry : request.entry);
  if (!named)
    return request.entry.empty() || request.entry == forwardEntry;
  return named->hasAttr(attn::AttnDialect::entryAttr) && isOnBatches(named);
}

LogicalResult runFiles(ModuleOp module, ParameterReader &parameters, const Request &given) {
  func::FuncOp entry = findEntry(module, given.entry);
  if (!entry)
    return failure();
  Request request = given;
  for (auto &[name, file] : request.outputs)
    name = resultNamed(module, entry, name);
  NamedTensors inputs;
  for (auto &[name, file] : request.inputs) {
    Expected<NpyTensor> tensor = readNpy(file);
    if (!tensor)
      return fail(module) << tensor.error().message;
    inputs[name] = std::move(*tensor);
  }
  SmallVector<std::string> wanted;
  for (auto &[name, file] : request.outputs)
    wanted.push_back(name);
  auto run = request.inF64 ? runEntry<double> : runEntry<float>;
  FailureOr<NamedTensors> results = run(module, entry, parameters, inputs, wanted, request.cacheBlocks);
  if (failed(results))
    return failure();
  for (auto &[name, file] : request.outputs) {
    const NpyTensor &result = (*results)[name];
    if (Status status = writeNpy(file, result.type, result.shape, result.data); !status)
      return fail(module) << status.error().message;
  }
  return success();
}

#define INSTANTIATE(S)                                                                                                 \
  template FailureOr<NamedTensors> runEntry<S>(ModuleOp, func::FuncOp, ParameterReader &, const NamedTensors &,        \
                                               ArrayRef<std::string>, int64_t);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
