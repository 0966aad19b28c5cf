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
cmake_policy(VERSION 3.25) # of this file alone, whatever the project's is
function(rapt_add_model target model)
  cmake_parse_arguments(PARSE_ARGV 2 A "SHARED" "" "OPTIONS")
  set(call "rapt_add_model(${target})")
  if(A_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${call}: unknown argument '${A_UNPARSED_ARGUMENTS}'; expected SHARED, or OPTIONS with options of raptc")
  endif()
  if("OPTIONS" IN_LIST A_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "${call}: OPTIONS names no option of raptc")
  endif()
  foreach(option ${A_OPTIONS})
    if(option MATCHES "^(-o|--?output|--?emit|-S|-c|--?prefix)(=.*|$)")
      message(FATAL_ERROR "${call}: OPTIONS has ${option}, which the function itself decides; SHARED asks for a library that is opened")
    endif()
  endforeach()
  if(TARGET ${target})
    message(FATAL_ERROR "${call}: there is a target of this name already")
  endif()
  get_filename_component(model ${model} ABSOLUTE)
  if(NOT EXISTS ${model})
    message(FATAL_ERROR "${call}: there is no model ${model}")
  endif()
  set(inputs ${model})
  if(IS_DIRECTORY ${model})
    if(NOT EXISTS ${model}/config.json)
      message(FATAL_ERROR "${call}: the folder ${model} has no config.json, which a model's directory has")
    endif()
    file(GLOB inputs CONFIGURE_DEPENDS ${model}/*.json ${model}/*.safetensors ${model}/*.txt ${model}/*.jinja ${model}/*.model
      ${model}/*.spm ${model}/*/*.json ${model}/*/*.safetensors)
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
