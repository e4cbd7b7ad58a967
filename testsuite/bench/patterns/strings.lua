-- SPDX-License-Identifier: MIT
-- The string library without patterns; concatenation; conversions; utf8.
local api = ...
local family, code = api.family, api.code

family "strings"

-- As `code`, for strings s of 10, 1,000 and 100,000 bytes, each so many times.
local function sized(name, times, before, statement, condition)
  for i, size in ipairs {10, 1000, 100000} do
    code(name .. "_" .. size, times[i],
      ("local size = %d local s = ('abcdeFGHIJ'):rep(size // 10) local r %s"):format(size, before),
      statement, condition)
  end
end
sized("upper", {550000, 45000, 550}, "", "r = s:upper()", "#r == size")
sized("lower", {550000, 45000, 550}, "", "r = s:lower()", "#r == size")
sized("reverse", {550000, 55000, 700}, "", "r = s:reverse()", "#r == size")
sized("rep", {450000, 20000, 250}, "", "r = ('ab'):rep(size // 2)", "#r == size")
sized("rep_with_separator", {350000, 10000, 150}, "", "r = ('ab'):rep(size // 2, ',')", "#r > size")
sized("sub_most", {500000, 200000, 12000}, "", "r = s:sub(2, -2)", "#r == size - 2")
sized("len", {3000000, 3000000, 3000000}, "", "r = #s", "r == size")
sized("byte_last", {800000, 800000, 800000}, "", "r = s:byte(-1)", "r == 74")
sized("equal_to_another", {3000000, 1000000, 15000}, "local z = ('abcdeFGHIJ'):rep(size // 10)", "r = s == z", "r")
sized("less_than_another", {2500000, 1200000, 12000}, "local z = s .. 'x'", "r = s < z", "r")
sized("concat_two", {500000, 200000, 12000}, "local z = 'tail'", "r = s .. z", "#r == size + 4")
sized("as_key", {1500000, 1500000, 1500000}, "local t = {[s] = 1}", "r = t[s]", "r == 1")
code("sub_one", 750000, "local s, r = 'hello world'", "r = s:sub(5, 5)", "r == 'o'")
code("sub_of_3_KB", 200000, "local s, r = ('x'):rep(5000)", "r = s:sub(1 + i % 1000, 3000 + i % 1000)", "#r == 3000")
code("sub_first_half_of_long", 65000, "local s, r = ('x'):rep(60000)", "r = s:sub(1, 30000)", "#r == 30000")
code("byte_3", 600000, "local s, a, b, c = 'hello world'", "a, b, c = s:byte(1, 3)", "c == 108")
code("byte_100", 95000, "local s, r = ('x'):rep(100)", "r = select('#', s:byte(1, -1))", "r == 100")
code("byte_each", 250, "local s, r = ('x'):rep(3000)", "r = 0 for j = 1, #s do r = r + s:byte(j) end", "r == 360000")
code("char_1", 800000, "local c, r = string.char", "r = c(i & 127)", "#r == 1")
code("char_10", 350000, "local c, r = string.char", "r = c(65, 66, 67, 68, 69, 70, 71, 72, 73, i & 127)", "#r == 10")
code("char_200", 20000, "local c, t, r = string.char, {('x'):rep(200):byte(1, -1)}", "r = c(table.unpack(t))", "#r == 200")
code("rep_none", 800000, "local r", "r = ('x'):rep(0)", "r == ''")
code("pack_i4", 200000, "local r", "r = string.pack('<i4', i)", "#r == 4")
code("pack_many", 90000, "local r", "r = string.pack('<i1i2i4i8d', 1, 2, 3, i, 1.5)", "#r == 23")
code("pack_s2", 250000, "local r", "r = string.pack('>s2', 'hello')", "#r == 7")
code("unpack_i4", 500000, "local s, r = string.pack('<i4', 77)", "r = string.unpack('<i4', s)", "r == 77")
code("unpack_many", 250000, "local s, a, b, c, d, e = string.pack('<i1i2i4i8d', 1, 2, 3, 4, 1.5)", "a, b, c, d, e = string.unpack('<i1i2i4i8d', s)", "e == 1.5")
code("unpack_z", 500000, "local s, r = 'hello world\\0rest'", "r = string.unpack('z', s)", "#r == 11")
code("packsize", 600000, "local r", "r = string.packsize('<i4i8d')", "r == 20")
code("method_of_literal", 1000000, "local r", "r = ('x'):len()", "r == 1")
code("function_of_library", 1000000, "local r", "r = string.len('x')", "r == 1")

