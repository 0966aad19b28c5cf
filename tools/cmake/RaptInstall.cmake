# The installed files, in four components:
#   Runtime   librapt_runtime, <rapt/rapt.h>, what it includes, <rapt/rapt_device.h>, <rapt/rapt_profile.h>, <rapt/rapt_top.h>
#   Text      librapt_text, <rapt/rapt_text.h>, <rapt/rapt_chat.h>, <rapt/rapt_audio.h>, <rapt/rapt_image.h>, <rapt/rapt_rules.h>, <rapt/rapt_sample.h>, rapt-run and rapt-bench
#   Compiler  raptc and the tools around it, of which rapt-reference needs Runtime and Text; rapt_add_model() for CMake projects
#   Development   headers of the compiler and rapt_add_plugin(), for plugins of raptc and rapt-opt
# Everything finds the rest by its own place, so an installed tree can be moved. The build tree serves the same package.

set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "Folder of libraries below the prefix")
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Rapt)
file(RELATIVE_PATH lib_from_bin /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})

# rapt_install(COMPONENT target...): exported as Rapt::<name without the rapt_ in front, in CamelCase>.
function(rapt_install component)
  set(found)
  foreach(target ${ARGN})
    if(NOT TARGET ${target})
      continue()
    endif()
    list(APPEND found ${target})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}" INSTALL_RPATH_USE_LINK_PATH ON)
    else()
      set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
      target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    endif()
    string(REGEX REPLACE "^rapt_" "" name ${target})
    string(REGEX REPLACE "^runtime" "Runtime" name ${name})
    string(REGEX REPLACE "^text" "Text" name ${name})
    string(REGEX REPLACE "_static$" "Static" name ${name})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  endforeach()
  if(NOT found)
    return()
  endif()
  install(TARGETS ${found} EXPORT Rapt${component}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component})
  install(EXPORT Rapt${component} FILE Rapt${component}Targets.cmake NAMESPACE Rapt:: DESTINATION ${package}
    COMPONENT ${component})
  export(EXPORT Rapt${component} FILE ${PROJECT_BINARY_DIR}/lib/cmake/Rapt/Rapt${component}Targets.cmake NAMESPACE Rapt::)
endfunction()

rapt_install(Runtime rapt_runtime rapt_runtime_static)
rapt_install(Text rapt_text rapt_text_static rapt-run rapt-bench)
rapt_install(Compiler raptc rapt-opt rapt-reference rapt-lsp-server rapt-reduce)

# Headers: each component's own.
set(headers ${PROJECT_SOURCE_DIR}/lib/Runtime/include/rapt)
install(DIRECTORY ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT Runtime
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "rapt_text.*" EXCLUDE PATTERN "rapt_chat.h" EXCLUDE PATTERN "rapt_audio.h" EXCLUDE PATTERN "rapt_image.h" EXCLUDE
  PATTERN "rapt_rules.h" EXCLUDE PATTERN "rapt_sample.h" EXCLUDE)
file(GLOB text_headers CONFIGURE_DEPENDS ${headers}/rapt_text.h* ${headers}/rapt_chat.h ${headers}/rapt_audio.h ${headers}/rapt_image.h ${headers}/rapt_rules.h
  ${headers}/rapt_sample.h ${PROJECT_SOURCE_DIR}/lib/Generation/include/rapt/*.h)
install(FILES ${text_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rapt COMPONENT Text)

# The CMake package. Its version follows the C ABI: same major version is compatible.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lib/cmake/Rapt/RaptConfigVersion.cmake COMPATIBILITY SameMajorVersion)
configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/RaptConfig.cmake.in ${PROJECT_BINARY_DIR}/lib/cmake/Rapt/RaptConfig.cmake @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/RaptAddModel.cmake ${PROJECT_BINARY_DIR}/lib/cmake/Rapt/RaptAddModel.cmake COPYONLY)
install(FILES ${PROJECT_BINARY_DIR}/lib/cmake/Rapt/RaptConfig.cmake ${PROJECT_BINARY_DIR}/lib/cmake/Rapt/RaptConfigVersion.cmake
  DESTINATION ${package} COMPONENT Runtime)
install(FILES tools/cmake/RaptAddModel.cmake DESTINATION ${package} COMPONENT Compiler)

# Headers of the compiler, which plugins include by their paths in the repository; in the build tree they lie in two.
if(RAPT_BUILD_COMPILER)
  set(compiler_headers ${CMAKE_INSTALL_INCLUDEDIR}/rapt-compiler)
  foreach(tree ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
    foreach(folder dialect lib/Analysis lib/Artifact lib/Support lib/TargetInfo lib/Transforms)
      if(EXISTS ${tree}/${folder})
        get_filename_component(parent ${compiler_headers}/${folder} DIRECTORY)
        install(DIRECTORY ${tree}/${folder} DESTINATION ${parent} COMPONENT Development
          FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.def" PATTERN "*.h.inc" PATTERN CMakeFiles EXCLUDE)
      endif()
    endforeach()
  endforeach()
  file(RELATIVE_PATH headers_from_package /${package} /${compiler_headers})
  set(cmake_build ${PROJECT_BINARY_DIR}/lib/cmake/Rapt)
  set(cmake_install ${PROJECT_BINARY_DIR}/install/cmake)
  set(RAPT_PLUGIN_HEADERS "${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}")
  configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/RaptAddPlugin.cmake.in ${cmake_build}/RaptAddPlugin.cmake @ONLY)
  set(RAPT_PLUGIN_HEADERS "\${CMAKE_CURRENT_LIST_DIR}/${headers_from_package}")
  configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/RaptAddPlugin.cmake.in ${cmake_install}/RaptAddPlugin.cmake @ONLY)
  configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/RaptPluginBuild.c.in ${cmake_build}/RaptPluginBuild.c @ONLY)
  install(FILES ${cmake_install}/RaptAddPlugin.cmake ${cmake_build}/RaptPluginBuild.c DESTINATION ${package}
    COMPONENT Development)
endif()

# pkg-config: in the installed tree relative to the .pc file, in the build tree to the sources.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
function(rapt_pkg_config component name description requires)
  if(NOT TARGET rapt_${name})
    return()
  endif()
  foreach(tree install build)
    set(PREFIX "\${pcfiledir}/${prefix_from_pc}")
    set(INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
    set(LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(folder ${PROJECT_BINARY_DIR}/install/pkgconfig)
    if(tree STREQUAL build)
      set(PREFIX ${PROJECT_BINARY_DIR})
      set(INCLUDEDIR ${PROJECT_SOURCE_DIR}/lib/Runtime/include)
      set(LIBDIR ${PROJECT_BINARY_DIR}/lib)
      set(folder ${PROJECT_BINARY_DIR}/lib/pkgconfig)
    endif()
    set(NAME ${name})
    set(DESCRIPTION ${description})
    set(REQUIRES ${requires})
    configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/rapt.pc.in ${folder}/rapt-${name}.pc @ONLY)
  endforeach()
  install(FILES ${PROJECT_BINARY_DIR}/install/pkgconfig/rapt-${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT ${component})
endfunction()
rapt_pkg_config(Runtime runtime "Runs models compiled by raptc" "")
rapt_pkg_config(Text text "Tokenizers, sampling, images and sound for models compiled by raptc" "rapt-runtime = ${PROJECT_VERSION}")

# Who uses any part gets the license and the notices of what is linked in.
install(FILES LICENSE THIRD-PARTY-NOTICES.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT Runtime)
