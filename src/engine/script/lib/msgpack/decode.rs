//! [`Decoder`]: the Lua values of `MessagePack`.

use mlua::{MultiValue, Table, Value};

use super::super::args::Args;
use super::super::{HELD, RESULTS, STACK};
use crate::engine::script::raise;

/// A table that is read as far as to a value inside.
enum Frame {
    /// The value's place, and how many come with and behind it.
    Array { table: Table, at: usize, left: u32 },
    /// The value's key, unless the value is the key; and how many pairs come with and behind it.
    Map { table: Table, key: Option<Value>, left: u32 },
}

/// What one type byte begins.
enum Item {
    Value(Value),
    Array(u32),
    Map(u32),
}

const TOO_MANY: &str = "too many return values at once; use unpack_one or unpack_limit instead.";

pub(super) struct Decoder<'a, 't> {
    args: Args<'a>,
    input: &'t [u8],
    frames: Vec<Frame>,
    /// Slots of Lua's stack in use.
    slots: usize,
    /// Values held by `frames`, and results.
    held: usize,
}

impl<'a, 't> Decoder<'a, 't> {
    /// Reads `input` while so many slots of the stack are in use.
    pub(super) fn new(args: Args<'a>, input: &'t [u8], slots: usize) -> Self {
        let held = args.len();
        Self { args, input, frames: Vec::new(), slots, held }
    }

    /// Bytes not read.
    pub(super) fn left(&self) -> usize {
        self.input.len()
    }

    /// Fails unless there are so many more slots.
    pub(super) fn need_slots(&self, more: usize, whose: &str) -> mlua::Result<()> {
        if self.slots + more > STACK || self.held > HELD {
            return Err(self.args.error(format!("stack overflow ({whose})")));
        }
        Ok(())
    }

    /// The next values, at most so many.
    pub(super) fn values(&mut self, limit: usize) -> mlua::Result<MultiValue> {
        let mut values = MultiValue::new();
        while !self.input.is_empty() && values.len() < limit {
            if values.len() == RESULTS {
                return Err(self.args.error(format!("stack overflow ({TOO_MANY})")));
            }
            let value = self.value()?;
            self.held += usize::from(is_held(&value));
            values.push_back(value);
        }
        Ok(values)
    }

    fn value(&mut self) -> mlua::Result<Value> {
        loop {
            let item = self.item()?;
            self.slots += 1;
            let value = match item {
                Item::Value(value) => value,
                Item::Array(left) => {
                    let table = self.args.lua.create_table()?;
                    self.need_slots(1, "in function mp_decode_to_lua_array")?;
                    if left > 0 {
                        self.enter(Frame::Array { table, at: 1, left });
                        continue;
                    }
                    Value::Table(table)
                }
                Item::Map(left) => {
                    let table = self.args.lua.create_table()?;
                    if left > 0 {
                        self.enter(Frame::Map { table, key: None, left });
                        continue;
                    }
                    Value::Table(table)
                }
            };
            if let Some(whole) = self.end(value)? {
                return Ok(whole);
            }
        }
    }

    fn enter(&mut self, frame: Frame) {
        if let Frame::Array { .. } = frame {
            self.slots += 1; // the place
        }
        self.held += 1;
        self.frames.push(frame);
    }

    /// Puts a value where it belongs, and ends the tables that end with it. Returns it, or the
    /// table around it all, if nothing else is to come.
    fn end(&mut self, mut value: Value) -> mlua::Result<Option<Value>> {
        while let Some(frame) = self.frames.pop() {
            self.held -= 1;
            match frame {
                Frame::Array { table, at, left } => {
                    table.raw_seti(at, value)?;
                    self.slots -= 2;
                    if left > 1 {
                        self.enter(Frame::Array { table, at: at + 1, left: left - 1 });
                        return Ok(None);
                    }
                    value = Value::Table(table);
                }
                Frame::Map { table, key: None, left } => {
                    self.held += usize::from(is_held(&value));
                    self.enter(Frame::Map { table, key: Some(value), left });
                    return Ok(None);
                }
                Frame::Map { table, key: Some(key), left } => {
                    self.held -= usize::from(is_held(&key));
                    match key {
                        Value::Nil => return Err(raise::unplaced("table index is nil")),
                        Value::Number(x) if x.is_nan() => {
                            return Err(raise::unplaced("table index is NaN"));
                        }
                        key => table.raw_set(key, value)?,
                    }
                    self.slots -= 2;
                    if left > 1 {
                        self.enter(Frame::Map { table, key: None, left: left - 1 });
                        return Ok(None);
                    }
                    value = Value::Table(table);
                }
            }
        }
        Ok(Some(value))
    }

