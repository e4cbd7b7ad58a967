-- SPDX-License-Identifier: MIT
-- What lighttpd runs at each request: an answer that depends on the request alone.
local words = {}
for word in lighty.env["uri.path"]:gmatch("[^/]+") do words[#words + 1] = word:upper() end
table.sort(words)
local sum = 0
for i = 1, 100 do
  local point = {x = i, name = "point " .. i}
  sum = sum + point.x * #point.name
end
lighty.header["Content-Type"] = "text/plain"
lighty.content = {table.concat(words, " "), "\n", ("%d %s\n"):format(sum, lighty.env["uri.query"] or "-")}
return 200
