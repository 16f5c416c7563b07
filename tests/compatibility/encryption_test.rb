# Encrypted arguments both ways: what Ruby pushes brood performs, what brood pushes Ruby performs, and neither stores one
# in clear.
require_relative "support"

KEY = File.join(Dir.mktmpdir("brood-key-"), "key1")
File.write(KEY, ["k" * 32].pack("m0"))
File.chmod(0o400, KEY)
Minitest.after_run { FileUtils.remove_entry(File.dirname(KEY)) }
ENV["SEALED_KEY"] = KEY
require_relative "sealed_jobs"

class EncryptionTest < CompatibilityTest
  CARD = { "number" => "4111222233334444", "cvc" => 737 }.freeze
  CONFIG = "[encryption.keys]\n1 = \"#{KEY}\"\n"

  start workers: 1, config: CONFIG, options: ["-r", File.join(BUILD, "tests/job_libraries/libsealed_jobs.so")]

  def told = @told ||= File.join(redis.directory, name)
  def said = File.exist?(told) ? File.readlines(told, chomp: true) : []
  def only_entry(set) = eventually("an entry") { set.first }

  def setup
    skip "a matter of brood" if Server.ruby?
    Sidekiq.redis { |connection| connection.del("retry", "dead", "queue:waits") }
  end

  def enqueue(*words)
    config = File.join(redis.directory, "client.toml")
    File.write(config, CONFIG)
    brood(redis, "enqueue", *words, "--encrypt", "-C", config)
  end

  def ruby_sidekiq
    ruby = RubySidekiq.new(redis, ["-q", "ruby"], jobs: File.join(__dir__, "sealed_jobs.rb"))
    Minitest.after_run { ruby.stop }
    ruby
  end

  def test_1_brood_performs_what_ruby_has_encrypted
    Sidekiq::Client.push("class" => Charge, "queue" => "default", "args" => [told, "pay", CARD])
    eventually("it is paid") { said.include?("pay 4111222233334444 737") }
    Sidekiq::Client.push("class" => Charge, "queue" => "default", "args" => [told, "fail", CARD])
    entry = only_entry(Sidekiq::RetrySet.new)
    assert_match(/\Abrood1\.1\./, entry.item["args"].last)
    assert_equal "[encrypted data]", entry.display_args.last
  end

  def test_2_ruby_performs_what_brood_has_encrypted
    ruby_sidekiq
    enqueue("Charge", told, "pay", JSON.generate(CARD), "-q", "ruby")
    eventually("it is paid", 60) { said.include?("ruby pay 4111222233334444 737") }
    enqueue("Charge", told, "fail", JSON.generate(CARD), "-q", "ruby")
    entry = only_entry(Sidekiq::RetrySet.new)
    assert_match(/\Abrood1\.1\./, entry.item["args"].last)
    assert_equal "no money", entry["error_message"]
  end

  def test_3_what_ruby_cannot_decrypt_is_dead_at_once
    Sidekiq::Client.push("class" => "Charge", "queue" => "ruby", "jid" => "swapped", "encrypt" => true,
                         "args" => [told, "pay", "brood1.2.#{"A" * 60}"])
    entry = only_entry(Sidekiq::DeadSet.new)
    assert_equal "DecryptionError", entry["error_class"]
    assert_equal "brood1.2.#{"A" * 60}", entry.item["args"].last
    assert_equal 0, Sidekiq::RetrySet.new.size
  end

  def test_4_a_push_of_what_is_encrypted_already_leaves_it
    Sidekiq::Client.push("class" => Charge, "queue" => "waits", "args" => [told, "pay", CARD])
    payload = Sidekiq::Queue.new("waits").first.item
    refute_includes payload.to_s, "4111"
    Sidekiq::Client.push(payload)
    assert_equal [payload["args"]], Sidekiq::Queue.new("waits").map { |job| job.item["args"] }.uniq
  end

  def test_5_both_sides_make_one_format
    job = { "class" => "Charge", "jid" => "b1" }
    BroodEncryption.use(keys: { 7 => key_file((0..31).map(&:chr).join) })
    assert_equal '{"card":"4111"}', BroodEncryption.open("brood1.7.AAECAwQFBgcICQoLPCC1ereB4CGvdaa6gMsFPD9yH6_P8IDs7JKOqdR6Vw", job)
    [nil, 5, "", "brood1.7.", "brood1.07.AAAA", "brood1.7.AAAA", "brood1.7.AAA=", "text", {}].each do |value|
      assert_raises(BroodEncryption::DecryptionError) { BroodEncryption.open(value, job) }
    end
    assert_raises(BroodEncryption::DecryptionError) { BroodEncryption.open("brood1.7.AAECAwQFBgcICQoLPCC1ereB4CGvdaa6gMsFPD9yH6_P8IDs7JKOqdR6Vw", job.merge("jid" => "b2")) }
    assert_raises(BroodEncryption::KeyError) { BroodEncryption.use(keys: { 1 => key_file("too short") }) }
    assert_raises(BroodEncryption::KeyError) { BroodEncryption.use(keys: { 1 => key_file("k" * 32, 0o444) }) }
  ensure
    BroodEncryption.use(keys: { 1 => KEY })
  end

  def key_file(bytes, mode = 0o400)
    path = File.join(redis.directory, "key-#{rand(1 << 40)}")
    File.binwrite(path, bytes)
    File.chmod(mode, path)
    path
  end
end
