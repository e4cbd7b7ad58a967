# SPDX-License-Identifier: MIT
# Class calls, when its stacks have no room for a coroutine at first, and have it later: the
# functions that the coroutine entered meanwhile leave a stack that does not have them.
. "$TESTSUITE/_checks.sh"
cat >room.lua <<'END'
local function deep(n) if n > 0 then return 1 + deep(n - 1) end return 0 end
deep(150000)                        -- takes all of it
local function body(n) if n > 0 then return 1 + body(n - 1) end coroutine.yield() error "over" end
local threads, failed = {}, 0
for i = 1, 20000 do
  threads[i] = coroutine.create(body)
  coroutine.resume(threads[i], 3)
end
for i = 1, 10000 do coroutine.close(threads[i]) end
for i = 10001, 20000 do
  if not coroutine.resume(threads[i]) then failed = failed + 1 end
end
print(failed)
END
output=$(SAROS_EVENTRING_START=1 SAROS_EVENTRING_CLASSES=+calls "$SAROS" room.lua 2>&1)
is "status and output" "0 10000" "$? $output"
finish
