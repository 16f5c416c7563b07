// A job library of the first ABI, in C.  It includes none of brood's headers: the structs are written down by hand, as
// <brood/abi.hpp> had them when the number was 1.
//
// This file is never changed while that number stays: it stands for all libraries that are built and will not be built
// again.  Where it fails, brood has broken its word to them.
//
// Built four times: as it is; OLDER, as if its headers had less; NEWER, as if they had more; MIDDLEWARE, without jobs.
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
  const char* data;
  size_t size;
};

struct iteration_state {
  size_t size;
  int64_t executions;
  double run_seconds;
  struct text cursor;
  uint32_t cancelled;
  uint32_t unused;
};

struct iterations {
  size_t size;
  int64_t max_runtime_ms;
  int (*interrupt)(void* host);
  uint32_t (*load)(void* host, struct iteration_state* state);
  int (*save)(void* host, const struct iteration_state* state);
  void (*end)(void* host);
};

struct call {
  size_t size;
  struct text job_class, jid, queue;
  struct text args;
  struct text payload;
  int64_t earlier_attempts;
  void* host;
  int (*stopping)(void* host);
  void (*log)(void* host, uint32_t level, struct text message);
  int64_t (*time_left_ms)(void* host);
  void (*set_time_left)(void* host, int64_t ms);
  struct text capsule;
  const struct iterations* iterations;
};

struct result {
  size_t size;
  uint32_t kind;
  uint32_t unused;
  struct text error_class, message;
};

struct failure {
  size_t size;
  struct text error_class, message;
  uint32_t crashed;
  uint32_t unused;
};

struct answer {
  size_t size;
  uint32_t kind;
  uint32_t unused;
  int64_t delay_seconds;
  struct text error_class, message;
};

struct changes {
  size_t size;
  struct text job_class, args, payload;
};

struct inside {
  size_t size;
  void* host;
  void (*run)(void* host, const struct changes*, struct result*);
};

struct occasion {
  size_t size;
  uint32_t kind;
  int32_t slot;
  struct text capsule;
  const struct call* call;
  const struct failure* failure;
  struct text report;
  void* host;
  void (*log)(void* host, uint32_t level, struct text message);
};

struct job_class {
  size_t size;
  struct text name;
  uint32_t retry_kind;
  uint32_t retry_count;
  int64_t timeout_ms;
  void (*perform)(const struct call*, struct result*);
#ifndef OLDER
  void (*retry_in)(const struct call*, const struct failure*, int64_t count, struct answer*);
  void (*exhausted)(const struct call*, const struct failure*, struct answer*);
#endif
#ifdef NEWER
  const char* of_tomorrow;
#endif
};

struct library {
  uint32_t abi;
  uint32_t size;
  struct text built_with;
  size_t job_count;
  const struct job_class* const* jobs;
#ifndef OLDER
  void (*set_up)(struct result*);
  uint64_t (*registered)(void);
  void (*run_middleware)(const struct call*, const struct inside*, struct result*);
  void (*run_error_handlers)(const struct call*, const struct failure*);
  void (*run_death_handlers)(const struct call*, const struct failure*);
  void (*run_event_handlers)(const struct occasion*, struct result*);
#endif
#ifdef NEWER
  const char* of_tomorrow;
#endif
};

#define TEXT(literal) \
  { literal, sizeof literal - 1 }
#define SHOWN(text) (int)(text).size, (text).data

static FILE* notes(void) {
  const char* path = getenv("ABI_NOTES");
  FILE* file = path == NULL ? NULL : fopen(path, "a");
  return file == NULL ? stderr : file;
}

#define NOTE(...)                     \
  do {                                \
    FILE* file = notes();             \
    fprintf(file, __VA_ARGS__);       \
    if (file != stderr) fclose(file); \
  } while (0)

static int says(struct text text, const char* word) {
  const size_t length = strlen(word);
  for (size_t i = 0; i + length <= text.size; ++i) {
    if (memcmp(text.data + i, word, length) == 0) return 1;
  }
  return 0;
}

#ifndef MIDDLEWARE

