# Ruby's own Sidekiq checks what brood writes and performs what it pushes.
find_program(BROOD_RUBY ruby)
if(BROOD_RUBY)
  execute_process(COMMAND ${BROOD_RUBY} -e "require 'sidekiq/web'; require 'rack/session/cookie'; require 'minitest'"
                  RESULT_VARIABLE ruby_lacks OUTPUT_QUIET ERROR_QUIET)
endif()
if(BROOD_RUBY AND ruby_lacks EQUAL 0)
  set(ruby_tests active_job api_bytes batches classes client data_api encryption mixed_fleet otlp ruby_spelling scheduled_middleware shards sidekiq_cron
                 sidekiq_unique_jobs unique_jobs web_ui fugit rails from_sidekiq)
  foreach(test IN LISTS ruby_tests)
    add_test(NAME compatibility_${test} COMMAND ${BROOD_RUBY} ${CMAKE_CURRENT_LIST_DIR}/${test}_test.rb)
    set_tests_properties(compatibility_${test} PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77 ENVIRONMENT "BROOD_BINARY_DIR=${PROJECT_BINARY_DIR};BROOD_SANITIZE=${BROOD_SANITIZE}")
  endforeach()
  # The same with the Ruby of a Debian 13, where there is a root of one.
  if(NOT BROOD_SANITIZE)
    foreach(test IN LISTS ruby_tests)
      add_test(NAME compatibility_${test}_in_trixie COMMAND ${CMAKE_CURRENT_LIST_DIR}/in_trixie ${test}_test.rb)
      set_tests_properties(compatibility_${test}_in_trixie PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77 ENVIRONMENT "BROOD_BINARY_DIR=${PROJECT_BINARY_DIR}")
    endforeach()
  endif()
  # The files for Ruby run with Sidekiq 6 and with later ones: see newer_sidekiq.rb.
  execute_process(COMMAND ${BROOD_RUBY} -e "require 'sidekiq'; exit Sidekiq::VERSION.to_i < 7" RESULT_VARIABLE sidekiq_is_newer)
  if(sidekiq_is_newer EQUAL 0)
    foreach(test IN ITEMS batches classes encryption unique_jobs)
      add_test(NAME compatibility_${test}_newer
               COMMAND ${BROOD_RUBY} ${CMAKE_CURRENT_LIST_DIR}/newer_sidekiq.rb ${test}_test.rb)
      set_tests_properties(compatibility_${test}_newer PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77
                           ENVIRONMENT "BROOD_BINARY_DIR=${PROJECT_BINARY_DIR};BROOD_SANITIZE=${BROOD_SANITIZE}")
    endforeach()
  endif()
else()
  message(STATUS "Left out: the compatibility tests, which need Ruby with sidekiq, rack and minitest")
endif()

brood_test_job_library(active_jobs ${CMAKE_CURRENT_LIST_DIR}/active_jobs.cpp)
brood_test_job_library(rails_jobs ${CMAKE_CURRENT_LIST_DIR}/rails_jobs.cpp)

# The same operations by brood's data API, for a comparison of what they leave.
# The same operations with brood's data API, to compare the results.
add_executable(api_operation ${CMAKE_CURRENT_LIST_DIR}/api_operation.cpp)
target_link_libraries(api_operation PRIVATE brood_client)

# The installed headers and package, as another project uses them.
brood_test_once(compatibility_headers COMMAND ${CMAKE_CURRENT_LIST_DIR}/headers_test.sh ${PROJECT_SOURCE_DIR})
set(consumer_flags ${CMAKE_CXX_FLAGS})
if(BROOD_SANITIZE)
  string(APPEND consumer_flags " -fsanitize=${BROOD_SANITIZE}")
endif()
add_test(NAME compatibility_consumer
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/consumer_test.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER} "${consumer_flags}")
brood_test_once(compatibility_every_name
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/every_name_test.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER} "${consumer_flags}")
brood_test_once(compatibility_new_project
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/new_project_test.sh ${PROJECT_BINARY_DIR} ${CMAKE_CXX_COMPILER} "${consumer_flags}")
set_tests_properties(compatibility_consumer PROPERTIES TIMEOUT 1800)
brood_test_once(compatibility_nested
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/nested_test.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER} "${consumer_flags}")
if(TEST compatibility_nested)
  set_tests_properties(compatibility_nested PROPERTIES PROCESSORS 2 ENVIRONMENT "BROOD_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}")
endif()

# The interface to built job libraries.
brood_test_once(compatibility_abi_layout COMMAND ${CMAKE_CURRENT_LIST_DIR}/abi_layout_test.sh ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER})

