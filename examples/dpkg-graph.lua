-- SPDX-License-Identifier: MIT
-- Which installed packages are the heaviest, with all that they pull in?
--
--   saros dpkg-graph.lua [--repeat N] [--seconds S] [--top N] [STATUS-FILE]
--
-- Parses the package database of a Debian machine (default:
-- /var/lib/dpkg/status), builds the graph of Depends and Pre-Depends of what is
-- installed (alternatives and virtual packages resolved as dpkg would find them
-- satisfied), finds the strongly connected components with Tarjan's algorithm,
-- and prints the packages with the largest installed size, dependencies
-- included. It allocates as real programs do: strings cut out of a file, small
-- records, sets that die young and a graph that lives on.
--
--   --repeat N    do all of it N times (default 1)
--   --seconds S   go on for at least S seconds, so that one can watch it:
--                   SAROS_EVENTRING_START=1 saros dpkg-graph.lua --seconds 10 &
--                   eventring stats $!
--   --top N       how many packages to print (default 10)
--
-- Runs unchanged under any Lua 5.4.

local USAGE = "usage: dpkg-graph.lua [--repeat N] [--seconds S] [--top N] [STATUS-FILE]"

local function fail(message)
  io.stderr:write("dpkg-graph: ", message, "\n")
  os.exit(2)
end

-- ---- The database ----------------------------------------------------------

-- Iterates over the stanzas of a control file: tables from field name (lower
-- case) to value, continuation lines joined by newlines.
local function stanzas(path)
  local file, why = io.open(path)
  if not file then fail(why) end
  local lines = file:lines()
  return function()
    local stanza, field
    for line in lines do
      if line == "" then
        if stanza then return stanza end
      elseif line:find("^%s") then
        if stanza and field then stanza[field] = stanza[field] .. "\n" .. line:sub(2) end
      else
        local name, value = line:match("^([^:%s]+):%s*(.-)%s*$")
        if name then
          stanza = stanza or {}
          field = name:lower()
          stanza[field] = value
        end
      end
    end
    if not stanza then file:close() end
    return stanza
  end
end

