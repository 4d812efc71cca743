//! [`Config`]: the parameters that CONFIG reads and sets.
//!
//! Values are kept as they read back; the few that mean something here are asked for by name where
//! they are needed. CONFIG SET is all or nothing, as in Redis 7.0.

mod kind;
mod table;

use parking_lot::RwLock;

use crate::error::WireError;
use crate::types::Limits;
use crate::types::glob::glob_match;
use table::{Form, PARAMETERS, Parameter};

/// The values of all parameters.
#[derive(Debug)]
pub(crate) struct Config {
    /// In the order of the table. An alias has none of its own.
    values: RwLock<Vec<String>>,
}

/// A name as asked for, and a value.
type Pair = (Vec<u8>, String);

impl Config {
    pub(crate) fn new() -> Self {
        let values = PARAMETERS.iter().map(|parameter| parameter.default.to_string()).collect();
        Self { values: RwLock::new(values) }
    }

    /// The parameters that match one of `patterns`, each once, with their values. A name without
    /// wildcards reads back as it was asked for.
    pub(crate) fn get(&self, patterns: &[&[u8]]) -> Vec<Pair> {
        let values = self.values.read();
        let mut found: Vec<(usize, Pair)> = Vec::new();
        let mut add = |at: usize, name: &[u8]| {
            if found.iter().all(|(had, _)| *had != at) {
                found.push((at, (name.to_vec(), values[home(at)].clone())));
            }
        };
        for pattern in patterns {
            if pattern.iter().any(|b| b"[*?".contains(b)) {
                for (at, parameter) in PARAMETERS.iter().enumerate() {
                    if glob_match(pattern, parameter.name.as_bytes(), true) {
                        add(at, parameter.name.as_bytes());
                    }
                }
            } else if let Some(at) = position(pattern) {
                add(at, pattern);
            }
        }
        found.into_iter().map(|(_, pair)| pair).collect()
    }

    /// Sets names to values, all or none. `apply` gets the limits that follow before anybody else
    /// can see the new values.
    pub(crate) fn set(&self, pairs: &[&[u8]], apply: impl FnOnce(Limits)) -> Result<(), WireError> {
        if !pairs.len().is_multiple_of(2) {
            return Err(WireError::SYNTAX);
        }
        let chosen = choose(pairs)?;
        let mut values = self.values.write();
        let mut new = values.clone();
        for (at, value) in chosen {
            let parameter = &PARAMETERS[at];
            let at = home(at);
            let Form::Of(kind) = PARAMETERS[at].form else { continue };
            let read = kind.read(value, &new[at]);
            new[at] = read.map_err(|why| failed(parameter, &why))?;
            if parameter.name == "hz" {
                let hz: i64 = new[at].parse().unwrap_or(10);
                new[at] = hz.clamp(1, 500).to_string();
            }
        }
        *values = new;
        apply(limits(&values));
        Ok(())
    }

    /// Sets what CONFIG SET cannot.
    pub(crate) fn fix(&self, name: &str, value: String) {
        if let Some(at) = position(name.as_bytes()) {
            self.values.write()[home(at)] = value;
        }
    }

    /// A value by its full name; empty for a name that is none.
    pub(crate) fn value(&self, name: &str) -> String {
        let at = position(name.as_bytes());
        at.map_or_else(String::new, |at| self.values.read()[home(at)].clone())
    }
}

/// Where a parameter stands, by its name in any case.
fn position(name: &[u8]) -> Option<usize> {
    PARAMETERS.iter().position(|p| p.name.as_bytes().eq_ignore_ascii_case(name))
}

/// Where the value of the parameter at `at` stands.
fn home(at: usize) -> usize {
    match PARAMETERS[at].form {
        Form::Alias(of) => position(of.as_bytes()).unwrap_or(at),
        _ => at,
    }
}

