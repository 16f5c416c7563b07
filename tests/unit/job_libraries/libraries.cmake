# Job libraries for job_registry_test and perform_test, good ones and one for each way to be bad.
include(${PROJECT_SOURCE_DIR}/packaging/cmake/BroodJobLibrary.cmake)
set(job_libraries)
foreach(library perform_jobs setup_throws same_name)
  brood_add_job_library(${library} ${CMAKE_CURRENT_LIST_DIR}/${library}.cpp)
  list(APPEND job_libraries ${library})
endforeach()
add_library(no_symbol MODULE ${CMAKE_CURRENT_LIST_DIR}/no_symbol.cpp)
list(APPEND job_libraries no_symbol)
foreach(wrong nothing foreign_abi small_library null_library no_jobs null_jobs null_function null_job small_job empty_name
              unsafe_name long_name null_name null_perform same_name_twice wrong_result null_texts exception_out
              untouched_result static_throw duplicate)
  add_library(bad_${wrong} MODULE ${CMAKE_CURRENT_LIST_DIR}/bad_library.cpp)
  target_compile_definitions(bad_${wrong} PRIVATE BAD=${wrong})
  target_link_libraries(bad_${wrong} PRIVATE brood::brood)
  target_link_options(bad_${wrong} PRIVATE LINKER:--as-needed)
  list(APPEND job_libraries bad_${wrong})
endforeach()
set_target_properties(${job_libraries} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
