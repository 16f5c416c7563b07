-- Lets go of what a job held until it begins, or of what an incarnation took for one that it does not begin.
-- ARGV[1] "<slot>.<incarnation>"
-- Behind that, and all keys: what goes.
local going = #KEYS
-- include: pieces/let_go.lua
if let_go then let_go(0) end
return 1
