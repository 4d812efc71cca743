//! [`Decoder`]: the Lua value of a JSON text.
//!
//! The text ends at its first zero byte outside of the first two, where it would be UTF-16. Strings
//! are taken as they are, whether UTF-8 or not, control characters included.

use std::borrow::Cow;

use mlua::{Table, Value};

use super::super::args::Args;
use super::super::{HELD, STACK};
use super::Config;
use super::number::{is_invalid, leading};

enum Token<'t> {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    String(Cow<'t, [u8]>),
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    Error(&'static str),
}

impl Token<'_> {
    /// What an error calls it.
    fn name(&self) -> &'static str {
        match self {
            Self::ObjectBegin => "T_OBJ_BEGIN",
            Self::ObjectEnd => "T_OBJ_END",
            Self::ArrayBegin => "T_ARR_BEGIN",
            Self::ArrayEnd => "T_ARR_END",
            Self::String(_) => "T_STRING",
            Self::Number(_) => "T_NUMBER",
            Self::Boolean(_) => "T_BOOLEAN",
            Self::Null => "T_NULL",
            Self::Colon => "T_COLON",
            Self::Comma => "T_COMMA",
            Self::End => "T_END",
            Self::Error(problem) => problem,
        }
    }
}

/// A table that is read as far as to a value inside.
enum Frame<'t> {
    /// The value's place.
    Array { table: Table, at: usize },
    /// The value's key.
    Object { table: Table, key: Cow<'t, [u8]> },
}

impl Frame<'_> {
    /// The slots it takes on Lua's stack: its table and key.
    fn slots(&self) -> usize {
        match self {
            Self::Array { .. } => 1,
            Self::Object { .. } => 2,
        }
    }
}

/// What comes next.
enum Step<'t> {
    /// A value that begins with this token.
    Inside(Token<'t>),
    /// This value is complete.
    Value(Value),
}

pub(super) struct Decoder<'a, 't> {
    args: Args<'a>,
    config: &'a Config,
    text: &'t [u8],
    /// The next byte to read.
    at: usize,
    /// Where the last token is, or its error.
    token_at: usize,
    frames: Vec<Frame<'t>>,
    /// Slots of Lua's stack in use.
    slots: usize,
}

impl<'a, 't> Decoder<'a, 't> {
    pub(super) fn new(args: Args<'a>, config: &'a Config, text: &'t [u8]) -> Self {
        Self { args, config, text, at: 0, token_at: 0, frames: Vec::new(), slots: 1 }
    }

    pub(super) fn decode(mut self) -> mlua::Result<Value> {
        if self.text.len() >= 2 && self.text.iter().take(2).any(|&byte| byte == 0) {
            return Err(self.args.error("JSON parser does not support UTF-16 or UTF-32"));
        }
        let mut token = self.token();
        loop {
            token = match self.begin(token)? {
                Step::Inside(token) => token,
                Step::Value(value) => match self.end(value)? {
                    Step::Inside(token) => token,
                    Step::Value(whole) => {
                        return match self.token() {
                            Token::End => Ok(whole),
                            other => Err(self.unexpected("the end", &other)),
                        };
                    }
                },
            }
        }
    }

    /// Reads a value that begins with this token; of a table that is not empty only so much that a
    /// value inside comes next.
    fn begin(&mut self, token: Token<'t>) -> mlua::Result<Step<'t>> {
        let value = match token {
            Token::String(text) => Value::String(self.args.lua.create_string(text)?),
            Token::Number(x) => Value::Number(x),
            Token::Boolean(yes) => Value::Boolean(yes),
            Token::Null => Value::NULL,
            Token::ObjectBegin => {
                let table = self.descend(3)?;
                match self.token() {
                    Token::ObjectEnd => Value::Table(table),
                    token => return self.enter_object(table, token),
                }
            }
            Token::ArrayBegin => {
                let table = self.descend(2)?;
                match self.token() {
                    Token::ArrayEnd => Value::Table(table),
                    token => {
                        self.enter(Frame::Array { table, at: 1 });
                        return Ok(Step::Inside(token));
                    }
                }
            }
            other => return Err(self.unexpected("value", &other)),
        };
        Ok(Step::Value(value))
    }

    /// Puts a value where it belongs, and ends the tables that end with it. The value of the step
    /// is the table around it all, or what was given if there is none.
    fn end(&mut self, mut value: Value) -> mlua::Result<Step<'t>> {
        loop {
            let Some(frame) = self.frames.pop() else { return Ok(Step::Value(value)) };
            self.slots -= frame.slots();
            match frame {
                Frame::Array { table, at } => {
                    table.raw_seti(at, value)?;
                    match self.token() {
                        Token::ArrayEnd => value = Value::Table(table),
                        Token::Comma => {
                            self.enter(Frame::Array { table, at: at + 1 });
                            return Ok(Step::Inside(self.token()));
                        }
                        other => return Err(self.unexpected("comma or array end", &other)),
                    }
                }
                Frame::Object { table, key } => {
                    table.raw_set(self.args.lua.create_string(key)?, value)?;
                    match self.token() {
                        Token::ObjectEnd => value = Value::Table(table),
                        Token::Comma => {
                            let token = self.token();
                            return self.enter_object(table, token);
                        }
                        other => return Err(self.unexpected("comma or object end", &other)),
                    }
                }
            }
        }
    }

