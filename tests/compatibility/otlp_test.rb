# Spans of real runs reach a collector: each request is checked against opentelemetry-proto's trace.proto, common.proto and
# resource.proto, as OTLP spells them in JSON.
require_relative "support"
require "open3"
require "openssl"
require "socket"
require "tempfile"
require "tmpdir"

# The allowed content of a request: names in camelCase, ids in hex, 64-bit numbers as strings, enumerators as numbers.
# Everything else is wrong.
module Schema
  def self.check(value, type, where = "request")
    case type
    when Regexp then raise "#{where}: #{value.inspect} does not match #{type.source}" unless value.is_a?(String) && type.match?(value)
    when Range then raise "#{where}: #{value.inspect} is not in #{type}" unless value.is_a?(Integer) && type.cover?(value)
    when Class then raise "#{where}: #{value.inspect} is no #{type}" unless value.is_a?(type)
    when Array then check_array(value, type.first, where)
    when Hash then check_message(value, type, where)
    when Proc then type.call(value, where)
    end
  end

  def self.check_array(value, type, where)
    raise "#{where}: no array" unless value.is_a?(Array)
    value.each_with_index { |element, i| check(element, type, "#{where}[#{i}]") }
  end

  # A name with ! is required.
  def self.check_message(value, members, where)
    raise "#{where}: no message" unless value.is_a?(Hash)
    known = members.to_h { |name, type| [name.to_s.delete_suffix("!"), type] }
    members.each_key { |name| raise "#{where}: #{name} is missing" if name.to_s.end_with?("!") && !value.key?(name.to_s.delete_suffix("!")) }
    value.each { |name, member| check(member, known.fetch(name) { raise "#{where}: #{name} is no field" }, "#{where}.#{name}") }
  end

  ONE_OF = lambda do |value, where|
    raise "#{where}: not one of AnyValue's fields" unless value.is_a?(Hash) && value.size == 1
    kinds = { "stringValue" => String, "intValue" => /\A-?\d{1,19}\z/, "doubleValue" => Float }
    check(value.values.first, kinds.fetch(value.keys.first), "#{where}.#{value.keys.first}")
  end
  KEY_VALUES = lambda do |value, where|
    check(value, [{ key!: /\A.+\z/m, value!: ONE_OF }], where)
    raise "#{where}: a key is there twice" if value.map { |one| one["key"] }.uniq.size != value.size
  end
  TIME = /\A[1-9]\d{18}\z/ # fixed64 of nanoseconds, of our days
  ID_OF_TRACE = /\A(?!0{32})[0-9a-f]{32}\z/
  ID_OF_SPAN = /\A(?!0{16})[0-9a-f]{16}\z/
  SPAN = {
    traceId!: ID_OF_TRACE, spanId!: ID_OF_SPAN, parentSpanId: ID_OF_SPAN, traceState: String, flags: 0..0x3ff, name!: /\A.+\z/,
    kind!: 5..5, startTimeUnixNano!: TIME, endTimeUnixNano!: TIME, attributes: KEY_VALUES,
    events: [{ timeUnixNano!: TIME, name!: /\A.+\z/, attributes: KEY_VALUES }],
    links: [{ traceId!: ID_OF_TRACE, spanId!: ID_OF_SPAN, traceState: String, flags: 0..0x3ff, attributes: KEY_VALUES }],
    status: { message: String, code!: 0..2 }
  }.freeze
  REQUEST = {
    resourceSpans!: [{ resource!: { attributes!: KEY_VALUES }, scopeSpans!: [{ scope!: { name!: /\Abrood\z/, version!: String }, spans!: [SPAN] }] }]
  }.freeze
end

