add_executable(enqueue enqueue.cpp)
# SNIPPET
