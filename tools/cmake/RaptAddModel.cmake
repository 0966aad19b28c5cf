# rapt_add_model(TARGET MODEL [SHARED] [OPTIONS option...])
#
# Compiles MODEL (a Hugging Face directory, or a file that raptc reads) when it changes, and makes a library target of it
# that links Rapt's runtime:
#
#   find_package(Rapt REQUIRED COMPONENTS Runtime Compiler)
#   rapt_add_model(gpt2 ${CMAKE_CURRENT_SOURCE_DIR}/gpt2 OPTIONS --max-seq-len=512)
#   target_link_libraries(application PRIVATE gpt2)      # #include "gpt2.h"
#
# The library, its header and its weight file lie in the current binary directory. Linked into a program, a model looks
# for its weights beside the program. With SHARED the library is TARGET.so, to be opened with rapt_module_open; the
# target's property RAPT_MODEL_FILE has its path.
function(rapt_add_model target model)
  cmake_parse_arguments(A "SHARED" "" "OPTIONS" ${ARGN})
  get_filename_component(model ${model} ABSOLUTE)
  set(inputs ${model})
  if(IS_DIRECTORY ${model})
    file(GLOB inputs CONFIGURE_DEPENDS ${model}/*.json ${model}/*.safetensors ${model}/*.txt ${model}/*.jinja)
  endif()
  set(suffix .a)
  if(A_SHARED)
    set(suffix .so)
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR})
  set(file ${folder}/${target}${suffix})
  add_custom_command(OUTPUT ${file} ${folder}/${target}.h COMMAND Rapt::raptc ${model} -o ${file} ${A_OPTIONS}
    DEPENDS ${inputs} Rapt::raptc COMMENT "Compiling the model ${target}" VERBATIM)
  add_custom_target(${target}-compile DEPENDS ${file})
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}-compile)
  target_include_directories(${target} INTERFACE ${folder})
  if(NOT A_SHARED)
    target_link_libraries(${target} INTERFACE ${file})
  endif()
  target_link_libraries(${target} INTERFACE Rapt::Runtime)
  set_target_properties(${target} PROPERTIES RAPT_MODEL_FILE ${file})
endfunction()
