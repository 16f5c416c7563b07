# Figures, not facts: run tests/bench/bench_peers by hand on an idle machine.  As tests they only show that they work.
add_executable(bench_floor bench/bench_floor.cpp ${PROJECT_SOURCE_DIR}/supervisor/cli/bench_usage.cpp)
target_link_libraries(bench_floor PRIVATE brood_test_support PkgConfig::hiredis simdjson::simdjson)

add_executable(bench_brood bench/bench_brood.cpp ${PROJECT_SOURCE_DIR}/supervisor/cli/bench_usage.cpp
               ${PROJECT_SOURCE_DIR}/supervisor/cli/scoreboards.cpp)
target_link_libraries(bench_brood PRIVATE brood_test_support)
target_compile_definitions(bench_brood PRIVATE BROOD_BENCH_JOBS="$<TARGET_FILE:brood_bench_jobs>")
add_dependencies(bench_brood brood brood_bench_jobs)

brood_test(bench/command LINK brood_test_support simdjson::simdjson TIMEOUT 300)
add_dependencies(bench_command_test brood)
set_tests_properties(bench_command PROPERTIES PROCESSORS 2)

# Without sanitizers, which make a worker a hundred times as large.
if(NOT BROOD_SANITIZE)
  add_test(NAME bench_quick COMMAND ${PROJECT_SOURCE_DIR}/tests/bench/bench_peers --quick --no-peers --build ${PROJECT_BINARY_DIR})
  set_tests_properties(bench_quick PROPERTIES LABELS bench TIMEOUT 600 PROCESSORS 2)
endif()
