-- SPDX-License-Identifier: MIT
-- The C library through the module saros.ffi: sorting, files, names of hosts.
--
--   saros ffi-libc.lua [FILE [HOST]]        (default: this program, localhost)

local ffi = require "saros.ffi"

-- ---- qsort with a comparator of the guest's ----------------------------------------

ffi.cdef "void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *));"

local compare = ffi.cast("int (*)(const double *, const double *)", function(a, b)
  local x, y = a[0], b[0]
  return x < y and -1 or x > y and 1 or 0
end)
local numbers = ffi.new("double[?]", 1000)
for i = 0, 999 do numbers[i] = math.sin(i) end
ffi.C.qsort(numbers, 1000, ffi.sizeof "double", compare)
compare:free()
for i = 1, 999 do assert(numbers[i - 1] <= numbers[i]) end
print(("qsort: %.3f to %.3f"):format(numbers[0], numbers[999]))

-- ---- stat ------------------------------------------------------------------------------

ffi.cdef "struct timespec { time_t tv_sec; long tv_nsec; };"
if ffi.arch == "x64" then
  ffi.cdef [[struct stat {
    unsigned long st_dev, st_ino, st_nlink; unsigned st_mode, st_uid, st_gid, pad; unsigned long st_rdev;
    long st_size, st_blksize, st_blocks; struct timespec st_atim, st_mtim, st_ctim; long reserved[3]; };]]
else
  ffi.cdef [[struct stat {
    unsigned long st_dev, st_ino; unsigned st_mode, st_nlink, st_uid, st_gid; unsigned long st_rdev, pad1;
    long st_size; int st_blksize, pad2; long st_blocks; struct timespec st_atim, st_mtim, st_ctim; int reserved[2]; };]]
end
ffi.cdef "int stat(const char *path, struct stat *to); char *strerror(int);"

local path = arg[1] or arg[0]
local file = ffi.new "struct stat"
if ffi.C.stat(path, file) ~= 0 then
  io.stderr:write(path, ": ", ffi.string(ffi.C.strerror(ffi.errno())), "\n")
  os.exit(1)
end
local size = assert(io.open(path, "rb")):seek "end"
assert(size == file.st_size)
print(("stat: %s has %d bytes, mode %o, changed %s"):format(path, file.st_size, file.st_mode & 4095,
  os.date("!%Y-%m-%d", file.st_mtim.tv_sec)))
assert(ffi.C.stat("/no/such/file", file) == -1 and ffi.string(ffi.C.strerror(ffi.errno())) == "No such file or directory")

-- ---- getaddrinfo ---------------------------------------------------------------------------

ffi.cdef [[
enum { AF_INET = 2, AF_INET6 = 10, SOCK_STREAM = 1 };
struct sockaddr { unsigned short sa_family; char sa_data[14]; };
struct addrinfo {
  int ai_flags, ai_family, ai_socktype, ai_protocol;
  unsigned ai_addrlen;
  struct sockaddr *ai_addr;
  char *ai_canonname;
  struct addrinfo *ai_next;
};
struct sockaddr_in { unsigned short sin_family, sin_port; uint8_t sin_addr[4]; char pad[8]; };
struct sockaddr_in6 { unsigned short sin6_family, sin6_port; unsigned sin6_flowinfo; uint8_t sin6_addr[16]; unsigned sin6_scope_id; };
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result);
void freeaddrinfo(struct addrinfo *);
const char *gai_strerror(int);
const char *inet_ntop(int family, const void *address, char *to, unsigned size);
]]

local host = arg[2] or "localhost"
local result = ffi.new "struct addrinfo *[1]"
local hints = ffi.new("struct addrinfo", {ai_socktype = ffi.C.SOCK_STREAM})
local status = ffi.C.getaddrinfo(host, "80", hints, result)
if status ~= 0 then
  io.stderr:write(host, ": ", ffi.string(ffi.C.gai_strerror(status)), "\n")
  os.exit(1)
end
local all = ffi.gc(result[0], ffi.C.freeaddrinfo)
local text = ffi.new "char[64]"
local entry = all
while entry ~= ffi.nullptr do
  local is_6 = entry.ai_family == ffi.C.AF_INET6
  local address = ffi.cast(is_6 and "struct sockaddr_in6 *" or "struct sockaddr_in *", entry.ai_addr)
  ffi.C.inet_ntop(entry.ai_family, is_6 and address.sin6_addr or address.sin_addr, text, ffi.sizeof(text))
  print(("getaddrinfo: %s is %s"):format(host, ffi.string(text)))
  entry = entry.ai_next
end
