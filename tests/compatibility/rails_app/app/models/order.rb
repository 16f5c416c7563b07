# A record that GlobalID finds by its id.
class Order
  include GlobalID::Identification
  attr_reader :id

  def self.find(id) = new(id)
  def initialize(id) = @id = id
end
