-- SPDX-License-Identifier: MIT
-- A service that answers requests, for the pictures of the documentation: it keeps sessions, so
-- its heap grows, and some requests are hit by a pause.
local eventring = require "saros.eventring"
local sessions = {}

local function decode(text)
  local fields = {}
  for name, value in text:gmatch("(%w+)=([^&]*)") do
    fields[name] = value
  end
  return fields
end

local function query(user, count)
  local rows = {}
  for i = 1, count do
    rows[i] = {id = i, user = user, title = "article " .. i, body = ("text "):rep(i % 20)}
  end
  return rows
end

local function render(rows)
  local out = {"<table>"}
  for _, row in ipairs(rows) do
    out[#out + 1] = "<tr><td>" .. row.id .. "</td><td>" .. row.title .. "</td></tr>"
  end
  out[#out + 1] = "</table>"
  return table.concat(out, "\n")
end

local function remember(user, rows)
  local session = sessions[user % 4000] or {}
  session.last = rows[1]
  for i = 1, 20 do
    session[#session + 1] = {rows[i], #session}
  end
  sessions[user % 4000] = session
end

local function handle(number)
  local fields = eventring.span("decode", decode, "user=" .. number .. "&page=3&sort=title&filter=none")
  local user = tonumber(fields.user)
  local rows = eventring.span("query", query, user, 600 + number % 900)
  eventring.span("remember", remember, user, rows)
  return eventring.span("render", render, rows)
end

local sent = 0
for number = 1, 4000 do
  local page
  eventring.span("request", function() page = handle(number) end, number)
  sent = sent + #page
  if number % 250 == 0 then eventring.event("deploy", number) end
end
