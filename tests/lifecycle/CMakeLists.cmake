# Most of these wait far more than they compute, and run beside one another.  A test that keeps both cores busy has
# PROCESSORS 2.

# The real program under real faults.
foreach(test IN ITEMS stops redis_faults jobs unknown_outcomes fleet full_redis moved_redis refusing_redis least_rights)
  brood_test(lifecycle/${test} LINK brood_test_support)
endforeach()
brood_test(lifecycle/embedded_redis LINK brood_test_support ALONE)
brood_test(lifecycle/recovery LINK brood_test_support brood_job)
brood_test(lifecycle/old_beat LINK brood_test_support brood_worker)
foreach(test IN ITEMS stops recovery redis_faults jobs embedded_redis unknown_outcomes fleet full_redis moved_redis old_beat refusing_redis least_rights)
  add_dependencies(lifecycle_${test}_test brood brood_examples)
endforeach()
brood_test(lifecycle/clone LINK brood_test_support brood_supervisor)
add_dependencies(lifecycle_clone_test brood brood_examples)

# A slow disk for a redis-server; never linked, only preloaded.
add_library(slow_fsync MODULE ${CMAKE_CURRENT_LIST_DIR}/slow_fsync.cpp)
set_target_properties(slow_fsync PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
target_link_libraries(slow_fsync PRIVATE ${CMAKE_DL_LIBS})
if(BROOD_SANITIZE)    # redis-server has no sanitizer's runtime
  target_compile_options(slow_fsync PRIVATE -fno-sanitize=all)
  target_link_options(slow_fsync PRIVATE -fno-sanitize=all)
endif()
add_dependencies(lifecycle_embedded_redis_test slow_fsync)

# A clock that is a day ahead, for a redis-server; never linked, only preloaded.
add_library(clock_ahead MODULE ${CMAKE_CURRENT_LIST_DIR}/clock_ahead.cpp)
set_target_properties(clock_ahead PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
target_link_libraries(clock_ahead PRIVATE ${CMAKE_DL_LIBS})
if(BROOD_SANITIZE)
  target_compile_options(clock_ahead PRIVATE -fno-sanitize=all)
  target_link_options(clock_ahead PRIVATE -fno-sanitize=all)
endif()
target_compile_definitions(lifecycle_embedded_redis_test PRIVATE BROOD_SLOW_FSYNC="$<TARGET_FILE:slow_fsync>")

# Idle workers that wait in Redis.
brood_test(lifecycle/waiting LINK brood_test_support)
add_dependencies(lifecycle_waiting_test brood brood_examples)

brood_test(lifecycle/command_line LINK brood_test_support brood_store simdjson::simdjson ALONE)
brood_test(lifecycle/enqueue_command LINK brood_test_support simdjson::simdjson)
brood_test(lifecycle/status_command LINK brood_test_support brood_store simdjson::simdjson)
foreach(test IN ITEMS command_line enqueue_command status_command)
  add_dependencies(lifecycle_${test}_test brood)
endforeach()
brood_test(lifecycle/resume LINK brood_test_support)
brood_test(lifecycle/fleet_orders LINK brood_test_support)
foreach(test IN ITEMS resume fleet_orders)
  add_dependencies(lifecycle_${test}_test brood brood_examples)
endforeach()
brood_test(lifecycle/secrets LINK brood_test_support)
add_dependencies(lifecycle_secrets_test brood brood_examples)
brood_test(lifecycle/hostile_text LINK brood_test_support brood_store)
add_dependencies(lifecycle_hostile_text_test brood)
brood_test(lifecycle/job_commands LINK brood_test_support simdjson::simdjson)
brood_test(lifecycle/status_prometheus LINK brood_test_support)
brood_test(lifecycle/statsd LINK brood_test_support)
brood_test(lifecycle/many_jobs LINK brood_test_support)
set_tests_properties(lifecycle_many_jobs PROPERTIES PROCESSORS 2)
foreach(test IN ITEMS job_commands status_prometheus statsd many_jobs)
  add_dependencies(lifecycle_${test}_test brood brood_examples)
endforeach()
brood_test(lifecycle/recover LINK brood_test_support brood_store simdjson::simdjson)
add_dependencies(lifecycle_recover_test brood brood_examples)
brood_test(lifecycle/control_client LINK brood_test_support brood_supervisor)
add_dependencies(lifecycle_control_client_test brood)
brood_test(lifecycle/control_answers LINK brood_test_support brood_cli brood_supervisor)
add_dependencies(lifecycle_control_answers_test brood brood_examples)
brood_test(lifecycle/unique_jobs LINK brood_test_support brood_api)
add_dependencies(lifecycle_unique_jobs_test brood brood_examples)
brood_test(lifecycle/kill LINK brood_test_support brood_job)
brood_test(lifecycle/dump LINK brood_test_support brood_base simdjson::simdjson)
foreach(test IN ITEMS kill dump)
  add_dependencies(lifecycle_${test}_test brood brood_examples)
endforeach()

# Users' tests of their own jobs.
brood_test(lifecycle/supervised LINK brood_testing brood_test_support)
add_dependencies(lifecycle_supervised_test brood brood_examples)

# The live view, in a terminal.
brood_test(lifecycle/watch LINK brood_test_support)
add_dependencies(lifecycle_watch_test brood brood_examples)

# Jobs that turn on their worker and its supervisor.
brood_test_job_library(hostile_jobs ${CMAKE_CURRENT_LIST_DIR}/hostile_jobs.cpp)
set_target_properties(hostile_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/hostile LINK brood_test_support)
add_dependencies(lifecycle_hostile_test brood brood_examples hostile_jobs)

# Jobs that want more than they may have, and workers that are replaced in time.
brood_test_job_library(limited_jobs ${CMAKE_CURRENT_LIST_DIR}/limited_jobs.cpp)
set_target_properties(limited_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/shield LINK brood_test_support PkgConfig::libseccomp brood_worker ALONE)
brood_test(lifecycle/limits LINK brood_test_support)
foreach(test IN ITEMS shield limits)
  add_dependencies(lifecycle_${test}_test brood brood_examples limited_jobs)
endforeach()
add_test(NAME lifecycle_shield_as_nobody COMMAND ${PROJECT_SOURCE_DIR}/tests/support/as_nobody $<TARGET_FILE:lifecycle_shield_test> --log_level=test_suite --color_output=no)
set_tests_properties(lifecycle_shield_as_nobody PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1200 LABELS lifecycle)

brood_test_job_library(rogue_jobs ${CMAKE_CURRENT_LIST_DIR}/rogue_jobs.cpp)
set_target_properties(rogue_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/rogue LINK brood_test_support brood_supervisor)
add_dependencies(lifecycle_rogue_test brood brood_examples rogue_jobs)

brood_test(lifecycle/recovery_children LINK brood_supervisor brood_test_support)
brood_test(lifecycle/dead_supervisors LINK brood_supervisor brood_test_support)

brood_test_job_library(unruly_jobs ${CMAKE_CURRENT_LIST_DIR}/unruly_jobs.cpp)
brood_test_job_library(unresolved_jobs ${CMAKE_CURRENT_LIST_DIR}/unresolved_jobs.cpp)
set_target_properties(unruly_jobs unresolved_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
foreach(test IN ITEMS service boot signals capsules serial pausing paused_classes)
  brood_test(lifecycle/${test} LINK brood_test_support brood_base simdjson::simdjson)
  add_dependencies(lifecycle_${test}_test brood brood_examples unruly_jobs unresolved_jobs)
endforeach()

# Jobs that take longer than they may.
brood_test_job_library(timed_jobs ${CMAKE_CURRENT_LIST_DIR}/timed_jobs.cpp)
set_target_properties(timed_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/timeout LINK brood_test_support brood_job)
add_dependencies(lifecycle_timeout_test brood brood_examples timed_jobs)

# Jobs whose last argument is encrypted.
brood_test_job_library(sealed_jobs ${CMAKE_CURRENT_LIST_DIR}/sealed_jobs.cpp)
brood_test_job_library(arguments_for_all ${CMAKE_CURRENT_LIST_DIR}/arguments_for_all.cpp)
set_target_properties(sealed_jobs arguments_for_all PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/encryption LINK brood_test_support brood_job)
add_dependencies(lifecycle_encryption_test brood sealed_jobs arguments_for_all)

# Jobs that come too late to begin.
brood_test_job_library(expiring_jobs ${CMAKE_CURRENT_LIST_DIR}/expiring_jobs.cpp)
set_target_properties(expiring_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/expiry LINK brood_test_support brood_job)
add_dependencies(lifecycle_expiry_test brood expiring_jobs)

# Long jobs that keep their place.
brood_test_job_library(iterating_jobs ${CMAKE_CURRENT_LIST_DIR}/iterating_jobs.cpp)
set_target_properties(iterating_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/iteration LINK brood_test_support brood_test_vectors brood_api)
add_dependencies(lifecycle_iteration_test brood iterating_jobs)
brood_test(lifecycle/cancel LINK brood_test_support simdjson::simdjson)
add_dependencies(lifecycle_cancel_test brood brood_examples iterating_jobs)

# Jobs with limits, and queues with caps.
brood_test_job_library(limiter_jobs ${CMAKE_CURRENT_LIST_DIR}/limiter_jobs.cpp)
set_target_properties(limiter_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/limiters LINK brood_api brood_test_support brood_store ALONE)
add_dependencies(lifecycle_limiters_test brood limiter_jobs)

# Jobs that end in every bad way, among good ones; kills; too few processes and descriptors.
brood_test_job_library(menagerie_jobs ${CMAKE_CURRENT_LIST_DIR}/menagerie_jobs.cpp)
target_include_directories(menagerie_jobs PRIVATE ${PROJECT_SOURCE_DIR})
set_target_properties(menagerie_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
foreach(test IN ITEMS menagerie kill_storm failing_batch scarcity)
  brood_test(lifecycle/${test} LINK brood_test_support brood_job)
  add_dependencies(lifecycle_${test}_test brood brood_examples menagerie_jobs)
endforeach()

# Rolling restarts, from one version of a job library to the next.
foreach(version IN ITEMS 1 2)
  brood_test_job_library(roll_jobs_${version} ${CMAKE_CURRENT_LIST_DIR}/roll_jobs.cpp)
  target_compile_definitions(roll_jobs_${version} PRIVATE ROLL_VERSION=${version})
endforeach()
brood_test_job_library(roll_jobs_that_die ${CMAKE_CURRENT_LIST_DIR}/roll_jobs.cpp)
target_compile_definitions(roll_jobs_that_die PRIVATE ROLL_VERSION=3 DIES)
brood_test_job_library(roll_jobs_that_crash ${CMAKE_CURRENT_LIST_DIR}/roll_jobs.cpp)
target_compile_definitions(roll_jobs_that_crash PRIVATE ROLL_VERSION=4 ROLL_CRASHES=10)
brood_test_job_library(roll_jobs_that_crash_too ${CMAKE_CURRENT_LIST_DIR}/roll_jobs.cpp)
target_compile_definitions(roll_jobs_that_crash_too PRIVATE ROLL_VERSION=6 ROLL_CRASHES=10)
brood_test_job_library(roll_jobs_that_fail ${CMAKE_CURRENT_LIST_DIR}/roll_jobs.cpp)
target_compile_definitions(roll_jobs_that_fail PRIVATE ROLL_VERSION=5 ROLL_FAILS=10)
set_target_properties(roll_jobs_1 roll_jobs_2 roll_jobs_that_die roll_jobs_that_crash roll_jobs_that_crash_too roll_jobs_that_fail PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
foreach(test IN ITEMS rolling_restart roll_storm upgrade upgrade_storm metrics)
  brood_test(lifecycle/${test} LINK brood_test_support brood_base brood_job)
  add_dependencies(lifecycle_${test}_test brood brood_examples roll_jobs_1 roll_jobs_2 roll_jobs_that_die)
endforeach()

brood_test(lifecycle/canary LINK brood_test_support brood_base)
brood_test(lifecycle/pressure LINK brood_test_support brood_base)
add_dependencies(lifecycle_pressure_test brood brood_examples)
brood_test(lifecycle/quarantine LINK brood_test_support brood_base)
add_dependencies(lifecycle_quarantine_test brood roll_jobs_1 roll_jobs_that_crash roll_jobs_that_crash_too)
add_dependencies(lifecycle_canary_test brood roll_jobs_1 roll_jobs_2 roll_jobs_that_crash roll_jobs_that_fail)

add_library(failing_takeover MODULE ${CMAKE_CURRENT_LIST_DIR}/failing_takeover.cpp)
if(BROOD_SANITIZE)    # it comes before the sanitizer's runtime
  target_compile_options(failing_takeover PRIVATE -fno-sanitize=all)
  target_link_options(failing_takeover PRIVATE -fno-sanitize=all)
endif()
set_target_properties(failing_takeover PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
target_compile_options(failing_takeover PRIVATE -O0 -Wno-infinite-recursion -Wno-null-dereference)
add_dependencies(lifecycle_upgrade_test failing_takeover)

# Jobs that are programs.
brood_test(lifecycle/program LINK brood_test_support brood_job)
add_dependencies(lifecycle_program_test brood brood_examples)

# Jobs in processes of their own.
brood_test_job_library(isolated_jobs OPTIMISED ${CMAKE_CURRENT_LIST_DIR}/isolated_jobs.cpp)
set_target_properties(isolated_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/isolation LINK brood_test_support ALONE)
brood_test(lifecycle/isolation_storm LINK brood_test_support ALONE)
add_dependencies(lifecycle_isolation_test brood isolated_jobs)
add_dependencies(lifecycle_isolation_storm_test brood brood_examples)

# And in a sandbox there.
brood_test_job_library(sandboxed_jobs ${CMAKE_CURRENT_LIST_DIR}/sandboxed_jobs.cpp ${CMAKE_CURRENT_LIST_DIR}/escape_attempts.cpp)
target_include_directories(sandboxed_jobs PRIVATE ${PROJECT_SOURCE_DIR})
set_target_properties(sandboxed_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/sandbox LINK brood_test_support brood_worker ALONE)
add_dependencies(lifecycle_sandbox_test brood sandboxed_jobs)
add_test(NAME lifecycle_sandbox_as_nobody COMMAND ${PROJECT_SOURCE_DIR}/tests/support/as_nobody $<TARGET_FILE:lifecycle_sandbox_test> --log_level=test_suite --color_output=no)
set_tests_properties(lifecycle_sandbox_as_nobody PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1200 LABELS lifecycle)

# Jobs that report on themselves.
brood_test_job_library(telling_jobs ${CMAKE_CURRENT_LIST_DIR}/telling_jobs.cpp)
set_target_properties(telling_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/telling LINK brood_test_support brood_job)
add_dependencies(lifecycle_telling_test brood telling_jobs)

# Events in the life of a worker, and what is carried from enqueue to perform.
brood_test_job_library(event_jobs ${CMAKE_CURRENT_LIST_DIR}/event_jobs.cpp)
brood_test_job_library(context_jobs ${CMAKE_CURRENT_LIST_DIR}/context_jobs.cpp)
set_target_properties(event_jobs context_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/events LINK brood_test_support)
add_dependencies(lifecycle_events_test brood event_jobs)
brood_test(lifecycle/carried_context LINK brood_test_support brood_job)
add_dependencies(lifecycle_carried_context_test brood context_jobs)

# Workers that are copies of a template.
brood_test_job_library(preload_jobs ${CMAKE_CURRENT_LIST_DIR}/preload_jobs.cpp)
set_target_properties(preload_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/preload LINK brood_test_support)
add_dependencies(lifecycle_preload_test brood brood_examples preload_jobs)

# The classes that ran in a worker before others crashed there.
brood_test_job_library(spoiling_jobs ${CMAKE_CURRENT_LIST_DIR}/spoiling_jobs.cpp)
set_target_properties(spoiling_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/ran_before LINK brood_test_support)
add_dependencies(lifecycle_ran_before_test brood spoiling_jobs)

# One job in the foreground.
brood_test_job_library(foreground_jobs ${CMAKE_CURRENT_LIST_DIR}/foreground_jobs.cpp)
set_target_properties(foreground_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/perform LINK brood_test_support)
add_dependencies(lifecycle_perform_test brood brood_examples event_jobs foreground_jobs for_all limited_jobs)

# A library of the first ABI, in C and without brood's headers, and libraries that must be refused.
enable_language(C)
add_library(abi_witness MODULE ${CMAKE_CURRENT_LIST_DIR}/abi_witness.c)
set(abi_witnesses abi_witness)
foreach(kind IN ITEMS older newer middleware)
  string(TOUPPER ${kind} KIND)
  add_library(abi_witness_${kind} MODULE ${CMAKE_CURRENT_LIST_DIR}/abi_witness.c)
  target_compile_definitions(abi_witness_${kind} PRIVATE ${KIND})
  list(APPEND abi_witnesses abi_witness_${kind})
endforeach()
set_target_properties(${abi_witnesses} PROPERTIES C_STANDARD 11 C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
if(BROOD_SANITIZE)    # by the C compiler, whose runtime may differ from brood's
  foreach(witness IN LISTS abi_witnesses)
    target_compile_options(${witness} PRIVATE -fno-sanitize=all)
    target_link_options(${witness} PRIVATE -fno-sanitize=all)
  endforeach()
endif()
brood_test(lifecycle/abi LINK brood_test_support)
add_dependencies(lifecycle_abi_test brood ${abi_witnesses} ${job_libraries})

# A host whose clock is wrong, and one whose name server is slow.
foreach(fault IN ITEMS shifted_clock slow_names)
  add_library(${fault} MODULE ${CMAKE_CURRENT_LIST_DIR}/${fault}.c)
  set_target_properties(${fault} PROPERTIES C_STANDARD 11)
  if(BROOD_SANITIZE)    # it comes before the sanitizer's runtime, and brood must not mind
    target_compile_options(${fault} PRIVATE -fno-sanitize=all)
    target_link_options(${fault} PRIVATE -fno-sanitize=all)
  endif()
endforeach()
add_dependencies(lifecycle_redis_faults_test slow_names)
brood_test(lifecycle/shifted_clock LINK brood_test_support brood_job)
add_dependencies(lifecycle_shifted_clock_test brood brood_examples shifted_clock)
add_dependencies(lifecycle_menagerie_test shifted_clock)
brood_test(lifecycle/cluster LINK brood_test_support ALONE)
add_dependencies(lifecycle_cluster_test brood brood_examples)
# Real nodes under real faults.
brood_test(lifecycle/node_faults LINK brood_test_support ALONE TIMEOUT 1800)
add_dependencies(lifecycle_node_faults_test brood brood_examples)

set_tests_properties(lifecycle_kill_storm lifecycle_roll_storm lifecycle_upgrade_storm lifecycle_menagerie lifecycle_fleet lifecycle_scarcity lifecycle_cluster lifecycle_node_faults
                     PROPERTIES PROCESSORS 2)

# Several Redis servers.
foreach(test IN ITEMS shards shards_away added_shards drained_shards cluster_shards idle_shards)
  brood_test(lifecycle/${test} LINK brood_test_support brood_store simdjson::simdjson)
  add_dependencies(lifecycle_${test}_test brood brood_examples)
endforeach()
add_dependencies(lifecycle_shards_away_test iterating_jobs)
add_dependencies(lifecycle_shards_test clock_ahead)
brood_test(lifecycle/shard_commands LINK brood_test_support simdjson::simdjson)
add_dependencies(lifecycle_shard_commands_test brood)
brood_test(lifecycle/tls LINK brood_test_support ALONE)
add_dependencies(lifecycle_tls_test brood brood_examples)
brood_test(lifecycle/shard_clients LINK brood_test_support simdjson::simdjson)
add_dependencies(lifecycle_shard_clients_test brood brood_examples context_jobs)
brood_test(lifecycle/sentinel LINK brood_test_support)
add_dependencies(lifecycle_sentinel_test brood brood_examples)
brood_test_job_library(periodic_jobs ${CMAKE_CURRENT_LIST_DIR}/periodic_jobs.cpp)
set_target_properties(periodic_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/periodic LINK brood_test_support brood_job brood_base ALONE)
add_dependencies(lifecycle_periodic_test brood brood_examples periodic_jobs)
brood_test(lifecycle/inherited LINK brood_test_support)
add_dependencies(lifecycle_inherited_test brood brood_examples unruly_jobs)

# Jobs that set the locale of their worker.
brood_test_job_library(locale_jobs ${CMAKE_CURRENT_LIST_DIR}/locale_jobs.cpp)
set_target_properties(locale_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/locale LINK brood_test_support ALONE)  # it sets an environment variable
add_dependencies(lifecycle_locale_test brood locale_jobs)

# Deploys: files that a generation has loaded are replaced, linked elsewhere or removed.  A job library whose parts are
# found by $ORIGIN; the second part does not contain its own name.
brood_test_job_library(parted_jobs ${CMAKE_CURRENT_LIST_DIR}/parted_jobs.cpp)
set_target_properties(parted_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
foreach(version IN ITEMS 1 2)
  foreach(part IN ITEMS part piece)
    set(target roll_${part}_${version})
    add_library(${target} SHARED ${CMAKE_CURRENT_LIST_DIR}/roll_part.cpp)
    target_compile_definitions(${target} PRIVATE PART=${version} $<$<STREQUAL:${part},piece>:PIECE>)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME roll_${part} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries/parts_${version}
                                               BUILD_WITH_INSTALL_RPATH TRUE INSTALL_RPATH "$ORIGIN")
  endforeach()
  set_target_properties(roll_piece_${version} PROPERTIES NO_SONAME TRUE)
  # By its name alone: a path would be looked up from the working directory.
  add_dependencies(roll_part_${version} roll_piece_${version})
  target_link_options(roll_part_${version} PRIVATE -L$<TARGET_FILE_DIR:roll_piece_${version}>)
  target_link_libraries(roll_part_${version} PRIVATE -lroll_piece)
endforeach()
target_link_libraries(parted_jobs PRIVATE roll_part_1)
set_target_properties(parted_jobs PROPERTIES BUILD_WITH_INSTALL_RPATH TRUE INSTALL_RPATH "$ORIGIN/parts")
brood_test(lifecycle/deploys LINK brood_test_support)
add_dependencies(lifecycle_deploys_test brood brood_examples roll_jobs_1 roll_jobs_2 roll_jobs_that_die parted_jobs roll_part_2)
brood_test(lifecycle/settings_at_hup LINK brood_test_support brood_base)
add_dependencies(lifecycle_settings_at_hup_test brood brood_examples)

# Batches.
brood_test_job_library(batch_jobs ${CMAKE_CURRENT_LIST_DIR}/batch_jobs.cpp)
set_target_properties(batch_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/batches LINK brood_test_support brood_api ALONE)
add_dependencies(lifecycle_batches_test brood batch_jobs)
brood_test(lifecycle/batches_command LINK brood_test_support brood_api simdjson::simdjson)
add_dependencies(lifecycle_batches_command_test brood brood_examples)
# Results, progress, and the programs that wait for them.
brood_test_job_library(result_jobs ${CMAKE_CURRENT_LIST_DIR}/result_jobs.cpp)
set_target_properties(result_jobs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
brood_test(lifecycle/results LINK brood_api brood_job brood_test_support)
add_dependencies(lifecycle_results_test brood result_jobs)
# Periodic jobs that are added at run time.
brood_test(lifecycle/stored_periodic LINK brood_job brood_test_support)
add_dependencies(lifecycle_stored_periodic_test brood brood_examples)
brood_test(lifecycle/fleet_restart LINK brood_test_support)
add_dependencies(lifecycle_fleet_restart_test brood roll_jobs_1 roll_jobs_that_crash)
brood_test(lifecycle/upgrade_failures LINK brood_test_support brood_base brood_job)
add_dependencies(lifecycle_upgrade_failures_test brood brood_examples roll_jobs_1 failing_takeover)
brood_test(lifecycle/isolation_ends LINK brood_test_support ALONE)
add_dependencies(lifecycle_isolation_ends_test brood isolated_jobs)
# What workers publish of their classes, in two builds.
foreach(build IN ITEMS 1 2)
  brood_test_job_library(described_jobs_${build} ${CMAKE_CURRENT_LIST_DIR}/described_jobs.cpp)
  target_compile_definitions(described_jobs_${build} PRIVATE BUILD=${build})
  set_target_properties(described_jobs_${build} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/job_libraries)
endforeach()
brood_test(lifecycle/published_classes LINK brood_test_support simdjson::simdjson)
add_dependencies(lifecycle_published_classes_test brood described_jobs_1 described_jobs_2)
brood_test(lifecycle/sequences LINK brood_api brood_test_support)
add_dependencies(lifecycle_sequences_test brood brood_examples)
# Tenants of queues.
brood_test(lifecycle/tenants LINK brood_test_support)
add_dependencies(lifecycle_tenants_test brood brood_examples)
# Sequences and tenants in a cluster, over TLS and in several shards.
brood_test(lifecycle/order_elsewhere LINK brood_test_support ALONE)
add_dependencies(lifecycle_order_elsewhere_test brood brood_examples)
set_tests_properties(lifecycle_order_elsewhere PROPERTIES PROCESSORS 2)
# Failures reach error services: servers of the test's own.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME lifecycle_error_reports COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/error_reports_test.py)
  set_tests_properties(lifecycle_error_reports PROPERTIES TIMEOUT 1200 ENVIRONMENT "BROOD_BINARY_DIR=${PROJECT_BINARY_DIR}")
endif()