// Tells all that it was told, and ends as its argument says.
static void perform(const struct call* call, struct result* result) {
  const struct text greeting = TEXT("greetings from C");
  call->log(call->host, 2, greeting);
  NOTE("perform %.*s %.*s of %.*s in %.*s, attempt %lld, payload %s, sizes %s\n", SHOWN(call->job_class),
       SHOWN(call->args), SHOWN(call->queue), SHOWN(call->capsule), (long long)call->earlier_attempts + 1,
       says(call->payload, "\"jid\":\"") && call->jid.size == 24 ? "whole" : "cut",
       call->size >= sizeof *call && result->size >= sizeof *result ? "right" : "wrong");
  if (says(call->args, "deadline")) {
    const int64_t before = call->time_left_ms(call->host);
    call->set_time_left(call->host, 60000);
    const int64_t after = call->time_left_ms(call->host);
    NOTE("deadline %s, then %s, %s\n",
         before < 0       ? "none"
         : before <= 5000 ? "within its timeout"
                          : "far",
         after > 5000 && after <= 60000 ? "moved" : "as before", call->stopping(call->host) ? "stopping" : "going on");
  }
  if (says(call->args, "crash")) {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  if (says(call->args, "fail")) {
    const struct text error_class = TEXT("Witness::Error"), message = TEXT("as it was asked");
    result->kind = 1;
    result->error_class = error_class;
    result->message = message;
    return;
  }
  result->kind = 0;
}

#ifndef OLDER

// Three rows; the first run stops before the second.
static void go_through_rows(const struct call* call, struct result* result) {
  const struct iterations* worker = call->iterations;
  struct iteration_state state;
  memset(&state, 0, sizeof state);
  state.size = sizeof state;
  if (worker->load(call->host, &state) != 0) {
    result->kind = 1;
    return;
  }
  int row = state.cursor.size == 0 ? 0 : atoi(state.cursor.data);
  NOTE("rows from %d, %lld runs before, %s\n", row, (long long)state.executions,
       state.cancelled ? "cancelled" : "wanted");
  const int64_t executions = state.executions + 1;
  for (; row < 3; ++row) {
    char cursor[16];
    const int length = snprintf(cursor, sizeof cursor, "%d", row);
    struct iteration_state now = {sizeof now, executions, 0.5, {cursor, (size_t)length}, 0, 0};
    const int cancelled = worker->save(call->host, &now);
    if (worker->interrupt(call->host) || (executions == 1 && row == 1)) {
      result->kind = 2;
      return;
    }
    NOTE("row %d%s\n", row, cancelled ? " of what is cancelled" : "");
  }
  worker->end(call->host);
  result->kind = 0;
}

static void retry_in(const struct call* call, const struct failure* failure, int64_t count, struct answer* answer) {
  NOTE("retry_in %.*s %lld: %.*s, %.*s%s\n", SHOWN(call->job_class), (long long)count, SHOWN(failure->error_class),
       SHOWN(failure->message), failure->crashed ? ", crashed" : "");
  answer->kind = 1;
  answer->delay_seconds = 5000;
}

static void exhausted(const struct call* call, const struct failure* failure, struct answer* answer) {
  NOTE("exhausted %.*s: %.*s\n", SHOWN(call->args), SHOWN(failure->message));
  answer->kind = says(call->args, "discard") ? 2 : 0;
}

static void run_error_handlers(const struct call* call, const struct failure* failure) {
  NOTE("error %.*s: %.*s%s\n", SHOWN(call->args), SHOWN(failure->error_class), failure->crashed ? ", crashed" : "");
}

static void run_death_handlers(const struct call* call, const struct failure* failure) {
  NOTE("death %.*s: %.*s\n", SHOWN(call->args), SHOWN(failure->error_class));
}

static void run_event_handlers(const struct occasion* occasion, struct result* result) {
  const struct text heard = TEXT("an event reached C");
  occasion->log(occasion->host, 1, heard);
  if (occasion->kind == 7) {
    NOTE("event 7: %.*s, %.*s, report %s\n", SHOWN(occasion->call->args), SHOWN(occasion->failure->error_class),
         says(occasion->report, "SIGSEGV") ? "whole" : "cut");
  } else {
    NOTE("event %u in slot %d of %.*s\n", occasion->kind, occasion->slot, SHOWN(occasion->capsule));
  }
  result->kind = 0;
}

static uint64_t registered(void) { return 2 | 4 | (uint64_t)255 << 8; }
static void set_up(struct result* result) { result->kind = result->size >= sizeof *result ? 0 : 1; }
static void run_middleware(const struct call* call, const struct inside* inside, struct result* result) {
  (void)call, (void)inside;
  result->kind = 1;  // of a library with jobs it is not asked for
}
#endif

#if defined OLDER
static const struct job_class job = {sizeof job, TEXT("Older"), 2, 7, 0, perform};
static const struct job_class* const jobs[] = {&job};
static const struct library library = {1, sizeof library, TEXT("older headers"), 1, jobs};
#elif defined NEWER
static const struct job_class job = {sizeof job, TEXT("Newer"), 0, 0, 0, perform, retry_in, exhausted, "perhaps"};
static const struct job_class rows = {sizeof rows, TEXT("NewerRows"), 0, 0, 0, go_through_rows, NULL, NULL, "perhaps"};
static const struct job_class* const jobs[] = {&job, &rows};
static const struct library library = {1,
                                       sizeof library,
                                       TEXT("newer headers"),
                                       2,
                                       jobs,
                                       set_up,
                                       registered,
                                       run_middleware,
                                       run_error_handlers,
                                       run_death_handlers,
                                       run_event_handlers,
                                       "perhaps"};
#else
static const struct job_class job = {sizeof job, TEXT("Witness"), 2, 7, 5000, perform, retry_in, exhausted};
static const struct job_class rows = {sizeof rows, TEXT("WitnessRows"), 0, 0, 0, go_through_rows, NULL, NULL};
static const struct job_class* const jobs[] = {&job, &rows};
static const struct library library = {1,
                                       sizeof library,
                                       TEXT("the first headers"),
                                       2,
                                       jobs,
                                       set_up,
                                       registered,
                                       run_middleware,
                                       run_error_handlers,
                                       run_death_handlers,
                                       run_event_handlers};
#endif

#else

static void run_middleware(const struct call* call, const struct inside* inside, struct result* result) {
  struct changes changes;
  struct result inner;
  memset(&changes, 0, sizeof changes);
  memset(&inner, 0, sizeof inner);
  changes.size = sizeof changes;
  inner.size = sizeof inner;
  if (says(call->args, "change")) {
    const struct text args = TEXT("[\"changed\"]");
    changes.args = args;
  }
  inside->run(inside->host, &changes, &inner);
  NOTE("around %.*s: %u\n", SHOWN(call->job_class), inner.kind);
  result->kind = inner.kind;
  result->error_class = inner.error_class;
  result->message = inner.message;
}

static uint64_t registered(void) { return 1; }
static const struct library library = {
    1, sizeof library, TEXT("the first headers"), 0, NULL, NULL, registered, run_middleware, NULL, NULL, NULL};

#endif

__attribute__((visibility("default"))) const struct library* brood_job_library(void) { return &library; }