family "concatenation"

code("two_short", 600000, "local a, b, r = 'hello', 'world'", "r = a .. b", "#r == 10")
code("five_short", 500000, "local a, b, r = 'hello', 'world'", "r = a .. ' ' .. b .. ' ' .. a", "#r == 17")
code("ten_short", 300000, "local a, r = 'hello'", "r = a .. a .. a .. a .. a .. a .. a .. a .. a .. a", "#r == 50")
code("fresh_string_keys", 60000, "local t = {}", "t['key' .. i] = i", "t.key1 == 1")
code("fresh_strings_short", 100000, "local r", "r = 'k' .. i", "#r > 1")
code("fresh_strings_long", 150000, "local p, r = ('x'):rep(50)", "r = p .. i", "#r > 50")
code("integer_and_string", 100000, "local r", "r = i .. ''", "#r > 0")
code("float_and_string", 80000, "local r", "r = i + 0.5 .. ''", "#r > 0")
code("grown_to_1_KB", 3000, "local r", "r = '' for j = 1, 100 do r = r .. '0123456789' end", "#r == 1000")
code("grown_to_10_KB", 200, "local r", "r = '' for j = 1, 1000 do r = r .. '0123456789' end", "#r == 10000")
code("grown_to_200_KB", 4, "local r", "r = '' for j = 1, 2000 do r = r .. ('0123456789'):rep(10) end", "#r == 200000")
code("grown_at_front", 150, "local r", "r = '' for j = 1, 1000 do r = '0123456789' .. r end", "#r == 10000")
code("pieces_in_table", 800, "local t, r", "t = {} for j = 1, 1000 do t[#t + 1] = 'piece' end r = table.concat(t)", "#r == 5000")
code("two_of_50_KB", 20000, "local a, r = ('x'):rep(50000)", "r = a .. a", "#r == 100000")
code("empty_and_short", 3000000, "local a, b, r = 'hello', ''", "r = a .. b", "#r == 5")
code("repeated_results", 300000, "local r", "r = 'key' .. (i & 15)", "#r > 3")

family "format"

