//===- Request.h - Arguments of ptx-run --------------------------------------===//
#pragma once
#include "lib/Support/Npy.h"
#include "test/Simulator/PTX/Block.h"

namespace rapt::ptx {

/// Device memory with a name.
struct Buffer {
  std::string name, outputPath;
  NpyTensor tensor;
  bool isEmpty = false; ///< no byte of it is written before the kernel runs
  uint64_t address = 0;
};

/// The contents of the command line.
struct Request {
  std::string path, kernel;
  LaunchOptions options;
  std::vector<Buffer> buffers;
  std::vector<std::string> arguments; ///< of the kernel, as written
};

Expected<Request> parseRequest(int argc, char **argv);

/// The parameters of a kernel, from the buffers' addresses and the arguments.
Expected<std::vector<std::byte>> packArguments(const Kernel &kernel, const Request &request);

inline constexpr const char *usage =
    "usage: ptx-run FILE.ptx --kernel NAME [options]\n"
    "  --grid X,Y,Z  --threads X,Y,Z  --shared BYTES\n"
    "  --buffer NAME=FILE.npy         device memory that holds an array\n"
    "  --empty NAME=TYPE:4,8          device memory that nobody has written (f32, i32, u16, ...)\n"
    "  --output NAME=FILE.npy         writes a buffer after the kernel\n"
    "  --arg NAME | u32=N | u64=N | f32=X | map=NAME:box=64,128[:swizzle=128]\n"
    "                                 the kernel's next parameter; a map's dimensions are those of its buffer\n"
    "  --copies eager|lazy  --matmuls eager|lazy  --seed N  --limit INSTRUCTIONS\n"
    "Exit status: 0, or 1 if the kernel has faults, which are listed on standard error, or 2 for wrong arguments.\n";

} // namespace rapt::ptx
