-- SPDX-License-Identifier: MIT
-- app.lua: a small service with three faults, for doc/TUTORIAL.md: it is slow, it grows, and
-- with an argument it dies.
--
--   saros examples/app.lua                 answers requests until it is killed
--   saros examples/app.lua 3000            answers that many
--   saros examples/app.lua 3000 die        dies at the last one

local recorded, eventring = pcall(require, "saros.eventring")
local most = tonumber(arg[1]) or math.huge
local dies = arg[2] == "die"

local sessions = {}

local function find_session(request)
  local session = sessions[request.id]
  if not session then
    session = { user = request.user, started = os.time(), cart = {}, form = {}, pages = {} }
    sessions[request.id] = session -- the id of a request never comes again
  end
  return session
end

local function render(items)
  local page = ""
  for i = 1, #items do
    page = page .. "<li>" .. items[i] .. "</li>" -- copies all of it each time
  end
  return page
end

local function load_items(request)
  local items = {}
  for i = 1, request.size do items[i] = "item " .. i .. " of " .. request.user.name end
  return items
end

local function handle(request)
  local session = find_session(request)
  session.pages[#session.pages + 1] = request.path
  return #render(load_items(request))
end

local function read_request(number)
  local user = { name = "user" .. number % 10 }
  if dies and number == most then user = nil end
  local large = number % 100 == 0
  return { id = number, user = user, size = large and 1500 or 100,
           path = large and "/everything" or "/page" }
end

local number, bytes = 0, 0
while number < most do
  number = number + 1
  local request = read_request(number)
  if recorded then
    bytes = bytes + eventring.span({ name = "request", value = request.path }, handle, request)
  else
    bytes = bytes + handle(request)
  end
end
print(number .. " requests, " .. bytes .. " bytes")
