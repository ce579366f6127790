//! Byte-level BPE, with the vocabulary and the merges of a GGUF file.
//!
//! A text is split into words as GPT-2 does it, with each digit by itself. The bytes of a word are its first tokens, and
//! the pair of neighbours that comes first in the list of merges becomes one token, until no pair is in the list.

use std::collections::HashMap;
use std::error::Error;

use super::gguf::Metadata;

/// The type of tokens that no text has.
const CONTROL: u64 = 3;

/// The number of a token in the vocabulary.
pub(crate) type Token = u32;

/// The tokens of texts, and the texts of tokens.
pub(crate) struct Tokenizer {
    /// The bytes of each token.
    bytes: Vec<Vec<u8>>,
    /// The tokens of control, such as the end of a message, by name; no text has them.
    control: HashMap<String, Token>,
    /// The token of each byte; a few bytes that no text of the training had are in no token.
    of_byte: [Option<Token>; 256],
    merges: HashMap<[Token; 2], Merge>,
}

/// The token that replaces two neighbouring ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Merge {
    /// Its place in the list of merges.
    rank: usize,
    token: Token,
}

type Result<T> = std::result::Result<T, Box<dyn Error>>;

impl Tokenizer {
    /// The tokenizer that a file describes.
    pub(crate) fn new(metadata: &Metadata) -> Result<Self> {
        let field = |name: &str| format!("tokenizer.ggml.{name}");
        let (model, words) = (metadata.text(&field("model"))?, metadata.text(&field("pre"))?);
        if (model, words) != ("gpt2", "smollm") {
            let given = format!("tokenizer '{model}' with words of '{words}'");
            return Err(format!("{given}; accepted: 'gpt2' with words of 'smollm'").into());
        }
        let names = metadata.texts(&field("tokens"))?;
        let kinds = metadata.integers(&field("token_type"))?;
        let ids: HashMap<&str, Token> = names.iter().map(String::as_str).zip(0..).collect();
        let id = |name: &str| ids.get(name).copied().ok_or(format!("no token '{name}'"));
        let letters = letters();
        let byte_of: HashMap<char, u8> = letters.into_iter().zip(0..=255).collect();
        let (mut bytes, mut control) = (Vec::new(), HashMap::new());
        for ((name, kind), token) in names.iter().zip(kinds).zip(0..) {
            let is_text = *kind != CONTROL;
            let text = name.chars().filter(|_| is_text).filter_map(|it| byte_of.get(&it).copied());
            bytes.push(text.collect());
            if !is_text {
                control.insert(name.clone(), token);
            }
        }
        let of_byte =
            letters.map(|letter| ids.get(letter.encode_utf8(&mut [0; 4]) as &str).copied());
        let mut merges = HashMap::new();
        for (rank, merge) in metadata.texts(&field("merges"))?.iter().enumerate() {
            let (left, right) = merge.split_once(' ').ok_or("a merge without a space")?;
            let merge = Merge { rank, token: id(&format!("{left}{right}"))? };
            merges.entry([id(left)?, id(right)?]).or_insert(merge);
        }
        Ok(Self { bytes, control, of_byte, merges })
    }

    /// A token of control.
    pub(crate) fn control(&self, name: &str) -> Result<Token> {
        self.control.get(name).copied().ok_or_else(|| format!("no token '{name}'").into())
    }

    /// The bytes of a token; a character of a text may be in several tokens.
    pub(crate) fn bytes(&self, token: Token) -> &[u8] {
        self.bytes.get(token as usize).map_or(&[], Vec::as_slice)
    }

    /// The tokens of a text, none of them of control.
    pub(crate) fn tokens(&self, text: &str) -> Vec<Token> {
        words(text).into_iter().flat_map(|word| self.of_word(word)).collect()
    }

    fn of_word(&self, word: &str) -> Vec<Token> {
        let mut tokens: Vec<Token> =
            word.bytes().filter_map(|it| self.of_byte[usize::from(it)]).collect();
        while let Some((merge, at)) = self.first_merge(&tokens) {
            tokens.splice(at..at + 2, [merge.token]);
        }
        tokens
    }

    /// The merge of two neighbours that comes first in the list, and the place of the left one.
    fn first_merge(&self, tokens: &[Token]) -> Option<(Merge, usize)> {
        let pairs = tokens.windows(2).enumerate();
        pairs.filter_map(|(at, pair)| Some((*self.merges.get(pair)?, at))).min()
    }
}

/// The letter that stands for each byte in the names of tokens.
fn letters() -> [char; 256] {
    let mut others = (256..).filter_map(char::from_u32);
    std::array::from_fn(|byte| match u8::try_from(byte) {
        Ok(own @ (b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff)) => char::from(own),
        _ => others.next().unwrap_or_default(),
    })
}

/// The kinds of characters that a word has alike.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Space,
    Digit,
    /// Letters, and marks that are parts of letters.
    Letter,
    Other,
}

impl Kind {
    fn of(character: char) -> Self {
        match character {
            it if it.is_whitespace() => Self::Space,
            it if it.is_numeric() => Self::Digit,
            it if it.is_alphabetic() => Self::Letter,
            _ => Self::Other,
        }
    }
}

/// The words of a text, with the space before each.
fn words(text: &str) -> Vec<&str> {
    let mut rest = text;
    let mut words = Vec::new();
    while !rest.is_empty() {
        let (word, others) = rest.split_at(first_word(rest));
        words.push(word);
        rest = others;
    }
    words
}

/// The length of the first word of a text.
fn first_word(text: &str) -> usize {
    const ENDINGS: [&str; 7] = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"];
    if let Some(ending) = ENDINGS.into_iter().find(|it| text.starts_with(it)) {
        return ending.len();
    }
    let run = |text: &str, kind| text.find(|it| Kind::of(it) != kind).unwrap_or(text.len());
    let after_space = text.strip_prefix(' ').unwrap_or(text);
    let first = |text: &str| text.chars().next();
    match first(after_space).map(|it| (it, Kind::of(it))) {
        Some((_, kind @ (Kind::Letter | Kind::Other))) => {
            text.len() - after_space.len() + run(after_space, kind)
        }
        Some((digit, Kind::Digit)) if after_space.len() == text.len() => digit.len_utf8(),
        _ => {
            // The last one of several spaces belongs to the next word, where that is none of digits.
            let spaces = run(text, Kind::Space);
            let last = text[..spaces].chars().next_back().map_or(0, char::len_utf8);
            let is_shared =
                !matches!(first(&text[spaces..]).map(Kind::of), None | Some(Kind::Digit));
            if is_shared && spaces > last { spaces - last } else { spaces }
        }
    }
}
