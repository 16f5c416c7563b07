-- Lets go of what a job held until it begins.
-- KEYS and ARGV as pieces/let_go.lua wants them.
local going = #KEYS
-- include: pieces/let_go.lua
if let_go then let_go(0) end
return 1
