# Job libraries for job_registry_test, perform_test and iteration_test, good ones and one for each way to be bad.
set(job_libraries)
foreach(library perform_jobs iterable_jobs setup_throws same_name wrapped_jobs)
  brood_test_job_library(${library} ${CMAKE_CURRENT_LIST_DIR}/${library}.cpp)
  list(APPEND job_libraries ${library})
endforeach()
# Middleware for the jobs of all libraries, twice.
foreach(name IN ITEMS all too)
  set(library for_all)
  if(name STREQUAL too)
    set(library for_all_too)
  endif()
  brood_test_job_library(${library} ${CMAKE_CURRENT_LIST_DIR}/for_all.cpp)
  target_compile_definitions(${library} PRIVATE NAME=${name})
  list(APPEND job_libraries ${library})
endforeach()
add_library(no_symbol MODULE ${CMAKE_CURRENT_LIST_DIR}/no_symbol.cpp)
list(APPEND job_libraries no_symbol)
foreach(wrong nothing foreign_abi small_library null_library no_jobs null_jobs null_job small_job empty_name
              unsafe_name long_name null_name null_perform same_name_twice wrong_result null_texts exception_out
              untouched_result static_throw duplicate lost_function unknown_registration countless_jobs endless_name garbage wild_pointer)
  add_library(bad_${wrong} MODULE ${CMAKE_CURRENT_LIST_DIR}/bad_library.cpp)
  target_compile_definitions(bad_${wrong} PRIVATE BAD=${wrong})
  target_link_libraries(bad_${wrong} PRIVATE brood::brood)
  target_link_options(bad_${wrong} PRIVATE LINKER:--as-needed)
  list(APPEND job_libraries bad_${wrong})
endforeach()
set_target_properties(${job_libraries} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)

# A library with debug information, and the same without, its debug information in a file of its own.
add_library(stack_site MODULE ${CMAKE_CURRENT_LIST_DIR}/stack_site.cpp)
target_compile_features(stack_site PRIVATE cxx_std_20)
target_compile_options(stack_site PRIVATE -g -O2)
target_link_options(stack_site PRIVATE LINKER:--build-id=sha1)
set_target_properties(stack_site PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
add_custom_command(TARGET stack_site POST_BUILD VERBATIM
                   COMMAND ${CMAKE_OBJCOPY} --only-keep-debug $<TARGET_FILE:stack_site> $<TARGET_FILE:stack_site>.debug
                   COMMAND ${CMAKE_OBJCOPY} --strip-all $<TARGET_FILE:stack_site> $<TARGET_FILE:stack_site>.stripped)

# The same, laid out in memory by each available linker, with gaps between the segments: each begins at its own 64 KB,
# as on a machine with such pages.  With GNU ld also with code and constants in one segment, and as a file that was
# linked for a fixed address.
set(layouts)
function(brood_test_layout name linker)
  find_program(BROOD_TEST_LD_${linker} ld.${linker})
  if(BROOD_TEST_LD_${linker})
    add_library(layout_${name} MODULE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/stack_site.cpp)
    target_compile_features(layout_${name} PRIVATE cxx_std_20)
    target_compile_options(layout_${name} PRIVATE -g -O2)
    target_link_options(layout_${name} PRIVATE -fuse-ld=${linker} LINKER:--build-id=sha1 LINKER:-z,max-page-size=0x10000 ${ARGN})
    set_target_properties(layout_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
    set(layouts ${layouts} layout_${name} PARENT_SCOPE)
  endif()
endfunction()
brood_test_layout(bfd bfd)
brood_test_layout(bfd_together bfd LINKER:-z,noseparate-code)
brood_test_layout(bfd_at_address bfd LINKER:-Ttext-segment=0x400000)
brood_test_layout(mold mold)
brood_test_layout(lld lld)