# Their reference, if Doxygen and Python are installed.
if(TARGET reference)
  brood_test_once(compatibility_reference COMMAND ${CMAKE_CURRENT_LIST_DIR}/reference_test.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
else()
  message(STATUS "Left out: the test of the reference, which needs doxygen and python3")
endif()
if(TARGET site)
  brood_test_once(compatibility_site COMMAND ${CMAKE_CURRENT_LIST_DIR}/site_test.py ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
else()
  message(STATUS "Left out: the test of the site, which needs mkdocs with its theme Material, mandoc and python3")
endif()

# The documents: each code block is compiled or tried, and walkthroughs are followed to the letter, with an installed
# brood.
find_package(Python3 COMPONENTS Interpreter)
find_package(PNG)
if(Python3_FOUND)
  brood_test_once(compatibility_schema COMMAND ${CMAKE_CURRENT_LIST_DIR}/schema_test.py ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  brood_test_once(compatibility_probes COMMAND ${CMAKE_CURRENT_LIST_DIR}/probes_test.py ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
endif()
if(BROOD_SANITIZE)
  message(STATUS "Left out under sanitizers: the tests of the documents, whose crashes a sanitizer would report in its own words")
elseif(Python3_FOUND AND PNG_FOUND)
  add_test(NAME compatibility_snippets
           COMMAND ${CMAKE_CURRENT_LIST_DIR}/snippets_test.py ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER} "${consumer_flags}")
  set(walks batches cookbook cpp from-sidekiq)
  if(BROOD_RUBY AND ruby_lacks EQUAL 0)
    list(APPEND walks ruby)
  endif()
  foreach(document IN LISTS walks)
    add_test(NAME compatibility_walk_${document}
             COMMAND ${CMAKE_CURRENT_LIST_DIR}/walkthrough_test.py packaging/doc/${document}.md ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR}
                     ${CMAKE_CXX_COMPILER} "${consumer_flags}")
    set_tests_properties(compatibility_walk_${document} PROPERTIES TIMEOUT 1800)
  endforeach()
  set_tests_properties(compatibility_snippets PROPERTIES TIMEOUT 1800)
  add_test(NAME compatibility_clients
           COMMAND ${CMAKE_CURRENT_LIST_DIR}/clients_test.py ${PROJECT_SOURCE_DIR}/packaging/doc/clients.md ${PROJECT_BINARY_DIR})
else()
  message(STATUS "Left out: the tests of the documents, which need Python 3 and libpng-dev")
endif()

if(BROOD_SANITIZE)
  return()  # the rest needs only the compiler
endif()

# The headers that all of these include are read once: that is most of the work.
set(refused_headers ${CMAKE_CURRENT_BINARY_DIR}/refused_headers.hpp)
file(STRINGS compatibility/refused_jobs.cpp refused_includes REGEX "^#include")
list(JOIN refused_includes "\n" refused_includes)
file(CONFIGURE OUTPUT ${refused_headers} CONTENT "@refused_includes@\n" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/compatibility/refused_jobs.cpp)
set(refused_compiled ${refused_headers}.pch)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(refused_compiled ${refused_headers}.gch)
endif()
set(refused_compiler ${CMAKE_CXX_COMPILER} -std=c++20 -I ${PROJECT_SOURCE_DIR}/shared/include)
add_custom_command(OUTPUT ${refused_compiled}
                   COMMAND ${refused_compiler} -x c++-header ${refused_headers} -o ${refused_compiled}
                           -MD -MT ${refused_compiled} -MF ${refused_headers}.d
                   DEPENDS ${refused_headers} DEPFILE ${refused_headers}.d VERBATIM)
add_custom_target(brood_refused_headers ALL DEPENDS ${refused_compiled})
list(APPEND refused_compiler -fsyntax-only -include ${refused_headers})

# A struct that is no job is refused with a sentence that explains why; for a wrong field, g++ and clang++ name it in
# words of their own.
function(brood_refuses name sentence)
  add_test(NAME compatibility_refuses_${name}
           COMMAND ${refused_compiler} -DREFUSED_${name} ${ARGN} ${PROJECT_SOURCE_DIR}/tests/compatibility/refused_jobs.cpp)
  set_tests_properties(compatibility_refuses_${name} PROPERTIES PASS_REGULAR_EXPRESSION "${sentence}" TIMEOUT 1200)
endfunction()
foreach(way IN ITEMS library client iteration shape likeness)
  string(TOUPPER ${way} WAY)
  add_test(NAME compatibility_takes_a_job_by_${way}
           COMMAND ${refused_compiler} -DBY_${WAY} ${PROJECT_SOURCE_DIR}/tests/compatibility/refused_jobs.cpp)
endforeach()
brood_refuses(raw_array "a field that is an array such as int.3.; use std::array")
brood_refuses(no_default "a field whose type has no default constructor; give the type one")
brood_refuses(array_of_one "Wrong::numbers.*no JSON argument fits;no JSON argument fits.*refuse_field<Wrong, {&imagined.job.numbers}")
brood_refuses(field_type "Wrong::pointer.* Type = std::unique_ptr.*no JSON argument fits;no JSON argument fits.*refuse_field<Wrong, {&imagined.job.pointer}")
brood_refuses(nested_field_type "Inner::letter.*Type = char.*no JSON argument fits;no JSON argument fits.*refuse_field<Inner, {&imagined.job.letter}")
brood_refuses(map_key "Wrong::numbers.*Type = std::map<int.*no JSON argument fits;no JSON argument fits.*refuse_field<Wrong, {&imagined.job.numbers}" -DBY_CLIENT)
brood_refuses(variant "in a std::variant integers stand before floating point numbers")
brood_refuses(private_field "is no plain struct: constructors, private fields")
brood_refuses(constructor "is no plain struct: constructors, private fields" -DBY_CLIENT)
brood_refuses(virtual "is no plain struct: constructors, private fields")
brood_refuses(base "the job has a base class")
brood_refuses(seventeen "more than 16 fields")
brood_refuses(no_perform "a job has .void perform.brood::Context&.")
brood_refuses(perform_argument "a job has .void perform.brood::Context&.")
foreach(way IN ITEMS bool static const overloaded template lazy future)
  brood_refuses(perform_${way} "Wrong.*perform.. of a job returns void: it fails by throwing;perform.. of a job returns void.*Wrong")
endforeach()
brood_refuses(perform_lazy_by_client "perform.. of a job returns void" -DREFUSED_perform_lazy -DBY_CLIENT)
brood_refuses(perform_private "a job has .void perform.brood::Context&.. or .void perform..., and it is public")
brood_refuses(perform_by_value "a job has .void perform.brood::Context&.")
brood_refuses(iterates_and_hides_perform "perform.. of this job cannot be called; an iterable one has none")
brood_refuses(each_lazy "each.. of an iterable job returns void")
brood_refuses(each_bool "each.. of an iterable job returns void")
brood_refuses(hook_result "on_start returns void")
brood_refuses(hook_hidden "on_complete takes .brood::Iteration&., or nothing, and is public")
brood_refuses(retry_in_result "retry_in returns a duration, brood::discard")
brood_refuses(retry_in_nothing "retry_in returns a duration, brood::discard")
brood_refuses(retry_in_overloaded "retry_in takes .int count")
brood_refuses(retry_in_private "retry_in takes .int count.*and is public")
brood_refuses(exhausted_result "exhausted returns void, brood::discard or")
brood_refuses(exhausted_lazy "exhausted returns void, brood::discard or")
brood_refuses(middleware_lazy "a middleware returns void: it goes on by next")
brood_refuses(client_middleware_bool "a middleware returns void: it goes on by next")
brood_refuses(event_handler_lazy "a handler returns void")
brood_refuses(error_handler_lazy "a handler returns void")
brood_refuses(death_handler "a handler of errors or deaths takes .const brood::JobInfo& job")
brood_refuses(setup_result "brood_setup")
brood_refuses(setup_by_value "overloaded function")
brood_refuses(anonymous "is no class name")
brood_refuses(template_name "is no class name")
brood_refuses(class_name "is no class name")
brood_refuses(required "is more than the job has fields")
brood_refuses(retry "a count is 0 to 1,000,000")
brood_refuses(options_type "is a .static constexpr brood::JobOptions")
brood_refuses(retry_in "retry_in takes .int count")
brood_refuses(exhausted "exhausted takes .const brood::JobInfo")
brood_refuses(event_handler "an event handler takes .const brood::Occasion&. or nothing")
brood_refuses(no_jobs "BROOD_JOBS names no job")
brood_refuses(items_alone "an iterable job has both items.. and each..")
brood_refuses(each_alone "an iterable job has both items.. and each..")
brood_refuses(iterates_and_performs "a job has perform.., or else items.. and each.., but not all three")
brood_refuses(items_type "items.. of an iterable job returns brood::Items<Item>")
brood_refuses(items_cursor "items.. of an iterable job takes .std::optional<Cursor> cursor.")
brood_refuses(cursor_type "this cursor cannot be written as JSON")
brood_refuses(each_item "each.. of an iterable job takes .const Item&, brood::Iteration&.")
brood_refuses(hook "on_stop takes .brood::Iteration&., or nothing")
brood_refuses(items_that_cannot_be_copied "items own what they walk, and this range cannot be copied")
brood_refuses(items_that_refer "these items refer to what is gone with the step")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # clang++ 14 rejects libstdc++'s adaptors
  foreach(items IN ITEMS items_of_an_adaptor items_of_all items_of_a_subrange items_of_an_adapted_subrange steps_of_a_subrange)
    brood_refuses(${items} "this view refers to a range with a name")
  endforeach()
endif()
brood_refuses(flush_interval "flush_interval is a duration")