# A server of OTLP by HTTP with chosen answers, which keeps what it accepted.
class Collector
  attr_reader :port, :heads, :wrong, :strangers

  # `tls`, an OpenSSL::SSL::SSLContext: speaks only TLS. `plain`: the caller's socket, to take over a port.
  def initialize(tls: nil, plain: TCPServer.new("127.0.0.1", 0))
    @port = plain.addr[1]
    @server = tls ? OpenSSL::SSL::SSLServer.new(plain, tls) : plain
    @scheme = tls ? "https" : "http"
    @strangers = 0
    @spans = Queue.new
    @all = []
    @heads = []
    @wrong = []
    @answers = []
    @server.start_immediately = false if tls
    @thread = Thread.new { loop { meet(@server.accept) } }
  end

  def url = "#{@scheme}://127.0.0.1:#{port}"

  # The answers to the next requests; nil: closes the connection without an answer.
  def answer_next(*answers) = @answers.concat(answers)
  def waiting = @answers.size

  def spans
    @all << @spans.pop until @spans.empty?
    @all
  end

  def span_of(jid) = spans.find { |span| attribute(span, "messaging.message.id") == jid }
  def spans_of(jid) = spans.select { |span| attribute(span, "messaging.message.id") == jid }

  private

  # A thread for each client, so that a silent one does not delay the others.
  def meet(client)
    Thread.new do
      client.accept if client.is_a?(OpenSSL::SSL::SSLSocket)
      serve(client)
    rescue OpenSSL::SSL::SSLError, SystemCallError
      @strangers += 1
      client.close
    end
  end

  OK = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".freeze

  def serve(client)
    head = client.gets("\r\n\r\n") or return
    body = client.read(head[/^content-length: (\d+)/i, 1].to_i)
    heads << head
    answer = @answers.empty? ? OK : @answers.shift
    client.write(answer) if answer
    return unless answer&.start_with?("HTTP/1.1 2")
    request = JSON.parse(body)
    begin
      Schema.check(request, Schema::REQUEST)
    rescue StandardError => e
      wrong << "#{e.message}\n#{body}"
    end
    request["resourceSpans"].each { |of| of["scopeSpans"].each { |scope| scope["spans"].each { |span| @spans << span.merge("resource" => of["resource"]) } } }
  rescue SystemCallError, OpenSSL::SSL::SSLError
    nil # it went away
  ensure
    client.close
  end
end

# Certificates of this test's own authority, in files.
class Authority
  def initialize(directory, name)
    @directory, @name = directory, name
    @key = OpenSSL::PKey::EC.generate("prime256v1")
    @certificate = certificate(@key, name, @key, name, "basicConstraints" => "critical,CA:TRUE", "keyUsage" => "critical,keyCertSign")
    write("ca", @certificate)
  end

  def ca = path("ca")
  def path(kind) = File.join(@directory, "#{@name}-#{kind}.pem")

  # A server with `names`, as in subjectAltName; with `asks` it accepts only clients of this authority.
  def server(names, asks: false)
    key = OpenSSL::PKey::EC.generate("prime256v1")
    context = OpenSSL::SSL::SSLContext.new
    context.add_certificate(certificate(key, "server", @key, @name, "subjectAltName" => names), key)
    return context unless asks
    context.ca_file = ca
    context.verify_mode = OpenSSL::SSL::VERIFY_PEER | OpenSSL::SSL::VERIFY_FAIL_IF_NO_PEER_CERT
    context
  end

  # The files of a client.
  def client
    key = OpenSSL::PKey::EC.generate("prime256v1")
    write("client", certificate(key, "client", @key, @name, {}))
    write("client-key", key)
    [path("client"), path("client-key")]
  end

  private

  def write(kind, pem) = File.write(path(kind), pem.to_pem)

  def certificate(key, name, issuer_key, issuer, extensions)
    made = OpenSSL::X509::Certificate.new
    made.version = 2
    made.serial = rand(1 << 60)
    made.subject = OpenSSL::X509::Name.parse("/CN=#{name}")
    made.issuer = OpenSSL::X509::Name.parse("/CN=#{issuer}")
    made.not_before = Time.now - 86_400
    made.not_after = Time.now + 86_400
    made.public_key = key
    factory = OpenSSL::X509::ExtensionFactory.new
    extensions.each { |extension, value| made.add_extension(factory.create_extension(extension, value)) }
    made.sign(issuer_key, "SHA256")
  end
end

def attribute(of, name)
  found = of["attributes"].find { |one| one["key"] == name }
  found && found["value"].values.first
end

