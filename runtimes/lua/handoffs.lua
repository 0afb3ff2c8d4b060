-- Measures switches between two coroutines of Lua: the first resumes the second, which yields back.
-- In the baseline the first makes the turns of both, without a switch.

-- Returns the process's CPU time in ns, in steps of 1 us, because Lua has no monotonic clock. The
-- only thread never waits in a window.
local function now() return os.clock() * 1e9 end

local function number(line, name) return math.tointeger(line:match('"' .. name .. '":(%d+)')) or 0 end

local plan = io.read("l")
local stride = math.max(number(plan, "stride_bytes") // 8, 1)
local arrays, walked = {}, 0
for task = 1, 2 do
  arrays[task] = {}
  for i = 1, number(plan, "size_bytes") // 8 do arrays[task][i] = 0.0 end
end

-- Adds 1 to each element of a task's array, in steps of the stride, and adds the time to `walked`.
local function walk(task)
  local start, array = now(), arrays[task]
  for first = 1, stride do
    for i = first, #array, stride do array[i] = array[i] + 1.0 end
  end
  walked = walked + now() - start
end

-- Body of the second coroutine, which makes a turn each time it is resumed.
local function other(walks)
  while true do
    if walks then walk(2) end
    coroutine.yield()
  end
end

-- Runs the rounds of the first coroutine; `give` makes the turn of the second. Returns the time of
-- the rounds after the warm-up; the time of their walks is in `walked`.
local function rounds(window, give)
  local start
  for round = -window.warm_up, window.rounds - 1 do
    if round == 0 then start, walked = now(), 0 end
    if window.walks then walk(1) end
    give()
  end
  return now() - start
end

local function together(window)
  local resumed, resume = coroutine.create(other), coroutine.resume
  return rounds(window, function() resume(resumed, window.walks) end)
end

local function alone(window)
  return rounds(window, function() if window.walks then walk(2) end end)
end

io.stdout:setvbuf("line")
if number(plan, "tasks") ~= 2 then
  print('{"refused":"a coroutine yields to the one that resumed it: need 2 tasks"}')
  os.exit()
end
print('{"ready":"' .. _VERSION .. '"}')
for line in io.lines() do
  local window = { walks = line:find('"walk":true') ~= nil, warm_up = number(line, "warm_up"), rounds = number(line, "rounds") }
  local ns = (line:find('"switch"') and together or alone)(window)
  print(string.format('{"ns":%.0f,"walk_ns":%.0f,"handoffs":%d}', ns, math.min(walked, ns), window.rounds * 2))
end