/// Finds the parameters to set, and refuses those that cannot be.
fn choose<'a>(pairs: &[&'a [u8]]) -> Result<Vec<(usize, &'a [u8])>, WireError> {
    let mut chosen: Vec<(usize, &[u8])> = Vec::new();
    for pair in pairs.chunks(2) {
        let at = position(pair[0]).ok_or_else(|| unknown(pair[0]))?;
        let parameter = &PARAMETERS[at];
        match PARAMETERS[home(at)].form {
            Form::Fixed => return Err(failed(parameter, "can't set immutable config")),
            Form::Protected => return Err(failed(parameter, "can't set protected config")),
            Form::Of(_) | Form::Alias(_) => {}
        }
        if chosen.iter().any(|(other, _)| *other == at) {
            return Err(failed(parameter, "duplicate parameter"));
        }
        chosen.push((at, pair[1]));
    }
    Ok(chosen)
}

fn unknown(name: &[u8]) -> WireError {
    let mut text = b"ERR Unknown option or number of arguments for CONFIG SET - '".to_vec();
    text.extend(name.iter().take_while(|&&b| b != 0));
    text.push(b'\'');
    WireError::new(text)
}

fn failed(parameter: &Parameter, why: &str) -> WireError {
    let name = parameter.name;
    let text = format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {why}");
    WireError::new(text)
}

/// The thresholds of the packed encodings.
fn limits(values: &[String]) -> Limits {
    let number = |name: &str| {
        let at = position(name.as_bytes());
        at.and_then(|at| values[at].parse::<i64>().ok()).unwrap_or_default()
    };
    let size = |name: &str| usize::try_from(number(name)).unwrap_or_default();
    Limits {
        hash_listpack_entries: size("hash-max-listpack-entries"),
        hash_listpack_value: size("hash-max-listpack-value"),
        zset_listpack_entries: size("zset-max-listpack-entries"),
        zset_listpack_value: size("zset-max-listpack-value"),
        set_intset_entries: size("set-max-intset-entries"),
        list_listpack_size: number("list-max-listpack-size"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(config: &Config, pattern: &str) -> Vec<(String, String)> {
        let pairs = config.get(&[pattern.as_bytes()]);
        pairs.into_iter().map(|(n, v)| (String::from_utf8_lossy(&n).into_owned(), v)).collect()
    }

    fn set(config: &Config, line: &str) -> Result<(), String> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        config.set(&words, |_| {}).map_err(|e| e.to_string())
    }

    #[test]
    fn aliases_lead_to_a_parameter_with_a_value() {
        for (at, parameter) in PARAMETERS.iter().enumerate() {
            if let Form::Alias(_) = parameter.form {
                assert!(!matches!(PARAMETERS[home(at)].form, Form::Alias(_)), "{}", parameter.name);
            }
        }
        assert!(PARAMETERS.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn defaults_are_values_that_could_be_set_and_limits_are_the_types_own() {
        for parameter in PARAMETERS {
            if let Form::Of(kind) = parameter.form {
                let read = kind.read(parameter.default.as_bytes(), parameter.default);
                assert_eq!(read.as_deref(), Ok(parameter.default), "{}", parameter.name);
            }
        }
        assert_eq!(limits(&Config::new().values.read()), Limits::default());
    }

    #[test]
    fn set_is_all_or_nothing() {
        let config = Config::new();
        let refused = "ERR CONFIG SET failed (possibly related to argument 'timeout') - argument \
                       couldn't be parsed into an integer";
        assert_eq!(set(&config, "maxmemory 1gb timeout x"), Err(refused.to_string()));
        assert_eq!(config.value("maxmemory"), "0");
        assert_eq!(set(&config, "MAXMEMORY 1gb timeout 5"), Ok(()));
        assert_eq!(config.value("maxmemory"), "1073741824");
    }

    #[test]
    fn an_alias_is_the_parameter_itself() {
        let config = Config::new();
        assert_eq!(set(&config, "hash-max-ziplist-entries 7"), Ok(()));
        let both = get(&config, "hash-max-*-entries");
        let pair = |name: &str| (name.to_string(), "7".to_string());
        assert_eq!(both, [pair("hash-max-listpack-entries"), pair("hash-max-ziplist-entries")]);
        assert_eq!(get(&config, "TimeOut"), [("TimeOut".to_string(), "0".to_string())]);
    }
}
