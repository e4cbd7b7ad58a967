/* SPDX-License-Identifier: MIT */
/* stdlib/lib_pool.c: domain.pool, a parallel map over a list (doc/DOMAINS.md).
 *
 * domain.pool is written in Lua on top of spawn and channels, and loaded when it is first
 * called, so that a domain without a pool pays nothing for it.
 *
 * The list goes to the workers in batches, with at most two unfinished batches for each
 * worker, so that neither the caller nor a worker runs ahead. Each worker receives the
 * function once for each map: copies are sent in a separate channel, and a worker takes
 * one when it gets the first batch of a map.
 */
#include "lib_domain.h"

#include <string.h>

static const char source[] =
    "local domain = ...\n"
    "local Pool = {}\n"
    "Pool.__index = Pool\n"
    "Pool.__name = 'domain.pool'\n"
    "\n"
    "-- Runs in each worker: batches in, results out, until there are no more.\n"
    "local function work(batches, functions, results)\n"
    "  local map, f\n"
    "  local function describe(e) return debug.traceback(tostring(e), 2) end\n"
    "  for batch in batches:values() do\n"
    "    while map ~= batch.map do\n"
    "      local copy = functions:receive()\n"
    "      map, f = copy.map, copy.f\n"
    "    end\n"
    "    local done = {map = map, first = batch.first, n = batch.n}\n"
    "    for i = 1, batch.n do\n"
    "      local ok, result = xpcall(f, describe, batch[i], batch.first + i - 1)\n"
    "      if not ok then\n"
    "        done.failed, done.message = i, result\n"
    "        break\n"
    "      end\n"
    "      done[i] = result\n"
    "    end\n"
    "    local ok, message = pcall(results.send, results, done)\n"
    "    if not ok then\n"
    "      results:send({map = map, first = batch.first, n = batch.n, failed = 0, message = "
    "message})\n"
    "    end\n"
    "  end\n"
    "end\n"
    "\n"
    "local function next_batch(pool, list, total, first, size)\n"
    "  local batch = {map = pool.map_number, first = first, n = math.min(size, total - first + "
    "1)}\n"
    "  for i = 1, batch.n do batch[i] = list[first + i - 1] end\n"
    "  return batch\n"
    "end\n"
    "\n"
    "local function fail(done)\n"
    "  if done.failed == 0 then\n"
    "    local last = done.first + done.n - 1\n"
    "    error(('task %d to %d: %s'):format(done.first, last, done.message), 0)\n"
    "  end\n"
    "  error(('task %d: %s'):format(done.first + done.failed - 1, done.message), 0)\n"
    "end\n"
    "\n"
    "-- What is left of a map that ended early: batches that no worker took, results that are\n"
    "-- on their way.\n"
    "local function clear(pool, state)\n"
    "  while state.on_their_way > 0 do\n"
    "    local batch = pool.batches:try_receive()\n"
    "    if not batch then pool.results:receive() end\n"
    "    state.on_their_way = state.on_their_way - 1\n"
    "  end\n"
    "end\n"
    "\n"
    "-- Runs at every end of a map, also when it is cancelled while it clears up: then what is on\n"
    "-- its way would come to the next map, so there is none, and workers still need their copies\n"
    "-- of the function. Is not cancelled itself, and waits for nothing.\n"
    "local State = {__close = domain.masked}\n"
    "function State.__call(state)\n"
    "  local pool = state.pool\n"
    "  pool.mapping = false\n"
    "  if state.on_their_way > 0 then\n"
    "    pool.closed = true\n"
    "    pool.batches:close()\n"
    "  else\n"
    "    while pool.functions:try_receive() do end\n"
    "  end\n"
    "end\n"
    "\n"
    "local function run(pool, state, f, list, progress)\n"
    "  local total, sent, finished = #list, 0, 0\n"
    "  local size = math.max(1, math.min(64, total // (pool.n * 8)))\n"
    "  local results = {}\n"
    "  pool.map_number = pool.map_number + 1\n"
    "  for i = 1, pool.n do pool.functions:send({map = pool.map_number, f = f}) end\n"
    "  while finished < total do\n"
    "    while sent < total and state.on_their_way < 2 * pool.n do\n"
    "      local batch = next_batch(pool, list, total, sent + 1, size)\n"
    "      pool.batches:send(batch)\n"
    "      sent = sent + batch.n\n"
    "      state.on_their_way = state.on_their_way + 1\n"
    "    end\n"
    "    local done = pool.results:receive()\n"
    "    state.on_their_way = state.on_their_way - 1\n"
    "    if done.failed then fail(done) end\n"
    "    for i = 1, done.n do\n"
    "      results[done.first + i - 1] = done[i]\n"
    "      finished = finished + 1\n"
    "      if progress then progress(finished, total, done.first + i - 1) end\n"
    "    end\n"
    "  end\n"
    "  return results\n"
    "end\n"
    "\n"
    "function Pool:map(f, list, progress)\n"
    "  if self.closed then error('pool is closed', 2) end\n"
    "  if self.mapping then error('pool is at another map', 2) end\n"
    "  if type(f) ~= 'function' then error('bad argument #1 to \\'map\\' (function expected)', 2) "
    "end\n"
    "  if type(list) ~= 'table' then error('bad argument #2 to \\'map\\' (table expected)', 2) "
    "end\n"
    "  if progress ~= nil and type(progress) ~= 'function' then\n"
    "    error('bad argument #3 to \\'map\\' (function expected)', 2)\n"
    "  end\n"
    "  local state <close> = setmetatable({pool = self, on_their_way = 0}, State)\n"
    "  self.mapping = true\n"
    "  local ok, result = pcall(run, self, state, f, list, progress)\n"
    "  clear(self, state)\n"
    "  if not ok then error(result, 0) end\n"
    "  return result\n"
    "end\n"
    "\n"
    "function Pool:close()\n"
    "  local workers = self.workers\n"
    "  self.closed, self.workers = true, {}\n"
    "  self.batches:close()\n"
    "  for _, worker in ipairs(workers) do worker:join() end\n"
    "end\n"
    "Pool.__close = Pool.close\n"
    "\n"
    "function Pool:size() return self.n end\n"
    "\n"
    "return function(n, options)\n"
    "  n = n or domain.cpus()\n"
    "  if math.type(n) ~= 'integer' or n < 1 or n > 127 then\n"
    "    error('bad argument #1 to \\'pool\\' (number of domains expected)', 2)\n"
    "  end\n"
    "  local name = options and options.name or 'pool'\n"
    "  local pool = setmetatable({n = n, map_number = 0, workers = {}}, Pool)\n"
    "  pool.batches, pool.functions, pool.results = domain.channel(2 * n), domain.channel(n), "
    "domain.channel(2 * n)\n"
    "  for i = 1, n do\n"
    "    local how = {name = ('%s %d'):format(name, i), memory = options and options.memory}\n"
    "    pool.workers[i] = domain.spawn(how, work, pool.batches, pool.functions, pool.results)\n"
    "  end\n"
    "  return pool\n"
    "end\n";

/* Implements domain.pool([n [, {name = string, memory = bytes}]]) -> pool of n domains
 * (default: one a processor), called "NAME 1" and so on. Its methods: map(f, list [,
 * progress]) -> list of f(value, index), where progress(done, total, index) is called in
 * the calling domain after each value; size(); close(). */
int pool_lib_pool(lua_State *L) {
  if (!lua_isnoneornil(L, 2)) {
    luaL_checktype(L, 2, LUA_TTABLE);
    domain_lib_options(L, 2);
    lua_pop(L, 1);
  }
  lua_pushvalue(L, lua_upvalueindex(2));
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    if (luaL_loadbufferx(L, source, strlen(source), "=domain.pool", "t") != LUA_OK)
      return lua_error(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_call(L, 1, 1);
    lua_pushvalue(L, -1);
    lua_replace(L, lua_upvalueindex(2));
  }
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}
