-- SPDX-License-Identifier: MIT
-- Runs a program up to a number of instructions, collects all that is dead, and ends the
-- process where it is, so that the heap profile says what is alive.
--
--   saros _stop.lua INSTRUCTIONS FOLDER PROGRAM [ARGUMENT...]
local instructions, folder = tonumber(arg[1]), arg[2]
package.path = folder .. "/?.lua;" .. package.path
local arguments = table.pack(table.unpack(arg, 4))
local program = assert(loadfile(folder .. "/" .. arg[3]))
arg = {[0] = arg[3], table.unpack(arguments)}
debug.sethook(function()
  debug.sethook()
  collectgarbage()
  collectgarbage()
  os.exit(0, false)
end, "", instructions)
program(table.unpack(arguments))
error(arg[0] .. " has ended before")