    /// A table for what has begun, if it is not too deep inside.
    fn descend(&self, slots: usize) -> mlua::Result<Table> {
        let depth = self.frames.len() + 1;
        let room = self.slots + slots <= STACK && depth < HELD;
        if depth > self.config.decode_max_depth as usize || !room {
            let problem = "Found too many nested data structures";
            return Err(self.args.error(format!("{problem} ({depth}) at character {}", self.at)));
        }
        self.args.lua.create_table()
    }

    /// Reads a member's key, which is this token, and the colon.
    fn enter_object(&mut self, table: Table, token: Token<'t>) -> mlua::Result<Step<'t>> {
        let Token::String(key) = token else {
            return Err(self.unexpected("object key string", &token));
        };
        match self.token() {
            Token::Colon => {
                self.enter(Frame::Object { table, key });
                Ok(Step::Inside(self.token()))
            }
            other => Err(self.unexpected("colon", &other)),
        }
    }

    fn enter(&mut self, frame: Frame<'t>) {
        self.slots += frame.slots();
        self.frames.push(frame);
    }

    fn unexpected(&self, expected: &str, found: &Token<'_>) -> mlua::Error {
        let (found, at) = (found.name(), self.token_at + 1);
        self.args.error(format!("Expected {expected} but found {found} at character {at}"))
    }

    /// What is left of the text.
    fn rest(&self) -> &'t [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn token(&mut self) -> Token<'t> {
        let space = |b: &&u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.rest().iter().take_while(space).count();
        self.token_at = self.at;
        let rest = self.rest();
        let (token, length) = match rest.first() {
            None | Some(0) => (Token::End, 0),
            Some(b'{') => (Token::ObjectBegin, 1),
            Some(b'}') => (Token::ObjectEnd, 1),
            Some(b'[') => (Token::ArrayBegin, 1),
            Some(b']') => (Token::ArrayEnd, 1),
            Some(b',') => (Token::Comma, 1),
            Some(b':') => (Token::Colon, 1),
            Some(b'"') => return self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(rest),
            _ if rest.starts_with(b"true") => (Token::Boolean(true), 4),
            _ if rest.starts_with(b"false") => (Token::Boolean(false), 5),
            _ if rest.starts_with(b"null") => (Token::Null, 4),
            Some(b'+' | b'i' | b'I' | b'n' | b'N')
                if self.config.decode_invalid_numbers && is_invalid(rest) =>
            {
                self.number(rest)
            }
            Some(_) => (Token::Error("invalid token"), 0),
        };
        self.at += length;
        token
    }

    fn number(&self, rest: &[u8]) -> (Token<'t>, usize) {
        let allowed = self.config.decode_invalid_numbers || !is_invalid(rest);
        match leading(rest).filter(|_| allowed) {
            Some((x, length)) => (Token::Number(x), length),
            None => (Token::Error("invalid number"), 0),
        }
    }

    fn string(&mut self) -> Token<'t> {
        self.at += 1;
        let mut text = Cow::Borrowed(&[][..]);
        loop {
            let rest = self.rest();
            let special = |b: &u8| matches!(b, b'"' | b'\\' | 0);
            let plain = rest.iter().position(special).unwrap_or(rest.len());
            let (plain, rest) = rest.split_at(plain);
            self.at += plain.len();
            if text.is_empty() {
                text = Cow::Borrowed(plain);
            } else {
                text.to_mut().extend_from_slice(plain);
            }
            match rest {
                [b'"', ..] => {
                    self.at += 1;
                    return Token::String(text);
                }
                [b'\\', escape @ ..] => match unescape(escape, text.to_mut()) {
                    Ok(length) => self.at += 1 + length,
                    Err(problem) => return self.error(problem),
                },
                _ => return self.error("unexpected end of string"),
            }
        }
    }

    fn error(&mut self, problem: &'static str) -> Token<'t> {
        self.token_at = self.at;
        Token::Error(problem)
    }
}

/// Writes what stands behind a backslash, and says how long it is.
fn unescape(escape: &[u8], out: &mut Vec<u8>) -> Result<usize, &'static str> {
    let byte = match escape.first() {
        Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
        Some(b'b') => b'\x08',
        Some(b't') => b'\t',
        Some(b'n') => b'\n',
        Some(b'f') => b'\x0c',
        Some(b'r') => b'\r',
        Some(b'u') => {
            let (character, length) = character(escape).ok_or("invalid unicode escape code")?;
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            return Ok(length);
        }
        _ => return Err("invalid escape code"),
    };
    out.push(byte);
    Ok(1)
}

/// The character of `uXXXX`, or of `uXXXX\uXXXX` when it is one of two halves.
fn character(escape: &[u8]) -> Option<(char, usize)> {
    let unit = |text: &[u8]| {
        let digits = text.strip_prefix(b"u")?.get(..4)?;
        digits.iter().try_fold(0, |n, &d| Some(n << 4 | char::from(d).to_digit(16)?))
    };
    let first = unit(escape)?;
    if let Some(whole) = char::from_u32(first) {
        return Some((whole, 5));
    }
    let second = unit(escape.get(5..)?.strip_prefix(b"\\")?)?;
    if first >= 0xDC00 || !(0xDC00..0xE000).contains(&second) {
        return None;
    }
    let code = 0x1_0000 + ((first & 0x3FF) << 10) + (second & 0x3FF);
    char::from_u32(code).map(|whole| (whole, 11))
}
