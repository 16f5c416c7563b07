#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brood/options.hpp>

#include "shared/base/clock.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// A batch counts how its jobs end.  The script that ends a job counts it: see LetGo in holdings.hpp and
// pieces/batches.lua.  A batch and all its jobs lie on one shard.
//
//   brood:batches                  a sorted set: all bids by their expiry, in epoch seconds
//   brood:batch:<bid>              a hash:
//     total succeeded failing dead   how many jobs; pending is total - succeeded - dead, and failing a part of pending
//     open                           how many pushes have not returned: until then no callback is pushed
//     push:<token>                   for each of these "<number of its last slice> <host> <pid> <since>": a slice that
//                                    is sent twice is pushed once
//     on:<event>:<n>                 a callback: "<queue> <ms or s> <jid> <payload without its last brace>"
//     fired:<event>                  when its callbacks were pushed, in epoch seconds
//     calls:<event> callback:<jid>   how many of these have not ended; the event of each
//     closed:<event>                 when all of them had ended
//     parent depth opened_in         the batch that waits for this one; how deep it is nested; its maker's batch
//     kids kids:<event>              how many children, and how many of these have closed the event
//     opening                        how many children are being pushed by jobs of this batch
//     died cancelled                 whether a job has ever died; when it was cancelled, in epoch seconds
//     description created_at made_by
//     steps                          of a flow: how many (flow.hpp)
//   brood:batch:<bid>:states       two bits for each job by its index: 0 pending, 1 failing, 2 dead, 3 succeeded.  So a
//                                  million jobs take 250 KB, and a job that runs twice counts once
//   brood:batch:<bid>:children     a set of bids
//   brood:batch:<bid>:opening      a hash: for each child that a job or callback of this batch is pushing, the index of
//                                  that job or the callback's jid.  If that ends first, its process is dead, and the
//                                  child is cancelled
inline constexpr int deepest_batch = 32;
inline constexpr std::size_t max_jobs_pushed_to_batch = 1'000;

// A push into a batch that has not returned.
struct BatchPush {
  std::string bid;
  std::string token;   // of this push alone
  std::string pusher;  // "<host> <pid> <epoch seconds>"
};

struct NewBatch {
  BatchPush push;
  std::string description;
  std::string parent;   // bid; empty: none
  std::string made_in;  // bid of the batch of the job or callback that makes it; empty: none
  std::string made_by;  // the index of that job in its batch, or the callback's jid
  std::vector<std::pair<std::string, std::string>>
      callbacks;  // fields and values, by callback_field() and callback_value()
};
std::string callback_field(std::string_view event, std::size_t number);  // counted from 1
// `payload` is a whole job without enqueued_at, which is to be written in milliseconds or seconds.
std::string callback_value(std::string_view queue, bool milliseconds, std::string_view jid, std::string_view payload);

ScriptCall open_batch(const NewBatch& batch, WallTime now);
ScriptCall reopen_batch(const BatchPush& push);
// `holds`: the push was begun by open_batch or reopen_batch; else a job pushes into its own batch.
ScriptCall close_push(const BatchPush& push, bool holds);
ScriptCall cancel_batch(std::string_view bid);
ScriptCall delete_batch(std::string_view bid);

// The answer of these scripts.  Unless it is `ok`, nothing has changed.
enum class BatchAnswer { ok, none, cancelled, ended, exists, no_parent, parent_ended, parent_cancelled, too_deep };
BatchAnswer read_batch_answer(ReplyView reply);  // throws UnexpectedReply

struct BatchJob {
  std::string jid;
  std::string score_text;  // for the schedule
  std::string payload;     // a whole job, without `bid`
  struct Lock {
    std::string name;
    std::chrono::milliseconds longest{0};  // 0: as long as the job
    OnConflict on_conflict = OnConflict::drop;
  };
  std::optional<Lock> lock = {};
};
// Pushes to one queue; to the schedule if `queue` is empty.  `number` counts the slices of the push from 1.  `next` is
// the presumed index of the next job of the batch.
ScriptCall push_to_batch(const BatchPush& push, std::uint64_t number, std::uint32_t next, std::string_view queue,
                         const std::vector<BatchJob>& jobs);
struct PushedToBatch {
  BatchAnswer answer = BatchAnswer::ok;
  bool before = false;                     // this slice was pushed before
  bool moved = false;                      // nothing was pushed: send it again with `next`
  std::optional<std::uint32_t> next = {};  // the index of the next job; nullopt: unknown
  std::vector<std::string> holders;        // as from read_holders()
};
PushedToBatch read_pushed_to_batch(ReplyView reply);  // throws UnexpectedReply

// The payload of a job at this place in a batch, as the script builds it.
std::string with_place_in_batch(std::string_view payload, std::string_view bid, std::uint32_t index);

Command ask_batch_exists(std::string_view bid);
bool read_batch_exists(ReplyView reply);

// `indices` as "7,8".  `end` is "done", "failed" or "dead <seconds>".
ScriptCall end_jobs_in_batch(std::string_view bid, std::string_view indices, std::string_view end);
ScriptCall end_callback_in_batch(std::string_view bid, std::string_view jid, std::string_view end);

Command ask_batch_cancelled(std::string_view bid);
bool read_batch_cancelled(ReplyView reply);

// ---- For operators

enum class BatchState { open, running, complete, success, finished, cancelled };
std::string_view to_string(BatchState state);

struct BatchRecord {
  std::string bid, description, parent;
  BatchState state = BatchState::running;
  std::int64_t total = 0, pending = 0, failing = 0, dead = 0, succeeded = 0;
  std::int64_t steps = 0;  // 0: it is no flow
  std::int64_t open = 0;   // how many of its pushers hold it open; jobs that push into their own batch do not
  std::optional<WallTime> created_at, cancelled_at;
  bool has_died = false;              // a job of it or of a child has died, perhaps one that was retried since
  std::vector<std::string> children;  // at most most_children_shown
  std::int64_t kids = 0;              // how many there are
  std::map<std::string, std::int64_t> fired, closed;  // events, epoch seconds
  struct Callback {
    std::string event, job_class, jid, queue;
    bool has_ended = false;
  };
  std::vector<Callback> callbacks;
  std::vector<std::string> pushers;  // of pushes that have not returned
};
inline constexpr std::size_t most_children_shown = 1'000;

std::vector<Command> ask_batch(std::string_view bid);
std::optional<BatchRecord> read_batch(std::string_view bid, ReplyView hash, ReplyView children);
// Asks for a page of a batch's children; read_scan() reads it.  The first page begins at scan_begins.
Command ask_children(std::string_view bid, std::string_view position);

// Asks for a page of the batches that are kept longest: first those with dead jobs, then the pending ones, the latest
// first.
Command ask_batches(std::size_t first, std::size_t count);
std::vector<std::string> read_batches(ReplyView reply);
Command count_batches();

// Finds the jobs that have not ended, from the index `first` on, among `count` (at most 1,000) of them.
ScriptCall find_unended(std::string_view bid, std::uint32_t first, std::uint32_t count);
std::vector<std::uint32_t> read_unended(ReplyView reply);

}  // namespace brood
