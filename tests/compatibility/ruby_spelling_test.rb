# brood writes payloads as Ruby spells them: Sidekiq's API finds a member by parsing it and writing it again, and if the
# result differs it leaves two.
require_relative "support"

class RubySpellingTest < CompatibilityTest
  STRANGE = "quote \" slash / \\ tab \t line\nbell \a escape \e del \u007f nul-free \u2028\u2029 ü 😀 <b>&amp;</b>"

  PROGRAMS = Dir.mktmpdir("brood-programs-")
  Minitest.after_run { FileUtils.remove_entry(PROGRAMS) }

  FileUtils.cp("/bin/sh", PROGRAMS)

  def self.program(name, text, shell = "/bin/sh")
    File.write(File.join(PROGRAMS, name), "#!#{shell}\n#{text}\n", perm: 0o755)
    File.join(PROGRAMS, name)
  end

  start workers: 3, queues: %w[default q:1], config: <<~TOML
    [worker]
    memory_limit = "300M"
    timeout_grace = "100ms"
    [commands.Rejects]
    run = ["#{program('rejects', %(printf '%s\\\\377\\n' "$1" >&2; exit 3))}", "{0}"]
    [commands.Aborts]
    run = ["#{program('aborts', 'echo going down >&2; kill -ABRT $$')}"]
    [commands.Hangs]
    run = ["#{program('hangs', 'echo waiting >&2; sleep 60')}"]
    timeout = "200ms"
    [commands.Missing]
    run = ["#{program('<missing>', 'exit 0', "#{PROGRAMS}/sh")}"]
  TOML
  # brood uses the files that it has opened, so a program is only missing if its interpreter is.
  File.delete(File.join(PROGRAMS, "sh"))

  def push(job_class, *args, **members)
    Sidekiq::Client.push({ "class" => job_class, "args" => args }.merge(members.transform_keys(&:to_s)))
  end

  # The bytes of all members, by jid.
  def texts(set)
    redis.command("ZRANGE", set, "0", "-1").to_h { |text| [JSON.parse(text)["jid"], text] }
  end

  def text_of(jid, set) = eventually("#{jid} in #{set}", 60) { texts(set)[jid] }

  def assert_rubys_spelling(text) = assert_equal(JSON.generate(JSON.parse(text)), text)

  # Each operation of Sidekiq's API leaves one job, in its right place.
  def assert_moved_by_rubys_api(set, jid)
    find = -> { set.new.select { |entry| entry.jid == jid } }
    find.().first.reschedule(Time.now + 7_777)
    assert_equal 1, find.().size, "rescheduled: #{find.().map(&:item)}"
    assert_in_delta Time.now.to_f + 7_777, find.().first.score, 60
    if set != Sidekiq::DeadSet
      find.().first.kill
      assert_empty find.()
      find = -> { Sidekiq::DeadSet.new.select { |entry| entry.jid == jid } }
    end
    assert_equal 1, find.().size
    find.().first.delete
    assert_empty find.()
  end

  def self.test_that_it_is_rubys(name, set, &make)
    define_method("test_#{name}") do
      only_brood
      jid = instance_eval(&make)
      assert_rubys_spelling text_of(jid, set.new.name)
      assert_moved_by_rubys_api set, jid
    end
  end

  RETRY, DEAD, SCHEDULE = Sidekiq::RetrySet, Sidekiq::DeadSet, Sidekiq::ScheduledSet

  test_that_it_is_rubys("an_exception", RETRY) { push "Fail", STRANGE, backtrace: true, tags: [STRANGE] }
  test_that_it_is_rubys("an_exception_in_milliseconds", RETRY) { push "Fail", STRANGE, created_at: (Time.now.to_f * 1000).to_i }
  test_that_it_is_rubys("a_death", DEAD) { push "Fail", STRANGE, retry: 0 }
  test_that_it_is_rubys("what_is_no_exception", RETRY) { push "FailOddly" }
  test_that_it_is_rubys("a_retry_queue", RETRY) { push "Fail", "x", retry_queue: "q:1" }
  test_that_it_is_rubys("an_unknown_class", RETRY) { push "No#{STRANGE}" }
  test_that_it_is_rubys("a_wrong_argument", RETRY) { push "Sleep", STRANGE }
  test_that_it_is_rubys("a_segfault", RETRY) { push "Segfault" }
  test_that_it_is_rubys("a_segfault_that_kills", DEAD) { push "Segfault", retry: 0 }
  test_that_it_is_rubys("an_abort", RETRY) { push "Abort" }
  test_that_it_is_rubys("an_exit", RETRY) { push "Exit", 7 }
  test_that_it_is_rubys("a_timeout", RETRY) { push "Stubborn", 60_000 }
  if ENV["BROOD_SANITIZE"].to_s.empty? # a sanitizer has a limit of its own
    test_that_it_is_rubys("a_lack_of_memory", RETRY) { push "Gobble", 600, 0 }
  end
  test_that_it_is_rubys("an_iteration", RETRY) { push "CopyLines", "/nonexistent", "/nonexistent/either" }
  test_that_it_is_rubys("a_program_that_fails", RETRY) { push "Rejects", STRANGE }
  test_that_it_is_rubys("a_program_that_crashes", RETRY) { push "Aborts" }
  test_that_it_is_rubys("a_program_that_hangs", RETRY) { push "Hangs" }
  test_that_it_is_rubys("a_program_that_is_missing", RETRY) { push "Missing" }

  { "retry" => RETRY, "dead" => DEAD }.each do |outcome, set|
    test_that_it_is_rubys("a_job_that_is_ended_by_hand_into_#{outcome}", set) do
      jid = push "Sleep", 60_000
      eventually("it runs") { works.any? { |work| work.payload["jid"] == jid } }
      brood redis, "kill", jid, "--outcome", outcome, environment: server.environment
      jid
    end
  end

  def test_crashes_again_and_again_until_it_dies
    only_brood
    jid = push "Segfault"
    2.times do |count|
      assert_rubys_spelling eventually("crash #{count}") { texts("retry")[jid] }
      RETRY.new.find_job(jid).retry
    end
    assert_rubys_spelling text_of(jid, "dead")
    assert_moved_by_rubys_api DEAD, jid
  end

  # A user's input is read as JSON, and written as Ruby would.
  def test_what_the_command_line_schedules
    only_brood
    jid = brood(redis, "enqueue", "Any", "--args", %([ 1, 1.50, 1e3, -0, 1E-7, 1e22, "\\u00e9\\/\\u001F", {"a" : 1, "b":[ ], "a":2} ]),
                "--in", "1h", "--retry", "3", "--tag", STRANGE, "--timeout", "90s").strip
    text = text_of(jid, "schedule")
    assert_rubys_spelling text
    assert_equal [1, 1.5, 1000.0, 0, 1e-7, 1e22, "é/\u001f", { "a" => 2, "b" => [] }], JSON.parse(text)["args"]
    assert_moved_by_rubys_api SCHEDULE, jid
    assert_rubys_spelling text_of(brood(redis, "enqueue", "Any", " 7 ", "0.10", STRANGE, "--in", "1h").strip, "schedule")
  end

  def test_what_the_command_line_pushes_in_bulk
    only_brood
    lines = File.join(redis.directory, "jobs.ndjson")
    File.write(lines, <<~JSON)
      { "class": "Any", "args": [ 1.0, 2.50 ], "queue": "q:1", "jid": "bulk1", "at": 2e9, "tags": [ "a" , "b" ], "tags": [ "c" ] }
      {"args":["\\u20ac\\/"],"class":"Any","at":2000000000.25,"jid":"bulk2","retry":false,"dead":false,"cattr":{"x" : 1.10},"created_at":1795237318.50}
    JSON
    brood redis, "enqueue", "--bulk", lines
    %w[bulk1 bulk2].each do |jid|
      assert_rubys_spelling text_of(jid, "schedule")
      assert_moved_by_rubys_api SCHEDULE, jid
    end
  end

  def test_a_number_that_ruby_cannot_hold_is_kept
    only_brood
    numbers = "[3.14159265358979323846,1180591620717411303424,0.1000000000000000055511151231257827]"
    jid = brood(redis, "enqueue", "Any", "--args", numbers, "--in", "1h").strip
    assert_includes text_of(jid, "schedule"), %("args":#{numbers})
  end

  # A retry without jid and times, once it is due.
  def test_what_comes_due_gets_what_it_lacks
    only_brood
    redis.command("ZADD", "schedule", "1", JSON.generate("class" => "Fail", "args" => ["due"], "retry" => 5))
    text = eventually("its retry", 60) { texts("retry").values.find { |member| JSON.parse(member)["args"] == ["due"] } }
    assert_rubys_spelling text
    assert_moved_by_rubys_api RETRY, JSON.parse(text)["jid"]
  end
end
