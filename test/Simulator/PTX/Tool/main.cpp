//===- main.cpp - Runs a kernel of a PTX file on arrays ----------------------===//
#include "lib/Support/File.h"
#include "test/Simulator/PTX/Simulator.h"
#include "test/Simulator/PTX/Tool/Request.h"
#include <cstdio>
using namespace rapt;
using namespace rapt::ptx;

namespace {

Status writeOutputs(Simulator &simulator, Request &request) {
  for (Buffer &buffer : request.buffers) {
    if (buffer.outputPath.empty())
      continue;
    if (!simulator.global().read(buffer.address, buffer.tensor.data))
      return Error{"buffer '" + buffer.name + "' cannot be read"};
    RAPT_RETURN_IF_ERROR(writeNpy(buffer.outputPath, buffer.tensor.type, buffer.tensor.shape, buffer.tensor.data));
  }
  return {};
}

Status run(Request &request, Findings &findings) {
  RAPT_ASSIGN_OR_RETURN(std::string text, readFile(request.path, 64 << 20));
  Simulator simulator;
  Expected<std::unique_ptr<LoadedModule>> module = simulator.load(text);
  if (!module)
    return Error{request.path + ": " + module.error().message};
  const Kernel *kernel = (*module)->module.find(request.kernel);
  if (!kernel)
    return Error{request.path + ": no kernel '" + request.kernel + "'"};
  for (Buffer &buffer : request.buffers) {
    buffer.address = simulator.global().allocate(buffer.tensor.data.size());
    if (!buffer.isEmpty && !simulator.global().write(buffer.address, buffer.tensor.data))
      return Error{"buffer '" + buffer.name + "' has no memory"};
  }
  RAPT_ASSIGN_OR_RETURN(request.options.parameters, packArguments(*kernel, request));
  RAPT_RETURN_IF_ERROR(simulator.launch(**module, request.kernel, request.options, findings));
  return writeOutputs(simulator, request);
}

} // namespace

int main(int argc, char **argv) {
  Expected<Request> request = parseRequest(argc, argv);
  if (!request) {
    fprintf(stderr, "ptx-run: error: %s\n%s", request.error().message.c_str(), usage);
    return 2;
  }
  Findings findings;
  Status status = run(*request, findings);
  for (const Finding &finding : findings.all())
    fprintf(stderr, "%s: %s%s\n", std::string(nameOf(finding.kind)).c_str(), finding.text.c_str(),
            finding.count == 1 ? "" : (" (" + std::to_string(finding.count) + " times)").c_str());
  if (!status)
    fprintf(stderr, "ptx-run: error: %s\n", status.error().message.c_str());
  return !status || !findings.empty();
}
