//===- AttnGPUInterfaces.td - Interfaces of ops ------------------------*- tablegen -*-===//
#ifndef RAPT_ATTNGPU_INTERFACES_TD
#define RAPT_ATTNGPU_INTERFACES_TD

include "mlir/IR/Interfaces.td"

def AttnGPU_BlockTask : OpInterface<"BlockTask"> {
  let cppNamespace = "::rapt::attn_gpu";
  let description = [{
    An op that all threads of a block execute together. A kernel of such ops has one block for each of its iterations, or at most so many blocks as the op says.
  }];
  let methods = [
    InterfaceMethod<"The threads that execute it.", "int64_t", "getThreads">,
    InterfaceMethod<"The bytes of shared memory that it needs, from byte 0 on.", "int64_t", "getSharedBytes">,
    InterfaceMethod<"The most blocks of a kernel that has it alone; 0: as many as iterations.", "int64_t", "getMostBlocks", (ins), "", "return 0;">
  ];
}

#endif