class OtlpTest < CompatibilityTest
  TRACE = "0af7651916cd43dd8448eb211c80319c"
  PARENT = "b7ad6b7169203331"

  COLLECTOR = Collector.new
  HEADERS = Tempfile.create("headers").tap do |file|
    file.puts "Authorization: Bearer something-secret"
    file.close
  end
  Minitest.after_run { File.unlink(HEADERS.path) }

  start workers: 1, config: <<~TOML
    [otlp]
    endpoint = "#{COLLECTOR.url}"
    headers_file = "#{HEADERS.path}"
    service_name = "thumbnails"
    resource = ["deployment.environment.name=test"]
    [commands."ShowTrace"]
    run = ["sh", "-c", "echo $TRACEPARENT > {0}"]
  TOML

  def setup = only_brood
  def teardown = assert_empty(COLLECTOR.wrong)

  # As Ruby's instrumentation of Sidekiq injects a trace: members at the payload's top level.
  def push(job_class, *args, **members)
    Sidekiq::Client.push({ "class" => job_class, "queue" => "default", "retry" => 0, "args" => args }.merge(members.transform_keys(&:to_s)))
  end

  def told(jid) = eventually("the span of #{jid}\n#{server.log.lines.last(20).join}", 60) { COLLECTOR.span_of(jid) }

  def metrics = brood(redis, "status", "--format", "prometheus", environment: server.environment)
  def dropped(reason) = metrics[/^brood_spans_dropped_total\{[^}]*reason="#{reason}"\} (\d+)/, 1].to_i

  def exporter
    File.read("/proc/#{server.pid}/task/#{server.pid}/children").split.map(&:to_i).find do |pid|
      File.read("/proc/#{pid}/cmdline").start_with?("brood: spans") rescue false
    end
  end

  def test_01_a_run_is_linked_to_the_span_that_pushed_its_job
    jid = push("Greet", traceparent: "00-#{TRACE}-#{PARENT}-01", tracestate: "rojo=00f067aa0ba902b7")
    span = told(jid)
    assert_equal "default process", span["name"]
    refute_equal TRACE, span["traceId"]
    assert_nil span["parentSpanId"]
    assert_equal [{ "traceId" => TRACE, "spanId" => PARENT, "traceState" => "rojo=00f067aa0ba902b7", "flags" => 0x301 }], span["links"]
    assert_equal 0x101, span["flags"]
    assert_nil span["status"]
    { "messaging.system" => "sidekiq", "messaging.destination.name" => "default", "messaging.operation" => "process",
      "messaging.sidekiq.job_class" => "Greet", "brood.job.attempt" => "1" }.each { |name, value| assert_equal value, attribute(span, name), name }
    assert_operator span["startTimeUnixNano"].to_i, :<=, span["endTimeUnixNano"].to_i
    assert_in_delta Time.now.to_f, span["endTimeUnixNano"].to_i / 1e9, 120
    assert_equal %w[created_at enqueued_at], span["events"].map { |event| event["name"] }
    assert_equal "thumbnails", attribute(span["resource"], "service.name")
    assert_equal "test", attribute(span["resource"], "deployment.environment.name")
    assert_equal server.identity, attribute(span["resource"], "service.instance.id")
    assert_match(%r{\APOST /v1/traces HTTP/1\.1\r\n}, COLLECTOR.heads.first)
    assert_match(/^Authorization: Bearer something-secret\r$/, COLLECTOR.heads.first)
    assert_empty `ps -eo args`.lines.grep(/something-secret/)
  end

  def test_02_what_is_no_traceparent_is_passed_over
    ["00-#{TRACE}-#{PARENT}-01x", "00-#{TRACE.upcase}-#{PARENT}-01", "ff-#{TRACE}-#{PARENT}-01", "x" * 10_000, 7, { "a" => 1 }, nil].map do |hostile|
      push("Greet", traceparent: hostile, tracestate: "\u0000=\"><script>")
    end.each { |jid| assert_nil told(jid)["links"] }
  end

  def test_03_a_program_finds_the_span_of_its_run
    path = "#{redis.directory}/trace"
    span = told(push("ShowTrace", path))
    assert_equal "00-#{span["traceId"]}-#{span["spanId"]}-01\n", File.read(path)
  end

  def test_03_a_failure_has_its_exception
    span = told(push("Fail", "as told"))
    assert_equal 2, span["status"]["code"]
    exception = span["events"].find { |event| event["name"] == "exception" }
    assert_match(/as told/, attribute(exception, "exception.message"))
    assert_equal attribute(exception, "exception.type"), attribute(span, "error.type")
  end

  def test_04_a_crash_ends_its_run_with_signal_place_and_fingerprint
    jid = push("Segfault", traceparent: "00-#{TRACE}-#{PARENT}-01")
    span = told(jid)
    assert_equal 2, span["status"]["code"]
    assert_equal "SIGSEGV", attribute(span, "error.type")
    assert_equal "SIGSEGV", attribute(span, "brood.crash.signal")
    assert_match(/\A\h{12}\z/, attribute(span, "brood.crash.fingerprint"))
    exception = span["events"].find { |event| event["name"] == "exception" }
    assert_match(/./, attribute(exception, "exception.stacktrace"))
    assert_equal TRACE, span["links"].first["traceId"]
    # The ids are those that the worker had chosen: its log lines have them.
    assert_match(/job_crashed.*trace_id=#{span["traceId"]}/, eventually("its line") { server.log.lines.grep(/job_crashed/).last })
    assert_equal 1, COLLECTOR.spans_of(jid).size
  end

  def test_05_a_collector_that_is_busy_or_breaks_off_gets_them_later
    COLLECTOR.answer_next("HTTP/1.1 429 Too Many\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n", nil)
    told(push("Greet"))
    assert_equal 0, COLLECTOR.waiting
  end

  def test_06_what_it_refuses_is_dropped_and_counted
    before = dropped("refused")
    COLLECTOR.answer_next("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    lost = push("Greet")
    eventually("a refusal") { dropped("refused") == before + 1 }
    told(push("Greet"))
    assert_nil COLLECTOR.span_of(lost)
  end

  def test_07_kill_9_of_the_exporter_costs_no_job_and_it_comes_back
    first = eventually("the exporter") { exporter }
    told(push("Greet"))
    Process.kill("KILL", first)
    jids = Array.new(20) { push("Greet") }
    eventually("another") { exporter.then { |pid| pid && pid != first } }
    jids.each { |jid| told(jid) } # they waited in the pipe
    assert_match(/spans_exporter_ended/, server.log)
    # Spans are counted once the collector has answered.
    eventually("they are counted") { metrics[/^brood_spans_exported_total\{[^}]*\} (\d+)/, 1].to_i >= 20 }
  end

  # Bound but not listening, so that no other process takes the port.
  def test_08_a_collector_that_is_away_holds_up_nobody_and_what_finds_no_room_is_counted
    deaf = Socket.new(:INET, :STREAM)
    deaf.bind(Addrinfo.tcp("127.0.0.1", 0))
    port = deaf.local_address.ip_port
    away = Server.new(redis, name: "away", workers: 1, queues: ["away"], config: "[otlp]\nendpoint = \"http://127.0.0.1:#{port}\"\n")
    Sidekiq::Client.push_bulk("class" => "Greet", "queue" => "away", "args" => Array.new(4_000) { [] })
    eventually("all of them", 60) { Sidekiq::Queue.new("away").size.zero? }
    eventually("what is lost") do
      brood(redis, "status", "--format", "prometheus", environment: away.environment)[/^brood_spans_dropped_total\{[^}]*reason="queue"\} (\d+)/, 1].to_i.positive?
    end
    assert_equal 1, away.log.scan("collector_away").size
    away.signal("TERM")
    assert_predicate away.wait_exit(20), :success?
  ensure
    deaf&.close
  end

  # A supervisor whose collector speaks TLS, on a queue of its own.
  def by_tls(collector, name, tls)
    config = "[otlp]\nendpoint = \"#{collector.url}\"\n[otlp.tls]\n#{tls.map { |key, value| "#{key} = \"#{value}\"\n" }.join}"
    beside = Server.new(redis, name: name, workers: 1, queues: [name], config: config)
    yield beside
  ensure
    beside&.stop
  end

  def push_to(queue) = Sidekiq::Client.push("class" => "Greet", "queue" => queue, "retry" => 0, "args" => [])

  def test_08_a_collector_by_tls_is_who_it_says_and_learns_who_we_are
    Dir.mktmpdir do |directory|
      authority = Authority.new(directory, "ours")
      cert, key = authority.client
      collector = Collector.new(tls: authority.server("IP:127.0.0.1", asks: true))
      by_tls(collector, "mutual", ca: authority.ca, cert: cert, key: key, min_version: "1.3") do |beside|
        jids = Array.new(700) { push_to("mutual") } # more than one batch
        eventually("all of them\n#{beside.log.lines.last(20).join}", 60) { (jids - collector.spans.map { |span| attribute(span, "messaging.message.id") }).empty? }
        refute_match(/collector_away/, beside.log)
      end
      assert_empty collector.wrong
    end
  end

  def test_08_a_collector_whose_certificate_is_refused_is_told_nothing_and_the_log_says_why
    Dir.mktmpdir do |directory|
      ours, theirs = Authority.new(directory, "ours"), Authority.new(directory, "theirs")
      wrong = {
        [theirs.server("IP:127.0.0.1"), { ca: ours.ca }] => /is of an unknown authority \(CN=theirs\); \[otlp.tls\] ca names whom to trust/,
        [ours.server("DNS:elsewhere"), { ca: ours.ca }] => /is for elsewhere, and not for 127.0.0.1; \[otlp.tls\] server_name/,
        [ours.server("IP:127.0.0.1", asks: true), { ca: ours.ca }] => /requires a client certificate; \[otlp.tls\] cert and key name one/
      }
      wrong.each_with_index do |((context, tls), why), number|
        collector = Collector.new(tls: context)
        by_tls(collector, "refused#{number}", tls) do |beside|
          push_to("refused#{number}")
          eventually("a word of it") { beside.log.lines.grep(/collector_away/).grep(why).first }
          assert_operator eventually("it was asked") { collector.strangers.nonzero? }, :>, 0
        end
        assert_empty collector.heads
      end
    end
  end

  def test_08_the_log_says_each_reason_of_one_outage_once
    Dir.mktmpdir do |directory|
      ours, theirs = Authority.new(directory, "ours"), Authority.new(directory, "theirs")
      port = TCPServer.new("127.0.0.1", 0)
      met = 0
      breaking_off = Thread.new { loop { port.accept.close.then { met += 1 } } }
      by_tls(Struct.new(:url).new("https://127.0.0.1:#{port.addr[1]}"), "reasons", ca: ours.ca) do |beside|
        push_to("reasons")
        eventually("the same thrice") { met >= 3 }
        breaking_off.kill.join
        Collector.new(tls: theirs.server("IP:127.0.0.1"), plain: port)
        eventually("the other reason") { beside.log.match?(/collector_away.*unknown authority/) }
        reasons = beside.log.lines.grep(/collector_away/).map { |line| line[/reason=.*/] }
        assert_equal reasons.uniq, reasons
      end
    ensure
      breaking_off&.kill
    end
  end

  def test_08_a_collector_that_speaks_no_tls_is_named_as_such
    plain = TCPServer.new("127.0.0.1", 0)
    answering = Thread.new do
      loop do
        client = plain.accept
        client.readpartial(10_000)
        client.write("HTTP/1.1 400 Bad Request\r\n\r\n")
        client.close
      end
    end
    by_tls(Struct.new(:url).new("https://127.0.0.1:#{plain.addr[1]}"), "plain", {}) do |beside|
      push_to("plain")
      eventually("a word of it") { beside.log.match?(/collector_away.*does not speak TLS/) }
    end
  ensure
    answering&.kill
  end

  def test_08_a_name_of_ones_own_and_a_renewed_authority_are_used_without_a_restart
    Dir.mktmpdir do |directory|
      old, new = Authority.new(directory, "old"), Authority.new(directory, "new")
      File.write("#{directory}/trusted.pem", File.read(old.ca))
      collector = Collector.new(tls: new.server("DNS:collector.example.com"))
      by_tls(collector, "renewed", ca: "#{directory}/trusted.pem", server_name: "collector.example.com") do |beside|
        jid = push_to("renewed")
        eventually("a word of it") { beside.log.match?(/collector_away.*unknown authority/) }
        File.write("#{directory}/trusted.pem", File.read(new.ca))
        eventually("its span\n#{beside.log.lines.last(20).join}", 120) { collector.span_of(jid) }
        eventually("that it is back") { beside.log.match?(/collector_is_back/) }
      end
    end
  end

  def test_08_files_that_do_not_fit_are_refused_before_anything_starts
    path = "#{redis.directory}/no-ca.toml"
    File.write(path, "[otlp]\nendpoint = \"https://127.0.0.1:1\"\n[otlp.tls]\nca = \"/nowhere/ca.pem\"\n")
    said, status = Open3.capture2e(server.environment, BROOD, "run", "--check", "-C", path)
    assert_equal 78, status.exitstatus, said
    assert_match(%r{otlp.tls.ca: /nowhere/ca.pem cannot be read}, said)
  end

  def test_09_a_stop_sends_what_is_left
    ledger = Ledger.new(redis)
    jid = push("Ledger", ledger.path, "last")
    eventually("its end") { ledger.done == ["last"] }
    server.signal("TERM")
    server.wait_exit
    told(jid)
    assert_empty Dir.glob("#{redis.directory}/brood/run/**/*.spans")
  end
end