    fn item(&mut self) -> mlua::Result<Item> {
        let [tag] = self.peek(0)?;
        self.need_slots(1, TOO_MANY)?;
        let number = |x: f64| Item::Value(Value::Number(x));
        Ok(match tag {
            0x00..=0x7F | 0xE0..=0xFF => {
                self.take(1)?;
                number(f64::from(tag as i8))
            }
            0x80..=0x8F => {
                self.take(1)?;
                Item::Map(u32::from(tag & 0x0F))
            }
            0x90..=0x9F => {
                self.take(1)?;
                Item::Array(u32::from(tag & 0x0F))
            }
            0xA0..=0xBF => self.string(1, u32::from(tag & 0x1F))?,
            0xC0 => self.constant(Value::Nil)?,
            0xC2 => self.constant(Value::Boolean(false))?,
            0xC3 => self.constant(Value::Boolean(true))?,
            0xCA => number(f64::from(f32::from_be_bytes(self.behind_tag()?))),
            0xCB => number(f64::from_be_bytes(self.behind_tag()?)),
            0xCC => number(f64::from(u8::from_be_bytes(self.behind_tag()?))),
            0xCD => number(f64::from(u16::from_be_bytes(self.behind_tag()?))),
            0xCE => number(f64::from(u32::from_be_bytes(self.behind_tag()?))),
            // The original reads both as signed.
            0xCF | 0xD3 => number(i64::from_be_bytes(self.behind_tag()?) as f64),
            0xD0 => number(f64::from(i8::from_be_bytes(self.behind_tag()?))),
            0xD1 => number(f64::from(i16::from_be_bytes(self.behind_tag()?))),
            0xD2 => number(f64::from(i32::from_be_bytes(self.behind_tag()?))),
            0xD9 => {
                let [length] = self.peek(1)?;
                self.string(2, u32::from(length))?
            }
            0xDA => {
                let length = u16::from_be_bytes(self.peek(1)?);
                self.string(3, u32::from(length))?
            }
            0xDB => {
                let length = u32::from_be_bytes(self.peek(1)?);
                self.string(5, length)?
            }
            0xDC => Item::Array(u32::from(u16::from_be_bytes(self.behind_tag()?))),
            0xDD => Item::Array(u32::from_be_bytes(self.behind_tag()?)),
            0xDE => Item::Map(u32::from(u16::from_be_bytes(self.behind_tag()?))),
            0xDF => Item::Map(u32::from_be_bytes(self.behind_tag()?)),
            0xC1 | 0xC4..=0xC9 | 0xD4..=0xD8 => {
                return Err(self.args.error("Bad data format in input."));
            }
        })
    }

    fn constant(&mut self, value: Value) -> mlua::Result<Item> {
        self.take(1)?;
        Ok(Item::Value(value))
    }

    fn string(&mut self, head: usize, length: u32) -> mlua::Result<Item> {
        self.take(head)?;
        let text = self.take(length as usize)?;
        self.args.lua.create_string(text).map(Value::String).map(Item::Value)
    }

    /// The bytes from there on, which stay.
    fn peek<const N: usize>(&self, from: usize) -> mlua::Result<[u8; N]> {
        let bytes = self.input.get(from..).and_then(<[u8]>::first_chunk);
        bytes.copied().ok_or_else(|| self.missing())
    }

    /// The bytes behind the type, which are taken with it.
    fn behind_tag<const N: usize>(&mut self) -> mlua::Result<[u8; N]> {
        let bytes = self.peek(1)?;
        self.take(1 + N)?;
        Ok(bytes)
    }

    fn take(&mut self, count: usize) -> mlua::Result<&'t [u8]> {
        let (taken, rest) = self.input.split_at_checked(count).ok_or_else(|| self.missing())?;
        self.input = rest;
        Ok(taken)
    }

    fn missing(&self) -> mlua::Error {
        self.args.error("Missing bytes in input.")
    }
}

/// Whether a value is held in Lua for us: see [`HELD`].
fn is_held(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Table(_))
}
