#include "supervisor/cli/lists/process_json.hpp"

#include "shared/base/clock.hpp"

namespace brood {

JsonWriter& write_process(JsonWriter& json, const Process& process, TellEmbedded tell_embedded) {
  json.text("identity", process.identity)
      .text("hostname", process.hostname)
      .number("pid", process.pid)
      .text("tag", process.tag)
      .text("version", process.version)
      .texts("labels", process.labels)
      .texts("queues", process.queues)
      .number("concurrency", process.concurrency)
      .number("busy", process.busy)
      .truth("quiet", process.quiet);
  if (tell_embedded == TellEmbedded::yes) json.truth("embedded", process.embedded);
  if (!process.shards.empty()) json.texts("shards", process.shards);
  return json.number("rss_kb", process.rss_kb)
      .number("rtt_us", process.rtt_us)
      .decimal("started_at", epoch_seconds(process.started_at))
      .decimal("beat", epoch_seconds(process.beat));
}

}  // namespace brood
