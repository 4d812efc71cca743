-- What a script finds around it. Run once per interpreter with what only Rust can give:
-- `explain` turns an error that Rust has raised into a table {err = text}; `where` tells of a level
-- of the stack whether it is C ('C'), its source and its line.
local explain, where = ...
local type, error, tostring = type, error, tostring
local raw_pcall, xpcall, next, rawget, rawset = pcall, xpcall, next, rawget, rawset
local raw_setmetatable, raw_getmetatable = setmetatable, getmetatable
local raw_loadstring = loadstring

local READONLY = 'Attempt to modify a readonly table'

-- The read-only face of each protected table -> the table.
local protected = raw_setmetatable({}, {__mode = 'k'})

local function protect(real)
  local face = raw_setmetatable({}, {
    __index = real,
    __newindex = function() error(READONLY, 2) end,
  })
  protected[face] = real
  return face
end

local globals = {}
for _, name in ipairs({
  '_VERSION', 'assert', 'collectgarbage', 'coroutine', 'error', 'gcinfo', 'getmetatable',
  'ipairs', 'math', 'next', 'pairs', 'rawequal', 'rawget', 'rawset', 'select', 'setmetatable',
  'string', 'table', 'tonumber', 'tostring', 'type', 'unpack', 'xpcall',
  'redis', 'cjson', 'cmsgpack', 'struct', 'bit',
}) do
  local value = _G[name]
  if type(value) == 'table' then value = protect(value) end
  globals[name] = value
end

-- Redis gives a caught error as its text.
local function caught(ok, ...)
  if ok then return ok, ... end
  local err = ...
  if type(err) == 'userdata' then err = explain(err) end
  if type(err) == 'table' and type(err.err) == 'string' then err = err.err end
  return false, err
end
function globals.pcall(...) return caught(raw_pcall(...)) end

-- Binary chunks could break the interpreter's memory.
local function load_text(text, name)
  if text:sub(1, 1) == '\27' then return nil, 'attempt to load a binary chunk' end
  return raw_loadstring(text, name)
end
function globals.loadstring(text, name)
  if type(text) ~= 'string' and type(text) ~= 'number' then
    error("bad argument #1 to 'loadstring' (string expected, got " .. type(text) .. ")", 2)
  end
  text = tostring(text)
  return load_text(text, name or text)
end
function globals.load(reader, name)
  local parts = {}
  while true do
    local part = reader()
    if part == nil or part == '' then break end
    parts[#parts + 1] = part
  end
  return load_text(table.concat(parts), name or '=(load)')
end

local raw_next = next
function globals.next(t, k) return raw_next(protected[t] or t, k) end
function globals.pairs(t) return raw_next, protected[t] or t, nil end
function globals.rawget(t, k) return rawget(protected[t] or t, k) end
function globals.rawset(t, k, v)
  if protected[t] then error(READONLY, 0) end
  return rawset(t, k, v)
end
function globals.setmetatable(t, m)
  if protected[t] then error(READONLY, 0) end
  return raw_setmetatable(t, m)
end
function globals.getmetatable(t)
  if protected[t] then return nil end
  return raw_getmetatable(t)
end

raw_setmetatable(globals, {
  __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
})
local env = protect(globals)
rawset(globals, '_G', env)
rawset(globals, 'KEYS', {})
rawset(globals, 'ARGV', {})

local function handler(err)
  local what, source, line = where(2)
  if what == 'C' then what, source, line = where(3) end
  if type(err) == 'userdata' then err = explain(err) end
  if type(err) ~= 'table' then err = {err = 'ERR ' .. tostring(err)} end
  if what then
    err.source = source
    err.line = line
  end
  return err
end
rawset(globals, '__redis__err__handler', handler)

return globals, env, function(script) return xpcall(script, handler) end
