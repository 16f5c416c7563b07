# Ruby's own Sidekiq judges what brood writes and performs what it pushes.
find_program(BROOD_RUBY ruby)
if(BROOD_RUBY)
  execute_process(COMMAND ${BROOD_RUBY} -e "require 'sidekiq/web'; require 'rack/session/cookie'; require 'minitest'"
                  RESULT_VARIABLE ruby_lacks OUTPUT_QUIET ERROR_QUIET)
endif()
if(BROOD_RUBY AND ruby_lacks EQUAL 0)
  foreach(test IN ITEMS client data_api web_ui)
    add_test(NAME compatibility_${test} COMMAND ${BROOD_RUBY} ${CMAKE_CURRENT_LIST_DIR}/${test}_test.rb)
    set_tests_properties(compatibility_${test} PROPERTIES TIMEOUT 300 ENVIRONMENT "BROOD_BINARY_DIR=${PROJECT_BINARY_DIR}")
  endforeach()
else()
  message(STATUS "Left out: the compatibility tests, which need Ruby with sidekiq, rack and minitest")
endif()
