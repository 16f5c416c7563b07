# The page of `brood web`.
foreach(test IN ITEMS http_parser http_server html authenticator confinement)
  brood_test(web/${test} LINK brood_web brood_test_support)
endforeach()
brood_test(web/compression LINK brood_web brood_test_support ZLIB::ZLIB)

# The page as a visitor meets it, over HTTP and in a browser.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  foreach(test IN ITEMS page live browser metrics)
    add_test(NAME web_${test} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/${test}_test.py)
    set_tests_properties(web_${test} PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77
                         ENVIRONMENT "BROOD_BINARY_DIR=${PROJECT_BINARY_DIR};BROOD_SANITIZE=${BROOD_SANITIZE}")
  endforeach()
endif()

# By hand, in a build directory of its own: cmake -B build/fuzz -DBROOD_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++
option(BROOD_FUZZ "Build fuzz_http, by clang's libFuzzer" OFF)
if(BROOD_FUZZ)
  add_executable(fuzz_http ${CMAKE_CURRENT_LIST_DIR}/fuzz_http.cpp)
  foreach(source IN ITEMS http/http_message http/http_parser http/compression page/html)
    target_sources(fuzz_http PRIVATE ${PROJECT_SOURCE_DIR}/supervisor/web/${source}.cpp)
  endforeach()
  foreach(source IN ITEMS log_line units)
    target_sources(fuzz_http PRIVATE ${PROJECT_SOURCE_DIR}/shared/base/${source}.cpp)
  endforeach()
  target_link_libraries(fuzz_http PRIVATE brood_flags fmt::fmt ZLIB::ZLIB)
  target_compile_options(fuzz_http PRIVATE -g -fsanitize=fuzzer,address,undefined)
  target_link_options(fuzz_http PRIVATE -fsanitize=fuzzer,address,undefined)
endif()