-- "libc6 (>= 2.36), default-mta | mail-transport-agent" becomes a list of
-- clauses, each a list of { name, operator, version }. The architecture
-- qualifier (python3:any) and restrictions in brackets do not matter here.
local function parse_relations(text)
  local clauses = {}
  for clause in (text or ""):gmatch("[^,]+") do
    local alternatives = {}
    for alternative in clause:gmatch("[^|]+") do
      local name = alternative:match("^%s*([%w%+%-%.]+)")
      if name then
        local operator, version = alternative:match("%(%s*([<>=]+)%s*([^%s%)]+)%s*%)")
        alternatives[#alternatives + 1] = { name = name, operator = operator, version = version }
      end
    end
    if #alternatives > 0 then clauses[#clauses + 1] = alternatives end
  end
  return clauses
end

local function load_packages(path)
  local packages, by_name, providers = {}, {}, {}
  for stanza in stanzas(path) do
    if stanza.package and (stanza.status or ""):find(" installed$") then
      local package = {
        name = stanza.package,
        version = stanza.version,
        size = math.tointeger(stanza["installed-size"] or 0) or 0, -- KiB
        summary = (stanza.description or ""):match("^[^\n]*"),
        needs = parse_relations((stanza["pre-depends"] or "") .. "," .. (stanza.depends or "")),
        provides = parse_relations(stanza.provides),
      }
      packages[#packages + 1] = package
      -- Of two architectures of one package the first stands for both.
      by_name[package.name] = by_name[package.name] or package
    end
  end
  table.sort(packages, function(a, b) return a.name < b.name end)
  for _, package in ipairs(packages) do
    for _, clause in ipairs(package.provides) do
      local name = clause[1].name
      providers[name] = providers[name] or {}
      table.insert(providers[name], package)
    end
  end
  return packages, by_name, providers
end

-- ---- The graph -------------------------------------------------------------

-- Fills `edges` of each package with those it needs, in the order of its
-- fields, each once; returns the number of edges and the unsatisfied clauses.
local function link_packages(packages, by_name, providers)
  local function resolve(clause)
    for _, alternative in ipairs(clause) do
      local found = by_name[alternative.name]
      if found then return found end
      local offers = providers[alternative.name]
      if offers then return offers[1] end
    end
  end
  local count, unsatisfied = 0, {}
  for _, package in ipairs(packages) do
    local seen = { [package] = true }
    package.edges = {}
    for _, clause in ipairs(package.needs) do
      local target = resolve(clause)
      if not target then
        unsatisfied[#unsatisfied + 1] = package.name .. " needs " .. clause[1].name
      elseif not seen[target] then
        seen[target] = true
        count = count + 1
        package.edges[#package.edges + 1] = target
      end
    end
  end
  return count, unsatisfied
end

-- Tarjan's algorithm. Returns the components, those that others depend on
-- first; each is a list of packages, and each package knows its `component`.
local function strong_components(packages)
  local components, stack, on_stack, counter = {}, {}, {}, 0
  local index, low = {}, {}

  local function visit(package)
    counter = counter + 1
    index[package], low[package] = counter, counter
    stack[#stack + 1] = package
    on_stack[package] = true
    for _, target in ipairs(package.edges) do
      if not index[target] then
        visit(target)
        low[package] = math.min(low[package], low[target])
      elseif on_stack[target] then
        low[package] = math.min(low[package], index[target])
      end
    end
    if low[package] == index[package] then
      local component = {}
      repeat
        local member = table.remove(stack)
        on_stack[member] = nil
        member.component = component
        component[#component + 1] = member
      until member == package
      components[#components + 1] = component
    end
  end

  for _, package in ipairs(packages) do
    if not index[package] then visit(package) end
  end
  return components
end

-- Gives each component `closure`, the set of components that it pulls in (itself
-- included), `weight` (their size in KiB) and `pulls` (their packages).
-- Components come in the order of Tarjan: what one needs is already weighed.
local function weigh(components)
  for _, component in ipairs(components) do
    local closure = { [component] = true }
    for _, package in ipairs(component) do
      for _, target in ipairs(package.edges) do
        if target.component ~= component then
          for other in pairs(target.component.closure) do closure[other] = true end
        end
      end
    end
    local weight, pulls = 0, 0
    for other in pairs(closure) do
      for _, package in ipairs(other) do weight = weight + package.size end
      pulls = pulls + #other
    end
    component.closure, component.weight, component.pulls = closure, weight, pulls
  end
end

-- ---- The report ------------------------------------------------------------

local function analyse(path)
  local packages, by_name, providers = load_packages(path)
  local edges, unsatisfied = link_packages(packages, by_name, providers)
  local components = strong_components(packages)
  weigh(components)
  return { packages = packages, edges = edges, unsatisfied = unsatisfied, components = components }
end

local function heaviest(graph, top)
  local order = table.move(graph.packages, 1, #graph.packages, 1, {})
  table.sort(order, function(a, b)
    if a.component.weight ~= b.component.weight then
      return a.component.weight > b.component.weight
    end
    return a.name < b.name
  end)
  return table.move(order, 1, math.min(top, #order), 1, {})
end

local function cycles(graph)
  local found = {}
  for _, component in ipairs(graph.components) do
    if #component > 1 then
      local names = {}
      for _, package in ipairs(component) do names[#names + 1] = package.name end
      table.sort(names)
      found[#found + 1] = table.concat(names, " <-> ")
    end
  end
  table.sort(found)
  return found
end

local function report(graph, top)
  local lines = {}
  local function add(format, ...) lines[#lines + 1] = format:format(...) end
  local round = cycles(graph)
  add("%d packages, %d dependencies, %d components, %d of them cycles, %d unsatisfied",
      #graph.packages, graph.edges, #graph.components, #round, #graph.unsatisfied)
  for _, cycle in ipairs(round) do add("  cycle: %s", cycle) end
  add("%12s %12s %9s  %s", "alone MiB", "with all MiB", "packages", "package")
  for _, package in ipairs(heaviest(graph, top)) do
    add("%12.1f %12.1f %9d  %s %s", package.size / 1024, package.component.weight / 1024,
        package.component.pulls, package.name, package.version or "")
  end
  return table.concat(lines, "\n")
end

-- ---- The program -----------------------------------------------------------

local function parse_arguments(words)
  local options = { times = 1, seconds = 0, top = 10, path = "/var/lib/dpkg/status" }
  local i = 1
  local function number(name)
    i = i + 1
    local value = tonumber(words[i])
    if not value or value < 0 then fail(name .. " needs a number\n" .. USAGE) end
    return value
  end
  while words[i] do
    local word = words[i]
    if word == "--repeat" then options.times = number(word)
    elseif word == "--seconds" then options.seconds = number(word)
    elseif word == "--top" then options.top = math.tointeger(number(word)) or fail(USAGE)
    elseif word:find("^%-") then fail("unknown option " .. word .. "\n" .. USAGE)
    else options.path = word end
    i = i + 1
  end
  return options
end

local options = parse_arguments(arg)
local started, runs = os.time(), 0
local text
repeat
  local again = report(analyse(options.path), options.top)
  assert(not text or text == again, "the database has changed meanwhile")
  text = again
  runs = runs + 1
  -- os.time counts whole seconds: one more than asked for is at least as long.
  local long_enough = options.seconds == 0 or os.difftime(os.time(), started) > options.seconds
until runs >= options.times and long_enough
print(text)
if runs > 1 then print(("(done %d times)"):format(runs)) end
