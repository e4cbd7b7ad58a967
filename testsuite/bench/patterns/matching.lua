-- SPDX-License-Identifier: MIT
-- find, match, gmatch and gsub.
local api = ...
local family, code = api.family, api.code

local text = "local s = ('The quick brown fox jumps over the lazy dog. 12345, 67890; name = value\\n'):rep(%d) local r "
local short, long = text:format(1), text:format(200)

family "find"

code("plain_short", 600000, short, "r = s:find('lazy', 1, true)", "r == 36")
code("plain_absent_long", 7500, long, "r = s:find('absent', 1, true)", "r == nil")
code("without_specials_short", 650000, short, "r = s:find('lazy')", "r == 36")
code("first_character", 600000, short, "r = s:find('T')", "r == 1")
code("empty", 700000, short, "r = s:find('')", "r == 1")
code("anchored", 500000, short, "r = s:find('^The')", "r == 1")
code("anchored_fails", 650000, short, "r = s:find('^quick')", "r == nil")
code("class_digits", 60000, short, "r = s:find('%d+')", "r == 46")
code("class_absent_long", 250, long, "r = s:find('[\\1-\\5]')", "r == nil")
code("set", 150000, short, "r = s:find('[xyz]')", "r == 19")
code("negated_set", 40000, short, "r = s:find('[^%a%s]')", "r == 44")
code("captures", 9000, short, "r = s:find('(%w+) = (%w+)')", "r == 60")
code("from_position", 550000, short, "r = s:find('o', 20)", "r == 27")
code("lazy_repetition", 150000, short, "r = s:find('T.-fox')", "r == 1")
code("greedy_backs_off", 40000, short, "r = s:find('T.*fox')", "r == 1")
code("balance", 500000, "local s, r = 'f(a(b)c(d(e)))g'", "r = s:find('%b()')", "r == 2")
code("frontier", 30000, short, "r = s:find('%f[%w]lazy')", "r == 36")
code("back_reference", 150000, "local s, r = 'say \"hello\" and go'", "r = s:find('([\"\\'])(.-)%1')", "r == 5")
code("all_positions", 2500, long, "r = 0 local at = 1 while true do local b, e = s:find('fox', at, true) if not b then break end r = r + 1 at = e + 1 end", "r == 200")
code("dots_long", 1500, long, "r = s:find('.*$')", "r == 1")
code("late_in_long", 90000, "local s, r = ('x'):rep(30000) .. 'y'", "r = s:find('y', 1, true)", "r == 30001")
code("almost_everywhere", 1500, "local s, r = ('a'):rep(3000) .. 'b'", "r = s:find('aaab', 1, true)", "r == 2998")

family "match"

code("word", 350000, short, "r = s:match('%a+')", "r == 'The'")
code("two_captures", 60000, "local s, k, v = 'name = value'", "k, v = s:match('(%w+)%s*=%s*(%w+)')", "v == 'value'")
code("date", 100000, "local s, y, m, d = '2024-05-17'", "y, m, d = s:match('(%d+)-(%d+)-(%d+)')", "d == '17'")
code("date_anchored", 150000, "local s, y, m, d = '2024-05-17'", "y, m, d = s:match('^(%d%d%d%d)-(%d%d)-(%d%d)$')", "d == '17'")
code("position_captures", 250000, "local s, a, b = 'hello world'", "a, b = s:match('()world()')", "b == 12")
code("trim", 60000, "local s, r = '   some text   '", "r = s:match('^%s*(.-)%s*$')", "r == 'some text'")
code("trim_long", 950, "local s, r = (' '):rep(500) .. ('x '):rep(500)", "r = s:match('^%s*(.-)%s*$')", "#r == 999")
code("file_name", 60000, "local s, r = '/usr/share/doc/readme.txt'", "r = s:match('([^/]+)$')", "r == 'readme.txt'")
code("extension", 150000, "local s, r = 'archive.tar.gz'", "r = s:match('%.([^.]+)$')", "r == 'gz'")
code("fails_at_once", 600000, "local s, r = 'hello'", "r = s:match('^%d')", "r == nil")
code("whole_long", 1500, long, "r = s:match('.*')", "#r > 10000")
code("ten_captures", 80000, "local s, r = 'a b c d e f g h i j'", "r = select('#', s:match('(%a) (%a) (%a) (%a) (%a) (%a) (%a) (%a) (%a) (%a)'))", "r == 10")
code("fresh_patterns", 95000, "local s, r = 'k5 = v'", "r = s:match('^k' .. i .. ' = (.*)$')", "n < 5 or true")
code("optional", 250000, "local s, r = '-42.5'", "r = s:match('^[+-]?%d+%.?%d*$')", "r == '-42.5'")
code("quoted", 200000, "local s, r = 'say \"hello world\" now'", "r = s:match('\"([^\"]*)\"')", "r == 'hello world'")
code("hex", 200000, "local s, r, g, b = '#ff8800'", "r, g, b = s:match('^#(%x%x)(%x%x)(%x%x)$')", "g == '88'")

