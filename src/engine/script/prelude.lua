-- What the interpreter runs once, before any script: it protects the globals and makes the
-- functions that the host calls. `host` has the host's functions.
--
-- Redis's Lua has a mark for read-only tables. Plain Lua has none, so scripts get empty stand-ins
-- that read from the true tables and refuse to be written. `hidden` leads from a stand-in to the
-- true table.

local host = ...
local true_globals = getfenv(0)

local error, tostring, type, select = error, tostring, type, select
local raw_getmetatable, raw_setmetatable = getmetatable, setmetatable
local raw_rawget, raw_rawset, raw_next = rawget, rawset, next
local raw_pcall, raw_xpcall, raw_resume = pcall, xpcall, coroutine.resume
local raw_loadstring, raw_unpack, raw_collectgarbage = loadstring, unpack, collectgarbage
local byte, concat = string.byte, table.concat
local surface, locate, called_as = host.surface, host.locate, host.called_as
local find, sub, gsub = string.find, string.sub, string.gsub

local READONLY = "Attempt to modify a readonly table"

local hidden, metatables, stand_ins = {}, {}, {}

local function refuse()
  error(READONLY, 2)
end

-- A stand-in for `true_table`, whose metatable scripts see as `metatable`.
local function protect(true_table, metatable)
  local stand_in = {}
  hidden[stand_in] = true_table
  metatables[stand_in] = metatable
  stand_ins[#stand_ins + 1] = stand_in
  return raw_setmetatable(stand_in, { __index = true_table, __newindex = refuse })
end

-- Fails as a C function would that has the name `name` and got a bad argument.
local function bad_argument(index, name, problem)
  error("bad argument #" .. index .. " to '" .. called_as(name) .. "' (" .. problem .. ")", 3)
end

-- The same for its first argument, which has the wrong type.
local function bad_type(name, expected, ...)
  local got = select("#", ...) == 0 and "no value" or type((...))
  error("bad argument #1 to '" .. called_as(name) .. "' (" .. expected .. " expected, got " .. got
    .. ")", 3)
end

-- Errors. What the host's functions fail with is opaque until `surface` opens it.

-- An error of a true function called from here names a place in this file, and one that belongs to
-- the caller of a script or of `pcall` a place outside: nobody's business. Says also whether it was
-- here, so that the script's own place can stand there instead.
local function without_place(seen)
  if type(seen) == "string" then
    local _, last, chunk = find(seen, "^(prelude):%d+: ")
    if not last then
      _, last, chunk = find(seen, "^(outside):%d+: ")
    end
    if last then
      seen = gsub(sub(seen, last + 1), "^(bad argument #%d+ to ')callee'", "%1?'")
      return seen, chunk == "prelude"
    end
  end
  return seen
end

local function settle(ok, ...)
  if ok then
    return true, ...
  end
  local raised = ...
  local seen, fatal = surface(raised)
  if fatal then
    error(raised, 0)
  end
  return false, (without_place(seen))
end

-- Results of a protected call. They do not go through the true `pcall`, which must not return more
-- than about twenty: it does not ask for room on the stack, and Lua built with checks aborts there.
local kept, kept_count

local function keep(...)
  kept_count = select("#", ...)
  kept = kept_count > 0 and { ... } or nil
end

-- Calls, as if from C, and keeps the results. A chunk of its own, told by its name.
local outside = raw_loadstring("local keep = ... return function(callee, ...) keep(callee(...)) end",
  "=outside")(keep)

local function settle_kept(ok, raised)
  if not ok then
    return settle(false, raised)
  end
  local results, count = kept, kept_count
  kept = nil
  if count == 0 then
    return true
  end
  return true, raw_unpack(results, 1, count)
end

-- As Redis's own pcall: of an error that is a table with a text in `err`, the text is returned.
local function settle_pcall(ok, ...)
  if ok then
    return true, ...
  end
  local seen = ...
  if type(seen) == "table" then
    local text = seen.err
    if type(text) == "string" or type(text) == "number" then
      seen = text
    end
  end
  return false, seen
end

function pcall(...)
  local callee = ...
  if select("#", ...) == 0 then
    return false, "attempt to call a boolean value"
  elseif type(callee) ~= "function" then
    return settle_pcall(settle(raw_pcall(...)))
  end
  return settle_pcall(settle_kept(raw_pcall(outside, ...)))
end

function xpcall(f, handler)
  local function handle(raised)
    local seen, fatal = surface(raised)
    if fatal then
      return raised
    end
    return handler((without_place(seen)))
  end
  if type(f) ~= "function" then
    return settle(raw_xpcall(f, handle))
  end
  return settle_kept(raw_xpcall(function()
    outside(f)
  end, handle))
end

function coroutine.resume(...)
  return settle(raw_resume(...))
end

-- What becomes of an error that a script does not catch.
local function on_error(raised)
  local seen, placed = without_place((surface(raised)))
  local source, line, place = locate()
  if type(seen) ~= "table" then
    seen = { err = "ERR " .. (placed and place or "") .. tostring(seen) }
  end
  if source then
    raw_rawset(seen, "source", source)
    raw_rawset(seen, "line", line)
  end
  return seen
end

__redis__err__handler = on_error

-- Tables.

function getmetatable(...)
  local object = ...
  if hidden[object] then
    return metatables[object]
  end
  if select("#", ...) == 0 then
    bad_argument(1, "getmetatable", "value expected")
  end
  return raw_getmetatable(object)
end

function setmetatable(...)
  local table, metatable = ...
  if hidden[table] then
    error(READONLY, 0)
  end
  if type(table) ~= "table" then
    bad_type("setmetatable", "table", ...)
  end
  if metatable ~= nil and type(metatable) ~= "table" then
    bad_argument(2, "setmetatable", "nil or table expected")
  end
  return raw_setmetatable(table, metatable)
end

function rawget(table, key)
  return raw_rawget(hidden[table] or table, key)
end

function rawset(table, key, value)
  if hidden[table] then
    error(READONLY, 0)
  end
  return raw_rawset(table, key, value)
end

function next(table, key)
  return raw_next(hidden[table] or table, key)
end

function pairs(...)
  local table = ...
  if type(table) ~= "table" then
    bad_type("pairs", "table", ...)
  end
  local true_table = hidden[table]
  if true_table then
    -- A copy, so that nobody gets hold of the true one.
    local copy = {}
    for key, value in raw_next, true_table do
      copy[key] = value
    end
    return raw_next, copy, nil
  end
  return raw_next, table, nil
end

-- As many as the host can take as arguments.
local MOST_RESULTS = 7500

function unpack(...)
  local list, first, last = ...
  if type(list) ~= "table" then
    bad_type("unpack", "table", ...)
  end
  if (last or #list) - (first or 1) >= MOST_RESULTS then
    error("too many results to unpack", 2)
  end
  return raw_unpack(list, first, last)
end

-- Code. Compiled code could reach beyond the interpreter: it is read as text, which it is not.

local function compile_text(code, name)
  if byte(code) == 27 then
    code = " " .. code
  end
  return raw_loadstring(code, name)
end

function loadstring(...)
  local code, name = ...
  if type(code) ~= "string" and type(code) ~= "number" then
    bad_type("loadstring", "string", ...)
  end
  return compile_text(code, name or code)
end

function load(...)
  local reader, name = ...
  if type(reader) ~= "function" then
    bad_type("load", "function", ...)
  end
  local pieces = {}
  while true do
    local ok, piece = settle(raw_pcall(reader))
    if not ok then
      return nil, piece
    end
    if piece == nil or piece == "" then
      break
    end
    if type(piece) ~= "string" and type(piece) ~= "number" then
      return nil, "reader function must return a string"
    end
    pieces[#pieces + 1] = piece
  end
  return compile_text(concat(pieces), name or "=(load)")
end

-- The collector belongs to the host: a script can run it and ask, not change it.
function collectgarbage(option, argument)
  if option == "stop" or option == "restart" then
    return 0
  elseif option == "setpause" or option == "setstepmul" then
    return 200
  end
  return raw_collectgarbage(option, argument)
end

-- Random numbers: those of Redis.
math.random, math.randomseed = host.random, host.randomseed

-- The table `redis`. `call` comes with each script.

local redis, quietly = host.redis, host.quietly
local call

function redis.pcall(...)
  return call(quietly, ...)
end

local function of_text(wrap)
  return function(...)
    local text = ...
    if select("#", ...) ~= 1 or type(text) ~= "string" then
      return { err = "ERR wrong number or type of arguments" }
    end
    return wrap(text)
  end
end

redis.status_reply = of_text(function(text)
  return { ok = text }
end)
redis.error_reply = of_text(function(text)
  return { err = host.error_text(text) }
end)

-- The globals that remain, protected.

local KEPT = {
  "_VERSION", "assert", "collectgarbage", "coroutine", "error", "gcinfo", "getmetatable",
  "ipairs", "load", "loadstring", "math", "next", "pairs", "pcall", "rawequal", "rawget", "rawset",
  "select", "setmetatable", "string", "table", "tonumber", "tostring", "type", "unpack", "xpcall",
  "__redis__err__handler", "bit", "cjson", "cmsgpack", "struct",
}

local globals = { redis = protect(redis) }
for _, name in ipairs(KEPT) do
  local value = true_globals[name]
  if type(value) == "table" then
    value = protect(value)
  end
  globals[name] = value
end

local function missing(_, name)
  if type(name) ~= "string" and type(name) ~= "number" then
    error("Second argument to luaProtectedTableError must be a string or number", 2)
  end
  error("Script attempted to access nonexistent global variable '" .. name .. "'", 2)
end

local strings = raw_getmetatable("")
strings.__metatable = protect({ __index = globals.string })

raw_setmetatable(globals, { __index = missing })
local environment = protect(globals, protect({ __index = missing }))
globals._G = environment
setfenv(0, environment)

-- What the host calls.

local functions, count = {}, 0

-- The slot of a compiled script; or nothing, and the error.
local function compile(code)
  local compiled, problem = compile_text(code, "@user_script")
  if not compiled then
    return nil, problem
  end
  count = count + 1
  functions[count] = compiled
  return count
end

-- A script has put something into a stand-in, past its metatable.
local function clean(stand_in)
  for key in raw_next, stand_in do
    stand_in[key] = nil
  end
end

local protected = #stand_ins

-- What is run: a script's first result is kept, where its caller is outside.
local script
local function first(result)
  kept = result
end
local entry = raw_loadstring("local first, script = ... return function() first(script()) end",
  "=outside")(first, function()
  return script()
end)

-- The text of an error that is a table, if it has one. Its metatable may be the script's.
local function text_of(problem)
  local _, text = raw_pcall(function()
    return problem.err
  end)
  if type(text) == "string" or type(text) == "number" then
    return tostring(text)
  end
end

-- Runs a script: true and its result, or false, the error and its place.
local function run(slot, checked, new_call, keys, argv)
  call, redis.call = new_call, new_call
  globals.KEYS, globals.ARGV = keys, argv
  script = functions[slot]
  local ok, problem = raw_xpcall(entry, on_error)
  local result = kept
  kept, script = nil, nil
  globals.KEYS, globals.ARGV = nil, nil
  if checked then
    for i = 1, protected do
      if raw_next(stand_ins[i]) ~= nil then
        clean(stand_ins[i])
      end
    end
  end
  if ok then
    return true, result
  elseif type(problem) ~= "table" then
    return false, nil, problem
  end
  local text = text_of(problem)
  if not text then
    return false
  end
  return false, text, raw_rawget(problem, "source"), raw_rawget(problem, "line")
end

return compile, run
