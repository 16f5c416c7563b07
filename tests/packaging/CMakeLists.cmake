# The installed service and packages, on machines of their own.
brood_test_job_library(shell_jobs ${CMAKE_CURRENT_LIST_DIR}/shell_jobs.cpp)
set_target_properties(shell_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)

# A program of sanitizers has other needs than the one that is installed.
if(NOT BROOD_SANITIZE)
  foreach(test IN ITEMS systemd deb rpm container first_process)
    add_test(NAME packaging_${test} COMMAND ${CMAKE_CURRENT_LIST_DIR}/${test}_test.py ${PROJECT_BINARY_DIR})
    set_tests_properties(packaging_${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800)
  endforeach()
endif()