family "gmatch"

code("words_short", 15000, short, "r = 0 for w in s:gmatch('%a+') do r = r + 1 end", "r == 11")
code("words_long", 150, long, "r = 0 for w in s:gmatch('%a+') do r = r + 1 end", "r == 2200")
code("words_with_position", 15000, short, "r = 0 for p, w in s:gmatch('()(%a+)') do r = p end", "r == 67")
code("lines_long", 300, long, "r = 0 for l in s:gmatch('[^\\n]+') do r = r + 1 end", "r == 200")
code("key_values", 25000, "local s, r = 'a=1, b=2, c=3, d=4, e=5'", "r = {} for k, v in s:gmatch('(%w+)=(%w+)') do r[k] = v end", "r.e == '5'")
code("characters", 600, "local s, r = ('abc'):rep(500)", "r = 0 for c in s:gmatch('.') do r = r + 1 end", "r == 1500")
code("commas", 25000, "local s, r = 'one,two,three,four,five,six,seven'", "r = {} for f in s:gmatch('([^,]*)') do r[#r + 1] = f end", "#r >= 7")
code("none", 100000, "local s, r = 'hello'", "r = 0 for w in s:gmatch('%d+') do r = r + 1 end", "r == 0")
code("from_position", 100000, "local s, r = 'one two three'", "r = 0 for w in s:gmatch('%a+', 5) do r = r + 1 end", "r == 2")
code("numbers_summed", 50000, "local s, r = '1 22 333 4444 55555'", "r = 0 for d in s:gmatch('%d+') do r = r + tonumber(d) end", "r == 60355")

family "gsub"

code("one_word", 60000, short, "r = s:gsub('lazy', 'active')", "#r > 60")
code("nothing_found", 60000, short, "r = s:gsub('%$', 'x')", "r == s")
code("spaces_to_underscores", 30000, short, "r = s:gsub(' ', '_')", "#r == #s")
code("characters_deleted_long", 80, long, "r = s:gsub('%s', '')", "#r < #s")
code("swap_captures", 150000, "local s, r = 'hello world'", "r = s:gsub('(%w+) (%w+)', '%2 %1')", "r == 'world hello'")
code("whole_match", 150000, "local s, r = 'hello world'", "r = s:gsub('%w+', '<%0>')", "r == '<hello> <world>'")
code("with_function", 20000, short, "r = s:gsub('%d+', function(d) return d + 1 end)", "#r == #s")
code("with_function_of_nothing", 20000, short, "r = s:gsub('%a+', function() end)", "r == s")
code("with_upper", 10000, short, "r = s:gsub('%a+', string.upper)", "#r == #s")
code("with_table", 60000, "local s, t, r = 'hello $name, welcome to $place', {name = 'Ann', place = 'Rome'}", "r = s:gsub('%$(%w+)', t)", "r == 'hello Ann, welcome to Rome'")
code("limit_1", 150000, short, "r = s:gsub('o', '0', 1)", "#r == #s")
code("anchored", 300000, "local s, r = '   text'", "r = s:gsub('^%s+', '')", "r == 'text'")
code("trim_both", 150000, "local s, r = '   text   '", "r = s:gsub('^%s*(.-)%s*$', '%1')", "r == 'text'")
code("each_character", 900, "local s, r = ('abc'):rep(500)", "r = s:gsub('.', '%0')", "#r == 1500")
code("each_character_by_table", 650, "local s, t, r = ('abc'):rep(500), {a = 'x', b = 'y'}", "r = s:gsub('.', t)", "#r == 1500")
code("escape_html", 50000, "local s, t, r = '<a href=\"x\">Tom & Jerry</a>', {['<'] = '&lt;', ['>'] = '&gt;', ['&'] = '&amp;'}", "r = s:gsub('[<>&]', t)", "#r > #s")
code("url_decode", 50000, "local s, r = 'a%20b%2Fc%3Dd+e'", "r = s:gsub('%%(%x%x)', function(h) return string.char(tonumber(h, 16)) end)", "r == 'a b/c=d+e'")
code("words_long", 150, long, "r = s:gsub('%a+', 'w')", "#r < #s")
code("single_word_of_long", 500, long, "r = s:gsub('dog', 'cat')", "#r == #s")
code("count_only", 300, long, "r = select(2, s:gsub('\\n', '\\n'))", "r == 200")
code("empty_matches", 100000, "local s, r = 'hello world'", "r = s:gsub('', '-')", "#r == 23")
