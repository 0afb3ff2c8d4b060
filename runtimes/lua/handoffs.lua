-- What a switch between coroutines of Lua costs: one resumes the other, which yields back; or it makes the turns of both without.

-- Lua has no monotonic clock. This is the process's CPU time, in microseconds: it has one thread, which never waits in a window.
local function now() return os.clock() * 1e9 end

local function number(line, name) return math.tointeger(line:match('"' .. name .. '":(%d+)')) or 0 end

local plan = io.read("l")
local stride = math.max(number(plan, "stride_bytes") // 8, 1)
local arrays, walked = {}, 0
for task = 1, 2 do
  arrays[task] = {}
  for i = 1, number(plan, "size_bytes") // 8 do arrays[task][i] = 0.0 end
end

-- Every element once: from each of the first ones up to the stride, in steps of the stride.
local function walk(task)
  local start, array = now(), arrays[task]
  for first = 1, stride do
    for i = first, #array, stride do array[i] = array[i] + 1.0 end
  end
  walked = walked + now() - start
end

-- The other one: has its turn whenever it is resumed.
local function other(walks)
  while true do
    if walks then walk(2) end
    coroutine.yield()
  end
end

-- The rounds of the first one; those behind the warm-up are timed, and of them the walks.
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
