//! [`Encoder`]: Lua values as `MessagePack`.
//!
//! A table whose keys are 1 to n is an array; any other is a map, in the order of Lua's `next`. An
//! empty one is an array.

use mlua::{Table, Value};

use super::super::args::Args;
use super::super::{STACK, check_output};
use crate::engine::script::{convert, raise};

/// How many levels of tables are written.
const NESTING: usize = 16;

pub(super) struct Encoder<'a> {
    args: Args<'a>,
    out: Vec<u8>,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(args: Args<'a>) -> Self {
        Self { args, out: Vec::new() }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.out
    }

    /// Writes a value that is on top of so many slots of Lua's stack.
    pub(super) fn encode(&mut self, value: &Value, slots: usize) -> mlua::Result<()> {
        self.value(value, slots, 0)
    }

    fn value(&mut self, value: &Value, slots: usize, level: usize) -> mlua::Result<()> {
        match value {
            Value::String(text) => self.string(&text.as_bytes()),
            Value::Boolean(yes) => self.out.push(if *yes { 0xC3 } else { 0xC2 }),
            Value::Integer(n) => self.number(*n as f64),
            Value::Number(x) => self.number(*x),
            Value::Table(table) if level < NESTING => self.table(table, slots, level)?,
            _ => self.out.push(0xC0),
        }
        check_output(self.out.len())
    }

    fn table(&mut self, table: &Table, slots: usize, level: usize) -> mlua::Result<()> {
        self.need_slots(slots, 2, "in function table_is_an_array")?;
        let (members, is_array) = members(table)?;
        if is_array {
            self.head(members, 0x90, 0xDC);
            self.need_slots(slots, 1, "in function mp_encode_lua_table_as_array")?;
            for at in 1..=members {
                self.value(&table.raw_get(at)?, slots + 1, level + 1)?;
            }
            return Ok(());
        }
        self.need_slots(slots, 3, "in function mp_encode_lua_table_as_map")?;
        self.head(members, 0x80, 0xDE);
        for pair in table.pairs::<Value, Value>() {
            let (key, value) = pair?;
            // The key lies there twice.
            self.value(&key, slots + 3, level + 1)?;
            self.value(&value, slots + 2, level + 1)?;
        }
        Ok(())
    }

    fn need_slots(&self, slots: usize, more: usize, whose: &str) -> mlua::Result<()> {
        if slots + more > STACK {
            return Err(raise::text(self.args.lua, format!("stack overflow ({whose})")));
        }
        Ok(())
    }

    /// The head of a table: `short` is the type with the length in its low half, `long` that with
    /// two bytes of length; the next is that with four.
    fn head(&mut self, length: u32, short: u8, long: u8) {
        match length {
            0..=15 => self.out.push(short | length as u8),
            16..=0xFFFF => self.tagged(long, &(length as u16).to_be_bytes()),
            _ => self.tagged(long + 1, &length.to_be_bytes()),
        }
    }

    fn tagged(&mut self, tag: u8, bytes: &[u8]) {
        self.out.push(tag);
        self.out.extend_from_slice(bytes);
    }

    fn string(&mut self, text: &[u8]) {
        let length = text.len();
        match length {
            0..=31 => self.out.push(0xA0 | length as u8),
            32..=0xFF => self.tagged(0xD9, &[length as u8]),
            0x100..=0xFFFF => self.tagged(0xDA, &(length as u16).to_be_bytes()),
            _ => self.tagged(0xDB, &(length as u32).to_be_bytes()),
        }
        self.out.extend_from_slice(text);
    }

    fn number(&mut self, x: f64) {
        let n = convert::truncate(x);
        if n as f64 == x {
            return self.integer(n);
        }
        let short = x as f32;
        if f64::from(short) == x {
            self.tagged(0xCA, &short.to_be_bytes());
        } else {
            self.tagged(0xCB, &x.to_be_bytes());
        }
    }

    fn integer(&mut self, n: i64) {
        match n {
            -32..=127 => self.out.push(n as u8),
            0x80..=0xFF => self.tagged(0xCC, &[n as u8]),
            0x100..=0xFFFF => self.tagged(0xCD, &(n as u16).to_be_bytes()),
            0x1_0000..=0xFFFF_FFFF => self.tagged(0xCE, &(n as u32).to_be_bytes()),
            0x1_0000_0000.. => self.tagged(0xCF, &n.to_be_bytes()),
            -0x80..=-33 => self.tagged(0xD0, &[n as u8]),
            -0x8000..=-0x81 => self.tagged(0xD1, &(n as i16).to_be_bytes()),
            -0x8000_0000..=-0x8001 => self.tagged(0xD2, &(n as i32).to_be_bytes()),
            _ => self.tagged(0xD3, &n.to_be_bytes()),
        }
    }
}

/// How many members a table has, and whether they are those of an array.
fn members(table: &Table) -> mlua::Result<(u32, bool)> {
    let (mut count, mut most, mut is_array) = (0, 0, true);
    // The values are not looked at.
    for pair in table.pairs::<Value, bool>() {
        match pair?.0 {
            Value::Integer(key @ 1..=0x7FFF_FFFF) => most = most.max(key as u32),
            _ => is_array = false,
        }
        count += 1;
    }
    Ok((count, is_array && most == count))
}
