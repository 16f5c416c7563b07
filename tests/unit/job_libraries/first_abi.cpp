// A job library as it was built before there was middleware: the structs of that time, word for word.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace first {

struct Text {
  const char* data;
  std::size_t size;
};

struct Call {
  std::size_t size;
  Text job_class, jid, queue;
  Text args;
  Text payload;
  std::int64_t earlier_attempts;
  void* host;
  int (*stopping)(void* host);
  void (*log)(void* host, std::uint32_t level, Text message);
  std::int64_t (*time_left_ms)(void* host);
  void (*set_time_left)(void* host, std::int64_t ms);
};

struct Result {
  std::size_t size;
  std::uint32_t kind;
  Text error_class, message;
};

struct Failure {
  std::size_t size;
  Text error_class, message;
  std::uint32_t crashed;
};

struct Answer {
  std::size_t size;
  std::uint32_t kind;
  std::int64_t delay_seconds;
  Text error_class, message;
};

struct JobClass {
  std::size_t size;
  Text name;
  std::uint32_t retry_kind;
  std::uint32_t retry_count;
  std::int64_t timeout_ms;
  void (*perform)(const Call*, Result*);
  void (*retry_in)(const Call*, const Failure*, std::int64_t count, Answer*);
  void (*exhausted)(const Call*, const Failure*, Answer*);
};

struct Library {
  std::uint32_t abi;
  std::uint32_t size;
  Text built_with;
  std::size_t job_count;
  const JobClass* const* jobs;
  void (*set_up)(Result*);
  std::size_t (*death_handler_count)();
  void (*run_death_handlers)(const Call*, const Failure*);
  void (*reserved[6])();
};

int set_ups = 0;

void set_up(Result* result) {
  ++set_ups;
  result->kind = 0;
}
std::size_t count() { return 1; }
void death(const Call* call, const Failure* failure) {
  if (const char* path = std::getenv("MIDDLEWARE_TEST_NOTES")) {
    std::FILE* file = std::fopen(path, "a");
    std::fprintf(file, "first death %.*s: %.*s\n", static_cast<int>(call->jid.size), call->jid.data,
                 static_cast<int>(failure->message.size), failure->message.data);
    std::fclose(file);
  }
}

// Fails with what it was given, and whether all that it knows was there.
void perform(const Call* call, Result* result) {
  static char message[500];
  const int size = std::snprintf(message, sizeof message, "%.*s, %lld ms left, set up %d times, %s",
                                 static_cast<int>(call->args.size), call->args.data,
                                 static_cast<long long>(call->time_left_ms(call->host)), set_ups,
                                 call->size >= sizeof(Call) ? "whole" : "short");
  result->kind = 1;
  result->error_class = {"First::Error", 12};
  result->message = {message, static_cast<std::size_t>(size)};
}

const JobClass job{sizeof(JobClass), {"FirstJob", 8}, 2, 4, 0, perform, nullptr, nullptr};
const JobClass* const jobs[] = {&job};
const Library library{1, sizeof(Library), {"the first headers", 17}, 1, jobs, set_up, count, death, {}};

}  // namespace first

extern "C" __attribute__((visibility("default"))) const first::Library* brood_job_library() { return &first::library; }
