//! `struct`: numbers and strings as the bytes of C's structures, by a format.
//!
//! `>` and `<` set the order of bytes, `!n` the alignment (`!` alone: 8); the values are `b B h H l
//! L T` and `iN IN` (integers; lower case is signed, `T` is not), `f d` (floats), `cN` (characters;
//! `c0`: all of the string, or as many as the number read before), `s` (a string and a zero byte)
//! and `x` (a zero byte). Sizes are those of 64-bit Unix, and the order of bytes is that of most
//! machines, little end first, unless the format says otherwise.

use mlua::{Lua, MultiValue, Value};

use super::args::{Args, c_string};
use super::{HELD, RESULTS, check_output};
use crate::engine::script::{api, convert};

/// The size of the largest integer; bytes beyond eight are zero.
const MOST: usize = 32;

pub(super) fn open(lua: &Lua) -> mlua::Result<()> {
    let table = lua.create_table()?;
    let pack = |lua: &Lua, args: MultiValue| {
        let args = Args::new(lua, &args);
        lua.create_string(pack(args)?)
    };
    table.raw_set("pack", lua.create_function(pack)?)?;
    let unpack = |lua: &Lua, args: MultiValue| unpack(Args::new(lua, &args));
    table.raw_set("unpack", lua.create_function(unpack)?)?;
    let size = |lua: &Lua, args: MultiValue| size(Args::new(lua, &args));
    table.raw_set("size", lua.create_function(size)?)?;
    lua.globals().raw_set("struct", table)
}

/// A format on its way.
struct Format<'a, 't> {
    args: Args<'a>,
    text: &'t [u8],
    little: bool,
    align: usize,
}

impl<'a, 't> Format<'a, 't> {
    fn new(args: Args<'a>, text: &'t [u8]) -> Self {
        Self { args, text: c_string(text), little: true, align: 1 }
    }

    /// The next option, its size, and the bytes that align it at `position`.
    fn next(&mut self, position: usize) -> mlua::Result<Option<(u8, usize, usize)>> {
        let Some((&option, rest)) = self.text.split_first() else { return Ok(None) };
        self.text = rest;
        let size = match option {
            b'b' | b'B' | b'x' => 1,
            b'h' | b'H' => 2,
            b'f' => 4,
            b'l' | b'L' | b'T' | b'd' => 8,
            b'c' => self.count(1)?,
            b'i' | b'I' => match self.count(4)? {
                size if size > MOST => {
                    let problem = format!("integral size {size} is larger than limit of {MOST}");
                    return Err(self.args.error(problem));
                }
                size => size,
            },
            _ => 0,
        };
        let padding = if size == 0 || option == b'c' {
            0
        } else {
            let unit = size.min(self.align);
            unit.wrapping_sub(position & (unit - 1)) & (unit - 1)
        };
        Ok(Some((option, size, padding)))
    }

    /// The digits that come next, or `default` if there are none.
    fn count(&mut self, default: usize) -> mlua::Result<usize> {
        let length = self.text.iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.text.split_at(length);
        if digits.is_empty() {
            return Ok(default);
        }
        self.text = rest;
        let add = |n: i32, d: &u8| n.checked_mul(10)?.checked_add(i32::from(d - b'0'));
        let number = digits.iter().try_fold(0, add);
        number.map(|n| n as usize).ok_or_else(|| self.args.error("integral size overflow"))
    }

    /// Obeys an option that is no value.
    fn control(&mut self, option: u8) -> mlua::Result<()> {
        match option {
            b' ' => {}
            b'>' => self.little = false,
            b'<' => self.little = true,
            b'!' => {
                let align = self.count(8)?;
                if !align.is_power_of_two() {
                    let problem = format!("alignment {align} is not a power of 2");
                    return Err(self.args.error(problem));
                }
                self.align = align;
            }
            other => {
                let problem = [b"invalid format option '", &[other][..], b"'"].concat();
                return Err(self.args.bad(1, problem));
            }
        }
        Ok(())
    }

    /// Bytes that are little end first, or will be, in the format's order.
    fn order(&self, bytes: &mut [u8]) {
        if !self.little {
            bytes.reverse();
        }
    }
}

