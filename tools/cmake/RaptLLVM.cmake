# LLVM and MLIR, whose archives are linked: with the shared libraries a process took 39 ms until main, nine tenths of them
# for relocations, with the archives 5 ms, and the tests start more than two thousand.
#
#   RaptMLIR    what our code includes of MLIR, and LLVM with the targets that raptc knows

find_package(MLIR REQUIRED CONFIG PATHS /usr/lib/llvm-${RAPT_LLVM_VERSION})
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# Debian's archives name these libraries, but its packages bring the libraries without what links them.
function(rapt_import_library target file)
  if(NOT TARGET ${target})
    find_library(${target}_FILE NAMES ${file} REQUIRED)
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${target}_FILE})
  endif()
endfunction()
rapt_import_library(zstd::libzstd_shared libzstd.so.1)

add_library(RaptLLVM INTERFACE)
llvm_map_components_to_libnames(components AArch64 NVPTX Passes SupportLSP X86)
target_link_libraries(RaptLLVM INTERFACE ${components})

# Debian's archives of MLIR depend on the shared library of LLVM.
get_directory_property(archives IMPORTED_TARGETS)
foreach(archive ${archives})
  get_target_property(links ${archive} INTERFACE_LINK_LIBRARIES)
  if(archive MATCHES "^MLIR" AND "LLVM" IN_LIST links)
    list(TRANSFORM links REPLACE "^LLVM$" RaptLLVM)
    set_target_properties(${archive} PROPERTIES INTERFACE_LINK_LIBRARIES "${links}")
  endif()
endforeach()

add_library(RaptMLIR INTERFACE)
target_link_libraries(RaptMLIR INTERFACE
  MLIRAMXDialect MLIRAMXTransforms MLIRAffineToStandard MLIRArithToLLVM MLIRArithTransforms
  MLIRArithValueBoundsOpInterfaceImpl MLIRBufferizationTransforms MLIRBuiltinToLLVMIRTranslation
  MLIRControlFlowToLLVM MLIRFuncInlinerExtension MLIRFuncToLLVM MLIRGPUToLLVMIRTranslation MLIRGPUTransforms MLIRIndexToLLVM MLIRLLVMToLLVMIRTranslation
  MLIRLinalgTransformOps MLIRLinalgTransforms MLIRMathToLLVM MLIRMemRefToLLVM MLIRMemRefTransforms MLIRNVVMTarget MLIRNVVMToLLVMIRTranslation MLIRParser
  MLIRReconcileUnrealizedCasts MLIRSCFToControlFlow MLIRSCFTransforms MLIRTargetLLVMIRExport MLIRTensorInferTypeOpInterfaceImpl MLIRTensorTransforms
  MLIRTransformDialectTransforms MLIRTransforms MLIRUBToLLVM MLIRVectorToLLVMPass MLIRVectorToSCF MLIRVectorTransforms
  RaptLLVM)
# rapt_export_symbols(TOOL): plugins find the symbols of MLIR, of our dialect and of LLVM's basic libraries in the tool.
# With those of LLVM's code generators as well, raptc would be 16 MB larger and start 0.5 ms later.
set(kept LLVMBinaryFormat LLVMBitstreamReader LLVMCore LLVMDemangle LLVMRemarks LLVMSupport LLVMTargetParser)
set(RAPT_HIDDEN_ARCHIVES ${LLVM_AVAILABLE_LIBS})
list(FILTER RAPT_HIDDEN_ARCHIVES INCLUDE REGEX "^LLVM")
list(REMOVE_ITEM RAPT_HIDDEN_ARCHIVES ${kept})
list(TRANSFORM RAPT_HIDDEN_ARCHIVES REPLACE "(.+)" "lib\\1.a")
list(JOIN RAPT_HIDDEN_ARCHIVES ":" RAPT_HIDDEN_ARCHIVES)
function(rapt_export_symbols tool)
  target_link_options(${tool} PRIVATE -Wl,--export-dynamic -Wl,--exclude-libs,${RAPT_HIDDEN_ARCHIVES})
endfunction()

target_link_options(RaptMLIR INTERFACE -Wl,--as-needed,--gc-sections)
