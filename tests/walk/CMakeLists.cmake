# One random walk over the whole program, with every feature on.
foreach(library IN ITEMS walk_jobs walk_jobs_bad)
  brood_test_job_library(${library} ${CMAKE_CURRENT_LIST_DIR}/walk_jobs.cpp)
  target_include_directories(${library} PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(${library} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
endforeach()
target_compile_definitions(walk_jobs_bad PRIVATE WALK_BAD)

add_executable(brood_walk)
foreach(source IN ITEMS batch_book batch_pusher commands drawn_config job_book pusher scene site walk walk_main)
  target_sources(brood_walk PRIVATE ${CMAKE_CURRENT_LIST_DIR}/${source}.cpp)
endforeach()
target_compile_definitions(brood_walk PRIVATE BROOD_BINARY_DIR="${PROJECT_BINARY_DIR}")
target_link_libraries(brood_walk PRIVATE brood_test_support brood_api brood_test_flags)
add_dependencies(brood_walk brood walk_jobs walk_jobs_bad)

# About a minute: a few known walks, and a new one.
if(NOT BROOD_SANITIZE)
  add_test(NAME lifecycle_walk COMMAND brood_walk --seed 1 --seeds 3)
  add_test(NAME lifecycle_walk_anew COMMAND brood_walk)
  set_tests_properties(lifecycle_walk lifecycle_walk_anew PROPERTIES TIMEOUT 1200)
endif()
