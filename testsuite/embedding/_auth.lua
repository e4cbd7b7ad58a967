-- SPDX-License-Identifier: MIT
-- What dovecot's auth process asks: who is known follows from the name alone.
local cache, asked = {}, 0

-- A number that follows from the text.
local function sum_of(text)
  local sum = 0
  for i, byte in ipairs({text:byte(1, -1)}) do sum = (sum * 31 + byte * i) % 1000003 end
  return sum
end

local function account(name)
  local groups = {}
  for word in name:gmatch("%a+") do groups[#groups + 1] = word:upper() end
  table.sort(groups)
  local fine, number = pcall(function() return name:match("%d+") or error("no number", 0) end)
  return {groups = table.concat(groups, "+"), sum = sum_of(name), number = fine and tonumber(number),
          why = not fine and number}
end

function auth_passdb_lookup(request)
  asked = asked + 1
  local found = cache[request.user] or account(request.user)
  if asked % 3 == 0 then cache[request.user] = found end
  if asked % 500 == 0 then cache = {} end
  if not found.number then return dovecot.auth.PASSDB_RESULT_USER_UNKNOWN, found.why end
  if found.number % 7 == 5 then return dovecot.auth.PASSDB_RESULT_USER_DISABLED, "off" end
  return dovecot.auth.PASSDB_RESULT_OK,
    {password = "secret" .. found.number, groups = found.groups, sum = tostring(found.sum),
     service = request.service, expanded = request:var_expand("%{user} of %{service}")}
end

function auth_userdb_lookup(request)
  return dovecot.auth.USERDB_RESULT_OK, {uid = "1000", gid = "1000", home = "/home/" .. request.user}
end

function script_init() return 0 end
