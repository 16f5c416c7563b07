#include <brood/client.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "shared/api/opening.hpp"
#include "shared/api/push/push_writer.hpp"
#include "shared/json/json.hpp"
#include "supervisor/cli/access/ask_published_classes.hpp"
#include "supervisor/cli/lists/shown_class.hpp"
#include "supervisor/web/page/json_answer.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"

namespace brood {
namespace {

std::vector<PublishedClasses::Said> published_class(const PublishedClasses& published, const std::string& name) {
  std::vector<PublishedClasses::Said> said = published.find(name);
  if (said.empty()) throw Refused(404, "No worker publishes a job class of that name.");
  return said;
}

std::string input_name(std::size_t field) { return "field" + std::to_string(field); }

bool is_text(const FieldType& type) {
  return type.kind == FieldType::Kind::string || type.kind == FieldType::Kind::one_of;
}

Html field_input(const PublishedClass& known, std::size_t i) {
  const PublishedClass::Field& field = known.fields[i];
  const std::string name = input_name(i);
  const std::string_view kind = known.encrypts && i + 1 == known.fields.size() ? "password" : "text";
  const Html label("{}<small>{}</small>", field.name, field.type.text());
  if (i < known.required)
    return Html("<label>{}<input type=\"{}\" name=\"{}\" autocomplete=\"off\"></label>", label, kind, name);
  return Html("<label>{}<input type=\"{}\" name=\"{}\" placeholder=\"{}\" autocomplete=\"off\"></label>", label, kind,
              name, field.usual.empty() ? std::string_view("may be left out") : std::string_view(field.usual));
}

Html push_form(const Call& call, const PublishedClass& known) {
  if (!call.may(Role::operate)) return {};
  Html inputs;
  for (std::size_t i = 0; known.knows_fields && i < known.fields.size(); ++i) inputs += field_input(known, i);
  if (!known.knows_fields)
    inputs += Html(
        "<label>Arguments<small>a JSON array</small><input name=\"args\" value=\"[]\" "
        "autocomplete=\"off\"></label>");
  inputs += Html("<label>Queue<input name=\"queue\" placeholder=\"{}\" autocomplete=\"off\"></label>",
                 known.queue.empty() ? std::string_view("default") : std::string_view(known.queue));
  return section("Push a job", Html("<form class=\"filter\" method=\"post\" action=\"{}\">{}{}<button "
                                    "class=\"big\">Push</button></form>",
                                    Url("/classes/push").with("class", known.name), token_field(call), inputs));
}

// A field's value as a user typed it.  Text stays text; anything else becomes JSON if it parses.
std::string json_of_input(const PublishedClass::Field& field, const std::string& typed) {
  if (typed.empty() && field.type.nullable) return "null";
  if (!is_text(field.type) && is_json(typed)) return typed;
  return json_string(typed);
}

std::string args_of_form(const Call& call, const PublishedClass& known) {
  if (!known.knows_fields) return call.form.value("args");
  std::size_t given = known.fields.size();
  while (given > known.required && call.form.value(input_name(given - 1)).empty()) --given;
  std::string args;
  for (std::size_t i = 0; i < given; ++i) {
    const std::string typed = call.form.value(input_name(i));
    const bool takes_usual = typed.empty() && i >= known.required && !known.fields[i].usual.empty();
    args += (i == 0 ? "" : ",") + (takes_usual ? known.fields[i].usual : json_of_input(known.fields[i], typed));
  }
  return "[" + args + "]";
}

}  // namespace

HttpResponse show_one_class(Call& call) {
  const std::string name = call.query.value("class");
  const auto said = published_class(ask_published_classes(call.site.shards()), name);
  Page page{.title = name, .body = {}};
  const PublishedClass& known = said.front().known;
  for (const PublishedClasses::Said& one : said) {
    Facts facts;
    facts.add("Build", Html("{} {}", code(one.build.name),
                            one.build.runs ? badge(Tone::good, "runs") : badge(Tone::warn, "does not run")));
    facts.add(one.build.runs ? "Since" : "Seen",
              ago(static_cast<double>(one.build.runs ? one.build.since : one.build.seen)));
    for (const auto& [option, value] : shown_options(one.known)) facts.add(option, value);
    PageTable fields("Its fields", {{"Field"}, {"Type"}, {"Without it"}});
    for (std::size_t i = 0; i < one.known.fields.size(); ++i)
      fields.add({code(one.known.fields[i].name), Html("{}", one.known.fields[i].type.text()),
                  i < one.known.required              ? Html("<span class=\"dim\">required</span>")
                  : one.known.fields[i].usual.empty() ? Html("may be left out")
                                                      : code(one.known.fields[i].usual)});
    page.body += section(said.size() == 1 ? "What it says" : "What a build says",
                         facts.html() + fields.html(call, one.known.knows_fields ? "It takes no arguments."
                                                                                 : "Its fields are not known."));
  }
  page.body += push_form(call, known);
  return page_response(call, std::move(page));
}

HttpResponse push_of_class(Call& call) {
  const PublishedClasses published = ask_published_classes(call.site.shards());
  Push push;
  push.job_class = call.query.value("class");
  const auto said = published_class(published, push.job_class);
  const std::string queue = call.form.value("queue");
  if (!queue.empty()) push.queue = queue;
  push.args = args_of_form(call, said.front().known);
  try {
    go_by_class(push, {.queue = !queue.empty()}, published, ask_ruby_serves(call.site.shards()));
    spell_as_ruby(push);
    Client& client = call.site.client();
    call.on = "class=" + push.job_class + " queue=" + push.queue;
    const std::string jid = client.push(push);
    call.changed = jid.empty() ? 0 : 1;
    return see_other(call, Url("/classes/one").with("class", push.job_class),
                     jid.empty() ? "It was not pushed: another job holds the lock of this one."
                                 : "Job " + jid + " was pushed to the queue " + push.queue + ".");
  } catch (const std::invalid_argument& error) {
    throw Refused(400, error.what());
  }
}

HttpResponse answer_one_class(Call& call) {
  const std::string name = call.request.path.substr(call.request.path.rfind('/') + 1);
  return json_answer(200, shown_class_json(published_class(ask_published_classes(call.site.shards()), name)) + "\n");
}

}  // namespace brood