fn is_integer(option: u8) -> bool {
    matches!(option, b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I')
}

fn pack(args: Args<'_>) -> mlua::Result<Vec<u8>> {
    let text = args.string(1)?;
    let text = text.as_bytes();
    let mut format = Format::new(args, &text);
    let mut out = Vec::new();
    let mut index = 1;
    while let Some((option, size, padding)) = format.next(out.len())? {
        check_output(out.len())?;
        out.resize(out.len() + padding, 0);
        if !is_integer(option) && !b"xfdcs".contains(&option) {
            format.control(option)?;
            continue;
        }
        if option == b'x' {
            out.push(0);
            continue;
        }
        index += 1;
        // Where the original finds no argument it finds nil, which it has put there.
        let value = args.get(index).or(Some(&Value::Nil));
        if option == b'c' || option == b's' {
            let string = args.string_of(index, value)?;
            let string = string.as_bytes();
            let wanted = if size == 0 { string.len() } else { size };
            let taken = string.get(..wanted).ok_or_else(|| args.bad(index + 1, TOO_SHORT))?;
            out.extend_from_slice(taken);
            if option == b's' {
                out.push(0);
            }
            continue;
        }
        let x = args.number_of(index, value)?;
        let mut bytes = [0; MOST];
        match option {
            b'f' => bytes[..4].copy_from_slice(&(x as f32).to_le_bytes()),
            b'd' => bytes[..8].copy_from_slice(&x.to_le_bytes()),
            _ => bytes[..8].copy_from_slice(&to_u64(x).to_le_bytes()),
        }
        let bytes = &mut bytes[..size];
        format.order(bytes);
        out.extend_from_slice(bytes);
    }
    Ok(out)
}

const TOO_SHORT: &str = "string too short";

/// A number as C makes an unsigned integer of it on the usual machines; a negative one wraps.
fn to_u64(x: f64) -> u64 {
    const HALF: f64 = 9_223_372_036_854_775_808.0;
    if x >= HALF {
        return convert::truncate(x - HALF) as u64 ^ 1 << 63;
    }
    convert::truncate(x) as u64
}

fn unpack(args: Args<'_>) -> mlua::Result<MultiValue> {
    let text = args.string(1)?;
    let data = args.string(2)?;
    let (text, data) = (text.as_bytes(), data.as_bytes());
    let mut format = Format::new(args, &text);
    let from = args.integer_or(3, 1)?;
    if from == 0 {
        return Err(args.bad(3, "offset must be 1 or greater"));
    }
    // A negative one is far behind the end.
    let mut position = (from as usize).wrapping_sub(1);
    let mut values = MultiValue::new();
    let (mut strings, data) = (args.len(), &*data);
    while let Some((option, size, padding)) = format.next(position)? {
        position = position.wrapping_add(padding);
        let mut field = field(args, data, position, size)?;
        if values.len() >= RESULTS || strings > HELD {
            return Err(args.error("stack overflow (too many results)"));
        }
        match option {
            b'x' => {}
            _ if is_integer(option) => values.push_back(integer(&format, field, option)),
            b'f' | b'd' => {
                let mut bytes = [0; 8];
                bytes[..size].copy_from_slice(field);
                format.order(&mut bytes[..size]);
                let bits = u64::from_le_bytes(bytes);
                let short = f64::from(f32::from_bits(bits as u32));
                let x = if size == 4 { short } else { f64::from_bits(bits) };
                values.push_back(Value::Number(x));
            }
            b'c' | b's' => {
                if option == b'c' && size == 0 {
                    field = counted(args, data, position, values.pop_back().as_ref())?;
                } else if option == b's' {
                    let rest = data.get(position..).unwrap_or_default();
                    let end = rest.iter().position(|&byte| byte == 0);
                    let end = end.ok_or_else(|| args.error("unfinished string in data"))?;
                    field = &rest[..end];
                    position += 1;
                }
                strings += 1;
                values.push_back(Value::String(args.lua.create_string(field)?));
            }
            other => format.control(other)?,
        }
        position = position.wrapping_add(field.len());
    }
    values.push_back(Value::Number(position.wrapping_add(1) as i64 as f64));
    Ok(values)
}

/// So many bytes of the data.
fn field<'d>(
    args: Args<'_>,
    data: &'d [u8],
    position: usize,
    size: usize,
) -> mlua::Result<&'d [u8]> {
    let rest = data.get(position..).and_then(|rest| rest.get(..size));
    rest.ok_or_else(|| args.bad(2, "data string too short"))
}

/// As many bytes as the value before says.
fn counted<'d>(
    args: Args<'_>,
    data: &'d [u8],
    position: usize,
    before: Option<&Value>,
) -> mlua::Result<&'d [u8]> {
    let size = api::number(args.lua, before);
    let size = size.ok_or_else(|| args.error("format 'c0' needs a previous size"))?;
    field(args, data, position, to_u64(size) as usize)
}

/// The integer of the last eight bytes that count; its sign is where the format's size puts it,
/// modulo eight bytes.
fn integer(format: &Format<'_, '_>, field: &[u8], option: u8) -> Value {
    let add = |n: u64, byte: &u8| n << 8 | u64::from(*byte);
    let bits =
        if format.little { field.iter().rev().fold(0, add) } else { field.iter().fold(0, add) };
    if !option.is_ascii_lowercase() {
        return Value::Number(bits as f64);
    }
    let sign = u64::MAX.wrapping_shl((field.len() as u32).wrapping_mul(8).wrapping_sub(1));
    let bits = if bits & sign == 0 { bits } else { bits | sign };
    Value::Number(bits as i64 as f64)
}

fn size(args: Args<'_>) -> mlua::Result<f64> {
    let text = args.string(1)?;
    let text = text.as_bytes();
    let mut format = Format::new(args, &text);
    let mut position = 0_usize;
    while let Some((option, size, padding)) = format.next(position)? {
        match option {
            b's' => return Err(args.bad(1, "option 's' has no fixed size")),
            b'c' if size == 0 => return Err(args.bad(1, "option 'c0' has no fixed size")),
            option if !option.is_ascii_alphanumeric() => format.control(option)?,
            _ => {}
        }
        position = position.wrapping_add(padding).wrapping_add(size);
    }
    Ok(position as i64 as f64)
}
