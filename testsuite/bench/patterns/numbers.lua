-- SPDX-License-Identifier: MIT
-- Arithmetic, bits, comparisons, math.
local api = ...
local family, code = api.family, api.code

family "math"

local calls = {
  abs = "-i", ceil = "i + 0.5", floor = "i + 0.5", sqrt = "i", sin = "i", cos = "i", tan = "i", exp = "i & 15", log = "i",
  asin = "1 / i", acos = "1 / i", atan = "i", fmod = "i, 7", modf = "i + 0.25", ult = "i, 7", tointeger = "i + 0.0",
  type = "i", deg = "i", rad = "i", max = "i, 7", min = "i, 7",
}
local order = {}
for name in pairs(calls) do order[#order + 1] = name end
table.sort(order)
for _, name in ipairs(order) do
  code(name, 1200000, "local f, r = math." .. name, "r = f(" .. calls[name] .. ")", "r ~= nil")
end
code("floor_of_integer", 1500000, "local f, r = math.floor", "r = f(i)", "r == n")
code("abs_of_float", 1000000, "local f, r = math.abs", "r = f(-0.5)", "r == 0.5")
code("log_base_2", 900000, "local f, r = math.log", "r = f(i, 2)", "r > 0")
code("log_base_10", 800000, "local f, r = math.log", "r = f(i, 10)", "r > 0")
code("fmod_of_floats", 300000, "local f, r = math.fmod", "r = f(i + 0.5, 3)", "r")
code("atan_2", 750000, "local f, r = math.atan", "r = f(i, 3)", "r")
code("max_of_5", 650000, "local f, r = math.max", "r = f(1, i, 3, 2, 5)", "r == n")
code("max_of_floats", 1000000, "local f, r = math.max", "r = f(0.5, i + 0.5)", "r == n + 0.5")
code("random", 1500000, "local f, r = math.random", "r = f()", "r < 1")
code("random_of_6", 1000000, "local f, r = math.random", "r = f(6)", "r <= 6")
code("random_range", 1000000, "local f, r = math.random", "r = f(10, 1000)", "r >= 10")
code("random_all_bits", 1500000, "local f, r = math.random", "r = f(0)", "r")
code("randomseed", 900000, "local f, r = math.randomseed", "f(42)", "math.random(0)")
code("through_global", 1000000, "local r", "r = math.floor(i / 3)", "r == n // 3")

family "arithmetic"

code("integer_add", 7500000, "local r = 0", "r = r + i", "r == n * (n + 1) // 2")
code("integer_multiply", 5500000, "local r = 1", "r = r * 3 + i", "r")
code("integer_divide", 7500000, "local r", "r = i / 3", "r")
code("integer_floor_divide", 7000000, "local r", "r = i // 7", "r == n // 7")
code("integer_modulo", 6500000, "local r", "r = i % 7", "r == n % 7")
code("integer_modulo_variable", 6500000, "local r, m = 0, 13", "r = i % m", "r == n % 13")
code("integer_modulo_negative", 5000000, "local r", "r = -i % 7", "r == -n % 7")
code("integer_power", 7500000, "local r", "r = i ^ 2", "r")
code("integer_negate", 7500000, "local r", "r = -i", "r == -n")
code("float_add", 7000000, "local r = 0.5", "r = r + 1.25", "r")
code("float_multiply", 7000000, "local r = 1.0", "r = r * 1.0000001", "r")
code("float_divide", 4000000, "local r = 1e300", "r = r / 1.0000001", "r")
code("float_floor_divide", 4000000, "local r, x = 0, 0.5", "r = (i + x) // 3", "r")
code("float_modulo", 400000, "local r, x = 0, 0.5", "r = (i + x) % 3", "r")
code("float_modulo_of_float", 400000, "local r, x, m = 0, 0.5, 2.75", "r = (i + x) % m", "r")
code("float_power", 2000000, "local r, x = 0, 1.0001", "r = x ^ i", "r")
code("float_power_half", 1500000, "local r, x = 0, 0.5", "r = (i + x) ^ 0.5", "r")
code("float_negate", 7500000, "local r = 0.5", "r = -r", "r")
code("mixed_add", 7000000, "local r = 0.0", "r = r + i", "r")
code("mixed_multiply", 7500000, "local r", "r = i * 0.5", "r == n * 0.5")
code("float_floor_or_0", 2000000, "local r, x = 0, 0.5", "r = (i + x) // 1 | 0", "r == n")
code("bit_and", 7500000, "local r", "r = i & 255", "r")
code("bit_or", 7500000, "local r = 0", "r = r | i", "r")
code("bit_xor", 7500000, "local r = 0", "r = r ~ i", "r")
code("bit_not", 5500000, "local r", "r = ~i", "r")
code("shift_left", 7500000, "local r", "r = i << 3", "r")
code("shift_right", 7000000, "local r", "r = i >> 3", "r")
code("shift_by_variable", 7500000, "local r, by = 0, 5", "r = i << by", "r")
code("bit_and_of_floats", 3000000, "local r, x = 0, 255.0", "r = (i + 0.0) & x", "r")
code("bit_or_of_float", 4000000, "local r", "r = (i + 0.0) | 0", "r == n")
code("shift_of_float", 5500000, "local r, x = 0, 4096.0", "r = x >> 2", "r == 1024")
code("hash_of_numbers", 3000000, "local r = 5381", "r = ((r << 5) + r ~ i) & 0xffffffff", "r")
code("polynomial", 2000000, "local r, x = 0, 0.5", "r = ((x * 3 + 1) * x - 2) * x + i", "r")
code("collatz", 30000, "local s = 0", "local x = i while x ~= 1 do if x % 2 == 0 then x = x // 2 else x = 3 * x + 1 end s = s + 1 end", "s > 0")
code("fibonacci_loop", 65000, "local a, b", "a, b = 0, 1 for _ = 1, 60 do a, b = b, a + b end", "a == 1548008755920")
code("greatest_divisor", 250000, "local a, b", "a, b = i * 12, 360360 while b ~= 0 do a, b = b, a % b end", "a")
code("mandelbrot_point", 75000, "local x, y", "x, y = 0.0, 0.0 for _ = 1, 20 do x, y = x * x - y * y - 0.4, 2 * x * y + 0.3 end", "x < 2")
code("overflowing_multiply", 5000000, "local r = 1", "r = r * 6364136223846793005 + 1442695040888963407", "r")

family "comparisons"

code("integer_less", 4500000, "local r = 0", "if i < 500 then r = r + 1 end", "r")
code("integer_and_float", 4000000, "local r = 0", "if i < 500.5 then r = r + 1 end", "r")
code("float_less", 4000000, "local r, x = 0, 0.5", "if x < 1.5 then r = r + 1 end", "r == n")
code("equal_integers", 5000000, "local r = 0", "if i == 500 then r = r + 1 end", "r")
code("equal_integer_and_float", 4000000, "local r, x = 0, 500.0", "if i == x then r = r + 1 end", "r")
code("equal_strings", 4500000, "local r, s = 0, 'hello'", "if s == 'hello' then r = r + 1 end", "r == n")
code("equal_tables", 5000000, "local r, s, t = 0, {}, {}", "if s == t then r = r + 1 end", "r == 0")
code("less_strings", 3000000, "local r, s, t = 0, 'hello', 'help'", "if s < t then r = r + 1 end", "r == n")
code("nil_or_default", 6500000, "local r, x", "r = x or 5", "r == 5")
code("and_or_chain", 3000000, "local r, x = nil, 3", "r = x and x > 2 and 'big' or 'small'", "r == 'big'")
code("else_if_of_numbers", 2000000, "local r", "local k = i & 7 if k == 0 then r = 1 elseif k == 1 then r = 2 elseif k == 2 then r = 3 elseif k == 3 then r = 4 elseif k == 4 then r = 5 else r = 6 end", "r")
code("else_if_of_strings", 1500000, "local r, names = nil, {[0] = 'a', 'b', 'c', 'd'}", "local k = names[i & 3] if k == 'a' then r = 1 elseif k == 'b' then r = 2 elseif k == 'c' then r = 3 else r = 4 end", "r")
code("not_and_truth", 6000000, "local r, x = 0, false", "if not x then r = r + 1 end", "r == n")
code("while_loop", 3000000, "local j = 0", "while j < i do j = j + 1 end", "j == n")
code("repeat_loop", 5500000, "local j = 0", "repeat j = j + 1 until j >= i", "j == n")
code("goto_loop", 4500000, "local j = 0", "::again:: j = j + 1 if j < i then goto again end", "j == n")
code("nested_for", 7000, "local r = 0", "for j = 1, 30 do for k = 1, 30 do r = r + 1 end end", "r == n * 900")
code("for_with_step", 70000, "local r = 0", "for j = 100, 1, -1 do r = r + 1 end", "r == n * 100")
code("for_with_floats", 60000, "local r = 0", "for j = 0.0, 10.0, 0.1 do r = r + 1 end", "r > n")
code("short_for", 1500000, "local r = 0", "for j = 1, 3 do r = r + 1 end", "r == n * 3")
