//! Reads the metadata of GGUF files, the format of llama.cpp.
//!
//! The layout is that of version 3: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// The metadata of a file.
pub(crate) struct Metadata(HashMap<String, Value>);

/// A value of the metadata.
enum Value {
    Integer(u64),
    Text(String),
    Integers(Vec<u64>),
    Texts(Vec<String>),
    /// A floating-point number, a truth value, or an array of these.
    Other,
}

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Types of values, by their numbers in the file.
const FLOAT32: u32 = 6;
const BOOL: u32 = 7;
const STRING: u32 = 8;
const ARRAY: u32 = 9;
const FLOAT64: u32 = 12;
/// Integers of 8, 16, 32 and 64 bits, without and with a sign.
const INTEGERS: [[u32; 2]; 4] = [[0, 1], [2, 3], [4, 5], [10, 11]];

impl Metadata {
    /// Reads the metadata of a file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let metadata = Self::from(BufReader::new(file));
        metadata.map_err(|error| format!("{}: {error}", path.display()).into())
    }

    fn from(reader: impl Read) -> Result<Self> {
        let mut reader = Reader(reader);
        let magic: [u8; 4] = reader.array()?;
        if (&magic, reader.kind()?) != (b"GGUF", 3) {
            return Err("not a GGUF file of version 3".into());
        }
        let [_tensors, entries] = [reader.integer::<8>()?, reader.integer::<8>()?];
        let mut all = HashMap::new();
        for _ in 0..entries {
            let (name, kind) = (reader.string()?, reader.kind()?);
            all.insert(name, reader.value(kind)?);
        }
        Ok(Self(all))
    }

    /// An integer.
    pub(crate) fn integer(&self, name: &str) -> Result<u64> {
        match self.0.get(name) {
            Some(Value::Integer(value)) => Ok(*value),
            _ => Err(missing(name, "an integer")),
        }
    }

    /// A string.
    pub(crate) fn text(&self, name: &str) -> Result<&str> {
        match self.0.get(name) {
            Some(Value::Text(value)) => Ok(value),
            _ => Err(missing(name, "a string")),
        }
    }

    /// An array of integers.
    pub(crate) fn integers(&self, name: &str) -> Result<&[u64]> {
        match self.0.get(name) {
            Some(Value::Integers(values)) => Ok(values),
            _ => Err(missing(name, "an array of integers")),
        }
    }

    /// An array of strings.
    pub(crate) fn texts(&self, name: &str) -> Result<&[String]> {
        match self.0.get(name) {
            Some(Value::Texts(values)) => Ok(values),
            _ => Err(missing(name, "an array of strings")),
        }
    }
}

fn missing(name: &str, accepted: &str) -> Box<dyn Error> {
    format!("the GGUF file has no '{name}' that is {accepted}").into()
}

/// Reads values from the beginning on.
struct Reader<R>(R);

impl<R: Read> Reader<R> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// An unsigned integer of `N` bytes.
    fn integer<const N: usize>(&mut self) -> Result<u64> {
        let bytes = self.array::<N>()?;
        Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn kind(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn string(&mut self) -> Result<String> {
        let length = self.integer::<8>()?;
        let mut bytes = Vec::new();
        self.0.by_ref().take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != length {
            return Err(format!("ends within a string of {length} bytes").into());
        }
        Ok(String::from_utf8(bytes)?)
    }

    fn value(&mut self, kind: u32) -> Result<Value> {
        match kind {
            BOOL => self.array::<1>().map(|_| Value::Other),
            FLOAT32 => self.array::<4>().map(|_| Value::Other),
            FLOAT64 => self.array::<8>().map(|_| Value::Other),
            STRING => self.string().map(Value::Text),
            ARRAY => self.elements(),
            kind => self.integer_of(kind).map(Value::Integer),
        }
    }

    fn integer_of(&mut self, kind: u32) -> Result<u64> {
        match INTEGERS.iter().position(|it| it.contains(&kind)) {
            Some(0) => self.integer::<1>(),
            Some(1) => self.integer::<2>(),
            Some(2) => self.integer::<4>(),
            Some(3) => self.integer::<8>(),
            _ => Err(format!("a value of type {kind}; accepted: 0 to {FLOAT64}").into()),
        }
    }

    fn elements(&mut self) -> Result<Value> {
        let (kind, count) = (self.kind()?, self.integer::<8>()?);
        match kind {
            ARRAY => Err("an array of arrays; accepted: arrays of numbers and strings".into()),
            STRING => (0..count).map(|_| self.string()).collect::<Result<_>>().map(Value::Texts),
            BOOL | FLOAT32 | FLOAT64 => {
                (0..count).try_for_each(|_| self.value(kind).map(drop))?;
                Ok(Value::Other)
            }
            kind => {
                let values = (0..count).map(|_| self.integer_of(kind));
                values.collect::<Result<_>>().map(Value::Integers)
            }
        }
    }
}
