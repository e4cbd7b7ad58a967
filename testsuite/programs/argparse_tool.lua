-- SPDX-License-Identifier: MIT
-- A command line as tools have them, parsed by the module argparse; prints the result.

local argparse = require "argparse"

local parser = argparse("tool", "A tool that does nothing.", "See the manual for more.")
  :add_complete_command "completion"
  :command_target "command"
  :require_command(false)
parser:argument("input", "Input files."):args "*"
parser:flag("-v --verbose", "Say more; repeatable."):count "0-3"
parser:option("-l --level", "A number from 0 to 9."):default "1":convert(function(text)
  local n = math.tointeger(tonumber(text))
  if not n or n < 0 or n > 9 then return nil, "level must be a number from 0 to 9, not '" .. text .. "'" end
  return n
end)
parser:option("-f --format", "Output format."):choices { "text", "json" }
parser:option("-p --pair", "Two values."):args(2):argname { "<first>", "<second>" }
parser:option("-d --define", "NAME=VALUE; repeatable."):count "*":convert(function(s)
  return { name = s:match "^[^=]+", value = s:match "=(.*)$" }
end)
parser:mutex(parser:flag "--quick", parser:flag "--thorough")
local remote = parser:command("remote", "Remotes.")
remote:command_target "action"
local add = remote:command("add", "Add one.")
add:argument "name"
add:argument "url"
add:flag "--fetch"
remote:command("delete", "Delete one."):argument "name"

local function show(value, indent)
  if type(value) ~= "table" then return tostring(value) .. " (" .. (math.type(value) or type(value)) .. ")" end
  local keys = {}
  for k in pairs(value) do keys[#keys + 1] = k end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  local lines = {}
  for _, k in ipairs(keys) do lines[#lines + 1] = indent .. tostring(k) .. ": " .. show(value[k], indent .. "  ") end
  return "\n" .. table.concat(lines, "\n")
end

print(show(parser:parse(), "  "))
