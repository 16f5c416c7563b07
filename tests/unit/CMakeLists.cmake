brood_test(unit/layers)
brood_test(unit/log LINK brood_base)
brood_test(unit/ledger LINK brood_test_support)

# The captured vectors without the rest of the test support: what tests the pure layers links no Redis.
add_library(brood_test_vectors STATIC support/vectors.cpp)
target_compile_definitions(brood_test_vectors PRIVATE BROOD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_link_libraries(brood_test_vectors PUBLIC brood_flags PRIVATE simdjson::simdjson)
brood_test(unit/json LINK brood_job brood_test_vectors)
brood_test(unit/queue_order LINK brood_base brood_test_vectors)
