-- SPDX-License-Identifier: MIT
-- zlib through the module saros.ffi: compresses files in memory and back.
--
--   saros ffi-zlib.lua FILE...
--
-- For each file: its size, the compressed size, its CRC; fails when what comes back
-- is not what went in. (Debian package: zlib1g)

local ffi = require "saros.ffi"

ffi.cdef [[
enum { Z_OK = 0, Z_BUF_ERROR = -5 };
const char *zlibVersion(void);
unsigned long compressBound(unsigned long source_size);
int compress2(uint8_t *to, unsigned long *to_size, const uint8_t *from, unsigned long from_size, int level);
int uncompress(uint8_t *to, unsigned long *to_size, const uint8_t *from, unsigned long from_size);
unsigned long crc32(unsigned long crc, const uint8_t *bytes, unsigned size);
const char *zError(int code);
]]

local z = ffi.load "libz.so.1"

local function check(code)
  if code ~= ffi.C.Z_OK then error("zlib: " .. ffi.string(z.zError(code)), 2) end
end

local function compress(text, level)
  local room = z.compressBound(#text)
  local buffer, size = ffi.new("uint8_t[?]", room), ffi.new("unsigned long[1]", room)
  check(z.compress2(buffer, size, text, #text, level or 9))
  return ffi.string(buffer, size[0])
end

local function decompress(text, size)
  local buffer, actual = ffi.new("uint8_t[?]", size), ffi.new("unsigned long[1]", size)
  check(z.uncompress(buffer, actual, text, #text))
  return ffi.string(buffer, actual[0])
end

if #arg == 0 then
  io.stderr:write "usage: ffi-zlib.lua FILE...\n"
  os.exit(2)
end

print("zlib " .. ffi.string(z.zlibVersion()))
for _, path in ipairs(arg) do
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  local small = compress(text)
  assert(decompress(small, #text) == text, path .. " came back different")
  print(("%s: %d bytes, %d compressed, crc %08x"):format(path, #text, #small, z.crc32(0, text, #text)))
  local ok, message = pcall(decompress, small:sub(1, -2), #text)
  assert(not ok and message:find "zlib: ", message)
end
