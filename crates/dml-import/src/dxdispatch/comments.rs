//! JSON with comments and trailing commas, as people write it.

/// The text with comments and trailing commas replaced by spaces, so that positions do not change.
pub(super) fn without(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    // The position of the last token, if that is a comma.
    let mut last_comma: Option<usize> = None;
    while at < bytes.len() {
        let end = match bytes[at..] {
            [b'"', ..] => {
                last_comma = None;
                at = after_text(&bytes, at);
                continue;
            }
            [b'/', b'/', ..] => find(&bytes, at, b"\n").unwrap_or(bytes.len()),
            [b'/', b'*', ..] => find(&bytes, at + 2, b"*/").map_or(bytes.len(), |end| end + 2),
            [byte, ..] => {
                match (byte, last_comma) {
                    (b',', _) => last_comma = Some(at),
                    (b']' | b'}', Some(comma)) => bytes[comma] = b' ',
                    (byte, _) if byte.is_ascii_whitespace() => {}
                    _ => last_comma = None,
                }
                at += 1;
                continue;
            }
            [] => break,
        };
        bytes[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        at = end;
    }
    // Only whole comments and commas were replaced, so this is still UTF-8.
    String::from_utf8(bytes).unwrap_or_default()
}

/// The position after the string that begins at `start` with a quotation mark.
fn after_text(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn find(bytes: &[u8], start: usize, wanted: &[u8]) -> Option<usize> {
    let rest = bytes.get(start..)?;
    rest.windows(wanted.len()).position(|window| window == wanted).map(|found| start + found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_spaces() {
        assert_eq!(without("{ // x\n\"a\": 1 /* ä */ }"), "{     \n\"a\": 1          }");
        assert_eq!(without("{/*"), "{  ");
        assert_eq!(without("//"), "  ");
    }

    #[test]
    fn commas_before_the_end_become_spaces() {
        assert_eq!(without("[1, 2, // x\n ]"), "[1, 2      \n ]");
        assert_eq!(without("[1,, ]"), "[1,  ]");
    }

    #[test]
    fn texts_stay() {
        for text in ["\"// x\"", "\"a\\\"//\"", "\",]\"", "\"", "\"\\"] {
            assert_eq!(without(text), text);
        }
    }
}
