//! [`Encoder`]: a Lua value as JSON.
//!
//! A table whose keys are all whole and positive is an array as long as its greatest key; any other
//! is an object, and so is an empty one. Objects are written in the order of Lua's `next`.

use mlua::{Function, Table, Value};

use super::super::args::Args;
use super::super::{HELD, STACK, check_output};
use super::number::push_g;
use super::{Config, Invalid};
use crate::engine::script::raise;

/// A table that is written as far as to another one inside.
enum Frame {
    /// Goes on with the element at `next`.
    Array { table: Table, next: i32, length: i32 },
    /// Goes on behind `key`.
    Object { table: Table, key: Value },
}

impl Frame {
    /// The slots it takes on Lua's stack beside its table.
    fn slots(&self) -> usize {
        match self {
            Self::Array { .. } => 1,
            Self::Object { .. } => 2,
        }
    }
}

pub(super) struct Encoder<'a> {
    args: Args<'a>,
    next: &'a Function,
    config: &'a Config,
    out: Vec<u8>,
    frames: Vec<Frame>,
    /// Slots of the stack in use.
    slots: usize,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(args: Args<'a>, next: &'a Function, config: &'a Config) -> Self {
        Self { args, next, config, out: Vec::new(), frames: Vec::new(), slots: 1 }
    }

    pub(super) fn encode(mut self, value: &Value) -> mlua::Result<Vec<u8>> {
        let mut inner = self.value(value)?;
        loop {
            inner = if let Some(table) = inner {
                self.open(table)?
            } else if let Some(frame) = self.frames.pop() {
                self.slots -= frame.slots();
                match frame {
                    Frame::Array { table, next, length } => self.array(table, next, length)?,
                    Frame::Object { table, key } => self.object(table, key)?,
                }
            } else {
                return Ok(self.out);
            };
        }
    }

    /// Writes a value unless it is a table: that is returned.
    fn value(&mut self, value: &Value) -> mlua::Result<Option<Table>> {
        match value {
            Value::Table(table) => return Ok(Some(table.clone())),
            Value::String(text) => self.string(&text.as_bytes())?,
            Value::Integer(n) => self.number(*n as f64)?,
            Value::Number(x) => self.number(*x)?,
            Value::Boolean(true) => self.out.extend_from_slice(b"true"),
            Value::Boolean(false) => self.out.extend_from_slice(b"false"),
            Value::Nil => self.out.extend_from_slice(b"null"),
            null if *null == Value::NULL => self.out.extend_from_slice(b"null"),
            other => return Err(self.refuse(other, "type not supported")),
        }
        check_output(self.out.len())?;
        Ok(None)
    }

    fn refuse(&self, value: &Value, reason: &str) -> mlua::Error {
        let type_name = raise::type_name(value);
        self.args.error(format!("Cannot serialise {type_name}: {reason}"))
    }

    /// Begins a table; as all that write tables, returns the next one inside.
    fn open(&mut self, table: Table) -> mlua::Result<Option<Table>> {
        let depth = self.frames.len() + 1;
        let room = self.slots + 3 <= STACK && self.slots < HELD;
        if depth > self.config.encode_max_depth as usize || !room {
            return Err(self.args.error(format!("Cannot serialise, excessive nesting ({depth})")));
        }
        let length = self.array_length(&table)?;
        if length > 0 {
            self.out.push(b'[');
            self.array(table, 1, length)
        } else {
            self.out.push(b'{');
            self.first_members(table)
        }
    }

    /// How many places the array has; nothing positive if it is an object.
    fn array_length(&self, table: &Table) -> mlua::Result<i32> {
        let (mut most, mut items) = (0_i32, 0_i32);
        // The values are not looked at.
        for pair in table.pairs::<Value, bool>() {
            let key = match pair?.0 {
                Value::Integer(n) => n as f64,
                Value::Number(x) => x,
                _ => return Ok(-1),
            };
            if key.floor() != key || key < 1.0 {
                return Ok(-1);
            }
            if key > f64::from(most) {
                // As C converts it on the usual machines.
                most = if key <= f64::from(i32::MAX) { key as i32 } else { i32::MIN };
            }
            items = items.wrapping_add(1);
        }
        let Config { sparse_ratio, sparse_safe, sparse_convert, .. } = *self.config;
        let sparse = most > items.wrapping_mul(sparse_ratio) && most > sparse_safe;
        if sparse_ratio > 0 && sparse {
            if !sparse_convert {
                let table = Value::Table(table.clone());
                return Err(self.refuse(&table, "excessively sparse array"));
            }
            return Ok(-1);
        }
        Ok(most)
    }

    fn array(&mut self, table: Table, from: i32, length: i32) -> mlua::Result<Option<Table>> {
        for at in from..=length {
            if at > 1 {
                self.out.push(b',');
            }
            if let Some(inner) = self.value(&table.raw_get::<Value>(at)?)? {
                self.leave(Frame::Array { table, next: at.saturating_add(1), length });
                return Ok(Some(inner));
            }
        }
        self.out.push(b']');
        Ok(None)
    }

    /// The members up to the first that is a table. Most objects have none.
    fn first_members(&mut self, table: Table) -> mlua::Result<Option<Table>> {
        let mut left = None;
        for (at, pair) in table.pairs::<Value, Value>().enumerate() {
            let (key, value) = pair?;
            if at > 0 {
                self.out.push(b',');
            }
            self.key(&key)?;
            if let Some(inner) = self.value(&value)? {
                left = Some((key, inner));
                break;
            }
        }
        let Some((key, inner)) = left else {
            self.out.push(b'}');
            return Ok(None);
        };
        self.leave(Frame::Object { table, key });
        Ok(Some(inner))
    }

    /// The members behind that key.
    fn object(&mut self, table: Table, mut key: Value) -> mlua::Result<Option<Table>> {
        loop {
            let (next, value): (Value, Value) = self.next.call((&table, key))?;
            if next.is_nil() {
                self.out.push(b'}');
                return Ok(None);
            }
            self.out.push(b',');
            self.key(&next)?;
            key = next;
            if let Some(inner) = self.value(&value)? {
                self.leave(Frame::Object { table, key });
                return Ok(Some(inner));
            }
        }
    }

    fn leave(&mut self, frame: Frame) {
        self.slots += frame.slots();
        self.frames.push(frame);
    }

    fn key(&mut self, key: &Value) -> mlua::Result<()> {
        match key {
            Value::String(text) => self.string(&text.as_bytes())?,
            Value::Integer(_) | Value::Number(_) => {
                self.out.push(b'"');
                self.value(key)?;
                self.out.push(b'"');
            }
            other => return Err(self.refuse(other, "table key must be a number or string")),
        }
        self.out.push(b':');
        Ok(())
    }

    fn number(&mut self, x: f64) -> mlua::Result<()> {
        match self.config.encode_invalid_numbers {
            Invalid::Refused if !x.is_finite() => {
                return Err(self.refuse(&Value::Number(x), "must not be NaN or Inf"));
            }
            Invalid::Null if !x.is_finite() => self.out.extend_from_slice(b"null"),
            _ => push_g(&mut self.out, x, self.config.encode_number_precision as usize),
        }
        Ok(())
    }

    fn string(&mut self, text: &[u8]) -> mlua::Result<()> {
        self.out.push(b'"');
        let mut rest = text;
        while let Some(at) = rest.iter().position(|&byte| is_escaped(byte)) {
            let (plain, special) = rest.split_at(at);
            self.out.extend_from_slice(plain);
            let [byte, after @ ..] = special else { break };
            push_escape(&mut self.out, *byte);
            check_output(self.out.len())?;
            rest = after;
        }
        self.out.extend_from_slice(rest);
        self.out.push(b'"');
        Ok(())
    }
}

fn is_escaped(byte: u8) -> bool {
    matches!(byte, 0..=31 | b'"' | b'/' | b'\\' | 127)
}

fn push_escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'\x08' => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        b'\x0c' => b'f',
        b'\r' => b'r',
        b'"' | b'/' | b'\\' => byte,
        _ => {
            out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}
