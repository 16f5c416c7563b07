#include "supervisor/report/class_publication.hpp"

#include <utility>

#include "shared/base/log.hpp"
#include "shared/store/report/published_builds.hpp"

namespace brood {
namespace {

constexpr std::chrono::seconds longest_answer{10};

}  // namespace

ClassPublication::ClassPublication(EventLoop& loop, AsyncConnection& redis)
    : redis_(redis), again_(loop, [this] { publish(); }) {}

void ClassPublication::follow(std::vector<BuildOfClasses> builds) {
  builds_ = std::move(builds);
  publish();
}

void ClassPublication::publish() {
  if (builds_.empty()) return again_.stop();
  again_.start_in(between_publications);
  if (!redis_.connected()) return;
  for (const BuildOfClasses& build : builds_) say(build, false);
}

void ClassPublication::stop() { again_.stop(); }

void ClassPublication::say(const BuildOfClasses& build, bool with_document) {
  redis_.run_all({publish_classes(build.build, with_document ? build.document : "")}, longest_answer,
                 [this, build, with_document](const std::vector<AsyncConnection::Result>& answers) {
                   const AsyncConnection::Result& answer = answers.front();
                   if (!answer.error.empty()) return;  // Redis is away: publish() is called when it is back
                   if (!answer.ok()) return note_refused(answer.why());
                   if (std::exchange(refused_, false)) log::info("classes_are_published_again");
                   if (!read_was_published(answer.reply.view()) && !with_document) say(build, true);
                 });
}

void ClassPublication::note_refused(const std::string& why) {
  if (std::exchange(refused_, true)) return;
  log::warn("classes_not_published",
            {{"error", why}, {"hint", "pushes by other programs are not checked until Redis accepts it"}});
}

}  // namespace brood
