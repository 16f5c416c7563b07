brood_test(bench/command LINK brood_test_support simdjson::simdjson TIMEOUT 300)
add_dependencies(bench_command_test brood)
set_tests_properties(bench_command PROPERTIES PROCESSORS 2)
