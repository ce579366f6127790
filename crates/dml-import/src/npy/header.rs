//! The header of a .npy file: a dictionary in Python's notation.
//!
//! The crate `npyz` is not used, since it is made for trusted files: its parser of Python's notation takes
//! twice as long for each nested `[`, so that a header of 80 bytes keeps it busy for hours; it multiplies sizes
//! unchecked; and it allocates the declared size before reading.

use crate::element::ElementType;

/// The content of a header.
pub(super) struct Header {
    pub(super) element: ElementType,
    pub(super) big_endian: bool,
    pub(super) column_major: bool,
    pub(super) shape: Vec<u64>,
}

impl Header {
    /// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`; the error tells what is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut tokens = Tokens(text);
        let (mut descr, mut column_major, mut shape) = (None, None, None);
        tokens.expect("{")?;
        loop {
            match tokens.next()? {
                "}" => break,
                "'descr'" => descr = Some(tokens.after_colon()?),
                "'fortran_order'" => column_major = Some(tokens.after_colon()? == "True"),
                "'shape'" => shape = Some(tokens.sizes()?),
                other => return Err(format!("unknown key {}", crate::error::shortened(other))),
            }
            match tokens.next()? {
                "," => {}
                "}" => break,
                other => return Err(format!("{} for a comma", crate::error::shortened(other))),
            }
        }
        let missing = |key| move || format!("its header has no {key}");
        let descr = descr.ok_or_else(missing("descr"))?;
        let (element, big_endian) = element(descr.trim_matches('\''))
            .ok_or_else(|| format!("elements of type {descr} are not supported"))?;
        let column_major = column_major.ok_or_else(missing("fortran_order"))?;
        let shape = shape.ok_or_else(missing("shape"))?;
        Ok(Self { element, big_endian, column_major, shape })
    }
}

/// The header of a tensor, padded so that elements start at a multiple of 64 bytes; `None` if NumPy does not
/// have the type.
pub(super) fn text(element: ElementType, shape: &[u64]) -> Option<String> {
    const BEFORE: usize = 10;
    let mut sizes = shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if shape.len() == 1 {
        sizes.push(',');
    }
    let descr = descr(element)?;
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let length = (BEFORE + header.len() + 1).next_multiple_of(64) - BEFORE - 1;
    Some(format!("{header:length$}\n"))
}

/// NumPy's name of a type without the byte order, such as `f4`. `V2` is how NumPy saves the bfloat16 of the
/// package ml_dtypes.
fn name(element: ElementType) -> Option<String> {
    match element {
        ElementType::Bool => Some("b1".to_owned()),
        ElementType::Bfloat16 => Some("V2".to_owned()),
        element => element.short_name(8),
    }
}

/// The type as a header writes it; `None` if NumPy does not have it.
fn descr(element: ElementType) -> Option<String> {
    let name = match element {
        // NumPy has no bfloat16: the bits are written.
        ElementType::Bfloat16 => "u2".to_owned(),
        // NumPy has no integers of fewer than 8 bits: the bytes that carry them are written.
        ElementType::Int4 | ElementType::Int2 => "i1".to_owned(),
        // NumPy has no floats of 8 bits either: their patterns are written.
        ElementType::Uint4 | ElementType::Uint2 | ElementType::Small(_) => "u1".to_owned(),
        element => name(element)?,
    };
    let order = if name.ends_with('1') { '|' } else { '<' };
    Some(format!("{order}{name}"))
}

/// The type, and whether elements are big-endian.
fn element(descr: &str) -> Option<(ElementType, bool)> {
    let (order, wanted) = descr.split_at_checked(1)?;
    let element = ElementType::all().find(|it| name(*it).as_deref() == Some(wanted))?;
    matches!(order, "<" | ">" | "|" | "=").then_some((element, order == ">"))
}

/// The tokens of a header: punctuation, quoted strings with their quotes, and words.
struct Tokens<'a>(&'a str);

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Result<&'a str, String> {
        let rest = self.0.trim_start();
        let first = rest.chars().next().ok_or("its header ends early")?;
        let end = match first {
            '\'' => rest[1..].find('\'').map(|end| end + 2).ok_or("a quote is not closed")?,
            _ if first.is_alphanumeric() => {
                rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len())
            }
            _ => first.len_utf8(),
        };
        let (token, rest) = rest.split_at(end);
        self.0 = rest;
        Ok(token)
    }

    fn expect(&mut self, expected: &str) -> Result<(), String> {
        match self.next()? {
            found if found == expected => Ok(()),
            found => Err(format!("{} for {expected}", crate::error::shortened(found))),
        }
    }

    fn after_colon(&mut self) -> Result<&'a str, String> {
        self.expect(":")?;
        self.next()
    }

    fn sizes(&mut self) -> Result<Vec<u64>, String> {
        self.expect(":")?;
        self.expect("(")?;
        let mut sizes = Vec::new();
        loop {
            match self.next()? {
                ")" => return Ok(sizes),
                "," => {}
                // Python 2 writes long integers with a suffix L.
                size => sizes.push(
                    size.trim_end_matches('L')
                        .parse()
                        .map_err(|_| format!("{} is not a size", crate::error::shortened(size)))?,
                ),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sizes: &str) -> Result<Vec<u64>, String> {
        let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {sizes}, }}   \n");
        Header::parse(&text).map(|header| header.shape)
    }

    #[test]
    fn sizes_are_a_tuple() {
        assert_eq!(shape("()"), Ok(vec![]));
        assert_eq!(shape("(3,)"), Ok(vec![3]));
        assert_eq!(shape("(3, 4L)"), Ok(vec![3, 4]));
        assert_eq!(shape("(-3, 4)"), Err("- is not a size".to_owned()));
        assert_eq!(shape("(18446744073709551616,)").map_err(|it| it.len()), Err(34));
    }

    #[test]
    fn what_is_no_header_is_refused() {
        for text in ["", "{", "{'descr': '<f4'}", "{'descr", "{'x': 1}", "[[[[[[", "{}", "{'ä"] {
            assert!(Header::parse(text).is_err(), "{text}");
        }
        // Brackets in brackets are refused at the first one, however many there are.
        let nested = ["[".repeat(30_000), "]".repeat(30_000)].concat();
        let header = format!("{{'descr': {nested}, 'fortran_order': False, 'shape': (), }}");
        for text in [nested, header] {
            assert!(Header::parse(&text).is_err());
        }
        let complex = "{'descr': '<c8', 'fortran_order': False, 'shape': (), }";
        let error = Header::parse(complex).err();
        assert_eq!(error.as_deref(), Some("elements of type '<c8' are not supported"));
    }
}
