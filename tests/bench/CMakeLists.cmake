# Figures, not facts: run tests/bench/bench_peers by hand on an idle machine.  As tests they only show that they work.
add_executable(bench_floor bench/bench_floor.cpp)
target_link_libraries(bench_floor PRIVATE brood_bench brood_test_support PkgConfig::hiredis simdjson::simdjson)

add_executable(bench_push bench/bench_push.cpp)
target_link_libraries(bench_push PRIVATE brood_bench brood_api brood_test_support PkgConfig::hiredis)
brood_test_once(bench_push COMMAND bench_push --turns 2 --turn-ms 1)

# The two that are compared with brood are built as it is.
target_compile_options(bench_floor PRIVATE -O2)
target_compile_options(bench_push PRIVATE -O2)

add_executable(bench_brood bench/bench_brood.cpp)
target_link_libraries(bench_brood PRIVATE brood_bench brood_test_support)
target_compile_definitions(bench_brood PRIVATE BROOD_BINARY_DIR="${PROJECT_BINARY_DIR}" BROOD_BENCH_JOBS="$<TARGET_FILE:brood_bench_jobs>")
add_dependencies(bench_brood brood brood_bench_jobs)

brood_test(bench/command LINK brood_test_support simdjson::simdjson)
add_dependencies(bench_command_test brood)
set_tests_properties(bench_command PROPERTIES PROCESSORS 2)

if(NOT BROOD_SANITIZE)
  add_test(NAME bench_page COMMAND ${PROJECT_SOURCE_DIR}/tests/bench/bench_page --quick --json --build ${PROJECT_BINARY_DIR})
  set_tests_properties(bench_page PROPERTIES LABELS bench TIMEOUT 1200)
endif()

# Without sanitizers, which make a worker a hundred times as large.
if(NOT BROOD_SANITIZE)
  add_test(NAME bench_quick COMMAND ${PROJECT_SOURCE_DIR}/tests/bench/bench_peers --quick --no-peers --build ${PROJECT_BINARY_DIR})
  set_tests_properties(bench_quick PROPERTIES LABELS bench TIMEOUT 1200 PROCESSORS 2)
endif()

# What crashes cost.
add_executable(bench_crashes bench/bench_crashes.cpp)
target_link_libraries(bench_crashes PRIVATE brood_bench brood_test_support)
target_compile_definitions(bench_crashes PRIVATE BROOD_BINARY_DIR="${PROJECT_BINARY_DIR}" BROOD_MENAGERIE_JOBS="$<TARGET_FILE:menagerie_jobs>")
add_dependencies(bench_crashes brood brood_examples menagerie_jobs)
brood_test_once(bench_crashes COMMAND bench_crashes --crashes 5 --storm 20 --good 60 --rounds 1 --json)

# What batches cost.
add_executable(bench_batches bench/bench_batches.cpp)
target_link_libraries(bench_batches PRIVATE brood_bench brood_api brood_test_support)
target_compile_definitions(bench_batches PRIVATE BROOD_BINARY_DIR="${PROJECT_BINARY_DIR}" BROOD_BENCH_JOBS="$<TARGET_FILE:brood_bench_jobs>")
target_compile_options(bench_batches PRIVATE -O2)
add_dependencies(bench_batches brood brood_bench_jobs)
brood_test_once(bench_batches COMMAND bench_batches --jobs 20000 --turns 1)
