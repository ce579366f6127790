//! JSON as people write it: with comments, and with a comma after the last item.

/// The same text with spaces where comments and such commas were, so that positions stay.
pub(super) fn without(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    blank_comments(&mut bytes);
    blank_last_commas(&mut bytes);
    // Only whole comments and commas were overwritten.
    String::from_utf8(bytes).unwrap_or_default()
}

fn blank_comments(bytes: &mut [u8]) {
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at..] {
            [b'"', ..] => {
                at = after_text(bytes, at);
                continue;
            }
            [b'/', b'/', ..] => find(bytes, at, b"\n").unwrap_or(bytes.len()),
            [b'/', b'*', ..] => find(bytes, at + 2, b"*/").map_or(bytes.len(), |end| end + 2),
            _ => {
                at += 1;
                continue;
            }
        };
        bytes[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        at = end;
    }
}

fn blank_last_commas(bytes: &mut [u8]) {
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = after_text(bytes, at),
            b',' => {
                let rest = &bytes[at + 1..];
                let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
                if matches!(next, Some(b']' | b'}')) {
                    bytes[at] = b' ';
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// The position after the text that begins at `start` with a quotation mark.
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
