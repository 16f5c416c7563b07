# brood_add_job_library(name source...): makes lib<name>.so, a library for `brood run -r`.  It appears in the target's
# ordinary output directory; the target is an ordinary one, to be given further sources, options and libraries.
function(brood_add_job_library name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE brood::brood)
  target_compile_features(${name} PRIVATE cxx_std_20)
  # Stacks name every function: debug information, frame pointers, and calls that return through their caller.
  target_compile_options(${name} PRIVATE -g -fno-omit-frame-pointer -fno-optimize-sibling-calls)
  # Where brood is installed in a prefix of its own, an installed library finds libbrood there.
  set_target_properties(${name} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  # A library that never enqueues needs no libbrood at run time.  By its build id it is known which file a stack was in, and
  # whether a job's code has changed; not every compiler asks its linker for one.
  target_link_options(${name} PRIVATE LINKER:--as-needed LINKER:--build-id=sha1)
endfunction()
