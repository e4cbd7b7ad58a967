-- Fills memory with tables whose record the collector must keep while it marks, keeps it
-- from collecting before there is none left, and goes on.
collectgarbage("stop")
local key, last, meta = {}, nil, { __mode = "k" }
pcall(function() while true do last = setmetatable({ last, [key] = 1 }, meta) end end)
collectgarbage()