local formats = {
  d = {100000, "'%d', i"}, width_d = {80000, "'%8d', i"}, zero_d = {80000, "'%08d', i"}, x = {80000, "'%x', i"},
  s = {350000, "'%s', 'hello'"}, s_width = {150000, "'%20s', 'hello'"}, s_left = {150000, "'%-20s', 'hello'"},
  s_precision = {200000, "'%.3s', 'hello'"}, s_long = {15000, "'%s', ('x'):rep(1000)"}, s_integer = {80000, "'%s', i"},
  s_table = {90000, "'%s', {}"}, s_boolean = {400000, "'%s', true"}, q = {450000, "'%q', 'hello'"},
  q_with_escapes = {55000, "'%q', 'a\\n\\0b\"\\\\' .. i"}, q_long = {15000, "'%q', ('line of text\\n'):rep(50)"},
  q_integer = {80000, "'%q', i"}, q_float = {50000, "'%q', i + 0.5"}, g = {50000, "'%g', i + 0.5"}, f = {40000, "'%f', i + 0.5"},
  f_2 = {50000, "'%.2f', i + 0.5"}, g_14 = {50000, "'%.14g', i / 3"}, e = {75000, "'%e', i + 0.5"}, a = {100000, "'%a', i + 0.5"},
  c = {300000, "'%c', i & 127"}, o = {80000, "'%o', i"}, i_format = {100000, "'%i', i"}, percent = {850000, "'%%'"},
  no_directive = {600000, "'hello world'"}, p = {200000, "'%p', io.stdout"}, mixed = {30000, "'%s: %d of %d (%.1f%%)', 'name', i, n, i / n"},
  ten_directives = {20000, "'%d %d %d %d %d %d %d %d %d %d', i, i, i, i, i, i, i, i, i, i"}, u_hex_upper = {80000, "'%#X', i"},
  plus_d = {80000, "'%+d', i"}, date_like = {95000, "'%04d-%02d-%02d', 2024, 5, i % 28"},
}
local order = {}
for name in pairs(formats) do order[#order + 1] = name end
table.sort(order)
for _, name in ipairs(order) do
  code(name, formats[name][1], "local format, r = string.format", "r = format(" .. formats[name][2] .. ")", "#r > 0")
end

family "conversions"

code("tostring_integer", 150000, "local r", "r = tostring(i)", "#r > 0")
code("tostring_float", 50000, "local r", "r = tostring(i + 0.25)", "#r > 0")
code("tostring_large_float", 50000, "local r", "r = tostring(i * 1e100)", "#r > 0")
code("tostring_string", 600000, "local r", "r = tostring('hello')", "r == 'hello'")
code("tostring_boolean", 750000, "local r", "r = tostring(true)", "r == 'true'")
code("tostring_nil", 900000, "local r", "r = tostring(nil)", "r == 'nil'")
code("tostring_table", 200000, "local t, r = {}", "r = tostring(t)", "#r > 0")
code("tostring_function", 200000, "local r", "r = tostring(print)", "#r > 0")
code("tonumber_integer", 1500000, "local r", "r = tonumber(i)", "r == n")
code("tonumber_short_string", 1000000, "local r", "r = tonumber('12345')", "r == 12345")
code("tonumber_float_string", 350000, "local r", "r = tonumber('123.456')", "r == 123.456")
code("tonumber_exponent", 500000, "local r", "r = tonumber('1.5e10')", "r == 1.5e10")
code("tonumber_hex", 1000000, "local r", "r = tonumber('0xff')", "r == 255")
code("tonumber_spaces", 1000000, "local r", "r = tonumber('  42  ')", "r == 42")
code("tonumber_not_a_number", 700000, "local r", "r = tonumber('hello')", "r == nil")
code("tonumber_base_2", 650000, "local s, r = '1011001110'", "r = tonumber(s, 2)", "r == 718")
code("tonumber_base_16", 700000, "local r", "r = tonumber('ff', 16)", "r == 255")
code("tonumber_base_36", 750000, "local r", "r = tonumber('zz', 36)", "r == 1295")
code("tonumber_long_string", 150000, "local s, r = '3.' .. ('14159'):rep(10)", "r = tonumber(s)", "r > 3")
code("string_arithmetic", 700000, "local s, r = '10'", "r = s + 1", "r == 11")
code("string_to_float", 350000, "local s, r = '10.5'", "r = s * 2", "r == 21.0")
code("tointeger_float", 1000000, "local r", "r = math.tointeger(3.0)", "r == 3")
code("tointeger_string", 1000000, "local r", "r = math.tointeger('8')", "true")

family "utf8"

local ascii, mixed = "('hello world '):rep(%d)", "('h\u{e9}llo w\u{f6}rld \u{20ac}\u{1f600} '):rep(%d)"
for _, kind in ipairs {{"ascii", ascii}, {"mixed", mixed}} do
  for _, size in ipairs {1, 100} do
    local function utf8_code(name, times, statement, condition)
      code(name .. "_" .. kind[1] .. (size == 1 and "_short" or "_long"), times[size == 1 and 1 or 2],
        "local r local s = " .. kind[2]:format(size), statement, condition)
    end
    utf8_code("len", {400000, 8000}, "r = utf8.len(s)", "r >= 12")
    utf8_code("codes", {70000, 800}, "r = 0 for p, c in utf8.codes(s) do r = r + 1 end", "r == utf8.len(s)")
    utf8_code("codepoint_all", {200000, 90000}, "r = select('#', utf8.codepoint(s, 1, math.min(-1, 60 - #s)))", "r > 0")
    utf8_code("offset", {800000, 750000}, "r = utf8.offset(s, -3)", "r > 0")
    utf8_code("charpattern", {30000, 400}, "r = 0 for c in s:gmatch(utf8.charpattern) do r = r + 1 end", "r == utf8.len(s)")
  end
end
code("char_ascii", 350000, "local r", "r = utf8.char(65 + i % 26)", "#r == 1")
code("char_euro", 450000, "local r", "r = utf8.char(0x20ac)", "#r == 3")
code("char_several", 60000, "local r", "r = utf8.char(72, 0xe9, 0x20ac, 0x1f600)", "#r == 10")
code("codepoint_one", 750000, "local s, r = '\\u{20ac}'", "r = utf8.codepoint(s)", "r == 0x20ac")
code("len_of_invalid", 650000, "local s, a, b = 'abc\\xffdef'", "a, b = utf8.len(s)", "b == 4")
code("len_of_range", 550000, "local s, a = ('x'):rep(20)", "a = utf8.len(s, 5, 10)", "a == 6")
