# Figures, not facts: run them by hand on an idle machine.  As tests they only show that they still work.
brood_add_job_library(brood_bench_jobs bench/bench_jobs.cpp)

foreach(bench IN ITEMS throughput latency)
  add_executable(bench_${bench} bench/bench_${bench}.cpp bench/measure.cpp)
  target_link_libraries(bench_${bench} PRIVATE brood_test_support PkgConfig::hiredis)
  target_compile_definitions(bench_${bench} PRIVATE BROOD_BENCH_JOBS="$<TARGET_FILE:brood_bench_jobs>")
  add_dependencies(bench_${bench} brood brood_bench_jobs)
endforeach()

add_test(NAME bench_throughput COMMAND bench_throughput --jobs 2000 --rounds 1 --json)
add_test(NAME bench_latency COMMAND bench_latency --jobs 20 --rounds 1 --json)
set_tests_properties(bench_throughput bench_latency PROPERTIES LABELS bench TIMEOUT 120)
