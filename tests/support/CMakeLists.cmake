file(GLOB support_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
add_library(brood_test_support STATIC ${support_sources})
target_link_libraries(brood_test_support PUBLIC brood_flags brood_redis brood_base PRIVATE simdjson::simdjson)
target_compile_definitions(brood_test_support PRIVATE BROOD_BINARY_DIR="${PROJECT_BINARY_DIR}")
