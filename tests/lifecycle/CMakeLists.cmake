# The real program under real faults.  Each keeps both cores busy: beside one another they would only measure that.
foreach(test IN ITEMS stops recovery redis_faults jobs embedded_redis)
  brood_test(lifecycle/${test} LINK brood_test_support TIMEOUT 300)
  add_dependencies(lifecycle_${test}_test brood brood_examples)
  set_tests_properties(lifecycle_${test} PROPERTIES PROCESSORS 2)
endforeach()

brood_test(lifecycle/command_line LINK brood_test_support brood_base simdjson::simdjson)
add_dependencies(lifecycle_command_line_test brood)
