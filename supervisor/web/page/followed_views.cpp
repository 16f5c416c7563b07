#include "supervisor/web/page/followed_views.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "supervisor/web/page/parts.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto shortest_pause = 2s;
constexpr int pause_for_work = 20;  // times as long as the work took
constexpr auto beats_every = 15s;

const std::shared_ptr<const std::string>& beat() {
  // Proxies see the comment as traffic.  A script sees only events, and notices a dead connection by the missing beat.
  static const auto text = std::make_shared<const std::string>(": \n" + event_text("beat", ""));
  return text;
}

std::string name_of_view(const FollowedViews::View& view) {
  return std::string(name_of(view.role)) + " " + std::string(view.route->path) + "?" + view.query;
}

std::size_t number_of(Lane lane) { return static_cast<std::size_t>(lane); }

}  // namespace

FollowedViews::FollowedViews(EventLoop& loop, Make make)
    : make_(std::move(make)), timer_(loop, [this] { advance(); }) {}

bool FollowedViews::has_room() const {
  std::size_t streams = 0;
  for (const auto& [name, followed] : views_) {
    for (const Stream& stream : followed.streams) streams += stream.reply.is_gone() ? 0 : 1;
  }
  return streams < most_streams;
}

bool FollowedViews::add(const View& view, const std::string& token, HttpServer::Reply reply) {
  if (!has_room()) return false;
  const HttpResponse head{.type = "text/event-stream",
                          .body = "retry: 5000\n\n" + event_text("hello", token),
                          .headers = {{"X-Accel-Buffering", "no"}}};
  if (!reply.begin_stream(head)) return false;
  if (views_.empty()) last_beat_ = steady_now();
  const auto [at, is_new] = views_.try_emplace(name_of_view(view), Followed{view, {}, steady_now() + shortest_pause});
  at->second.streams.push_back({std::move(reply)});
  advance();
  return true;
}

void FollowedViews::end_all() {
  for (auto& [name, followed] : views_) {
    for (const Stream& stream : std::exchange(followed.streams, {})) stream.reply.end_stream();
  }
}

void FollowedViews::advance() {
  const SteadyTime now = steady_now();
  for (auto& [name, followed] : views_)
    std::erase_if(followed.streams, [](const auto& one) { return one.reply.is_gone(); });
  std::erase_if(views_, [](const auto& one) { return one.second.streams.empty(); });
  if (views_.empty()) return;
  if (now - last_beat_ >= beats_every) {
    last_beat_ = now;
    for (const auto& [name, followed] : views_) {
      for (const Stream& stream : followed.streams) stream.reply.keep_alive(beat());
    }
  }
  // For each idle lane, the view that has waited for longest.
  std::array<std::map<std::string, Followed>::iterator, 3> next;
  next.fill(views_.end());
  SteadyTime wake = last_beat_ + beats_every;
  for (auto at = views_.begin(); at != views_.end(); ++at) {
    const std::size_t lane = number_of(lane_of(*at->second.view.route, at->second.view.query));
    if (is_busy_[lane]) continue;
    if (at->second.due > now)
      wake = std::min(wake, at->second.due);
    else if (next[lane] == views_.end() || at->second.due < next[lane]->second.due)
      next[lane] = at;
  }
  timer_.start_at(wake);
  for (const auto& at : next) {
    if (at != views_.end()) look_at(at->first, at->second);
  }
}

void FollowedViews::look_at(const std::string& name, Followed& followed) {
  const SteadyTime began = steady_now();
  const std::size_t lane = number_of(lane_of(*followed.view.route, followed.view.query));
  is_busy_[lane] = make_(followed.view, [this, name, lane, began](std::shared_ptr<const std::string> event) {
    is_busy_[lane] = false;
    made(name, began, std::move(event));
    advance();
  });
  if (is_busy_[lane]) return;
  followed.due = began + shortest_pause;
  timer_.start_in(shortest_pause);
}

void FollowedViews::made(const std::string& name, SteadyTime began, std::shared_ptr<const std::string> event) {
  const auto at = views_.find(name);
  if (at == views_.end()) return;
  Followed& followed = at->second;
  const SteadyTime now = steady_now();
  followed.due = now + std::max<SteadyTime::duration>(shortest_pause, pause_for_work * (now - began));
  std::string digest = digest_of(*event);
  const bool differs = digest != followed.digest;
  followed.digest = std::move(digest);
  for (Stream& stream : followed.streams) {
    if (differs || stream.is_new) stream.reply.send(event);
    stream.is_new = false;
  }
}

std::string lasting_query(std::string_view query) {
  std::string lasting;
  const FormValues values = FormValues::parse(query);
  for (const auto& [name, value] : values.pairs()) {
    if (name == "said" || name == "proof" || name == "refresh") continue;
    lasting += (lasting.empty() ? "" : "&") + percent_encoded_value(name) + "=" + percent_encoded_value(value);
  }
  return lasting;
}

}  // namespace brood
