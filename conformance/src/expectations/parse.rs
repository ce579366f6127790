//! The form of expectation files.

use globset::{Glob, GlobMatcher};
use toml::{Table, Value};

use super::Entry;
use crate::results::{Expected, ExpectedKind, ResultCode};

const KEYS: [&str; 7] = ["cases", "device", "driver", "profile", "outcome", "result", "reason"];

/// What an expectation can excuse.
const OUTCOMES: [ResultCode; 4] =
    [ResultCode::Fail, ResultCode::Crash, ResultCode::Timeout, ResultCode::Unsupported];

/// Why a file of expectations was refused. Messages name the file, the entry, the key, the value and
/// what is accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read expectations {file}: {problem}")]
    Read {
        /// The file.
        file: String,
        /// Why not.
        problem: String,
    },
    /// The file is no TOML, or has a key twice.
    #[error("{file}: line {line}: {problem}")]
    Syntax {
        /// The file.
        file: String,
        /// Where.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// A key or its value.
    #[error("{place}: {key}: {problem}; accepted: {accepted}")]
    Key {
        /// The file, and the entry where it is inside one.
        place: String,
        /// The key.
        key: String,
        /// The value given and why it is refused.
        problem: String,
        /// What would be accepted.
        accepted: String,
    },
}

pub(super) fn entries(file: &str, text: &str) -> Result<Vec<Entry>, Error> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        Error::Syntax { file: file.to_owned(), line, problem: error.message().to_owned() }
    })?;
    let file = Place(file.to_owned());
    file.known(&table, &["expect"])?;
    let entries = match table.get("expect") {
        None => return Ok(Vec::new()),
        Some(Value::Array(entries)) => entries,
        Some(other) => return Err(file.wrong("expect", other, "[[expect]] tables")),
    };
    entries
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            let place = Place(format!("{}: expect[{index}]", file.0));
            match entry {
                Value::Table(entry) => place.entry(entry),
                other => Err(file.wrong("expect", other, "[[expect]] tables")),
            }
        })
        .collect()
}

/// A file, or an entry of one.
struct Place(String);

impl Place {
    fn entry(&self, table: &Table) -> Result<Entry, Error> {
        self.known(table, &KEYS)?;
        let kind = match self.text(table, "result", "never, not-yet")? {
            Some("never") => ExpectedKind::Never,
            Some("not-yet") => ExpectedKind::NotYet,
            _ => return Err(self.refused(table, "result", "never, not-yet")),
        };
        let reason = self.text(table, "reason", "a text")?.map(str::trim);
        let reason = reason
            .filter(|reason| !reason.is_empty())
            .ok_or_else(|| self.refused(table, "reason", "a text that is not empty"))?;
        Ok(Entry {
            cases: self
                .glob(table, "cases")?
                .ok_or_else(|| self.refused(table, "cases", "a glob over ids"))?,
            device: self.glob(table, "device")?,
            driver: self.glob(table, "driver")?,
            profile: self.glob(table, "profile")?,
            outcome: self.outcome(table)?,
            expected: Expected { kind, reason: reason.to_owned() },
            place: self.0.clone(),
        })
    }

    /// A plain failure where the entry does not say: a crash or a hang is another defect.
    fn outcome(&self, table: &Table) -> Result<ResultCode, Error> {
        let accepted = OUTCOMES.map(ResultCode::name).join(", ");
        let Some(text) = self.text(table, "outcome", &accepted)? else {
            return Ok(ResultCode::Fail);
        };
        let found = OUTCOMES.into_iter().find(|outcome| outcome.name() == text);
        found.ok_or_else(|| self.refused(table, "outcome", &accepted))
    }

    fn known(&self, table: &Table, keys: &[&str]) -> Result<(), Error> {
        match table.keys().find(|key| !keys.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(self.error(key, "is unknown".to_owned(), &keys.join(", "))),
        }
    }

    fn glob(&self, table: &Table, key: &str) -> Result<Option<GlobMatcher>, Error> {
        let Some(text) = self.text(table, key, "a glob")? else { return Ok(None) };
        match Glob::new(text) {
            Ok(glob) => Ok(Some(glob.compile_matcher())),
            Err(error) => {
                let problem = format!("{text:?} is no glob ({})", error.kind());
                Err(self.error(key, problem, "a glob such as '*/int64/*'"))
            }
        }
    }

    fn text<'a>(
        &self,
        table: &'a Table,
        key: &str,
        accepted: &str,
    ) -> Result<Option<&'a str>, Error> {
        match table.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(key, other, accepted)),
        }
    }

    fn wrong(&self, key: &str, value: &Value, accepted: &str) -> Error {
        self.error(key, format!("{value} is not accepted"), accepted)
    }

    /// The key is missing, or has a value that is not accepted.
    fn refused(&self, table: &Table, key: &str, accepted: &str) -> Error {
        match table.get(key) {
            None => self.error(key, "is missing".to_owned(), accepted),
            Some(value) => self.wrong(key, value, accepted),
        }
    }

    fn error(&self, key: &str, problem: String, accepted: &str) -> Error {
        let (place, key) = (self.0.clone(), key.to_owned());
        Error::Key { place, key, problem, accepted: accepted.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        entries("my.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_file_entry_key_value_and_what_is_accepted() {
        let good = "[[expect]]\ncases = '*'\nresult = 'never'\nreason = 'x'\n";
        let second = |entry: &str| error(&format!("{good}[[expect]]\n{entry}"));
        assert_eq!(
            second("cases = '*'\nresult = 'maybe'\nreason = 'x'"),
            "my.toml: expect[1]: result: \"maybe\" is not accepted; accepted: never, not-yet"
        );
        assert_eq!(
            second("cases = '*'\nresult = 'never'"),
            "my.toml: expect[1]: reason: is missing; accepted: a text that is not empty"
        );
        assert_eq!(
            second("cases = '*'\nresult = 'never'\nreason = '  '"),
            "my.toml: expect[1]: reason: \"  \" is not accepted; accepted: a text that is not empty"
        );
        assert_eq!(
            second("result = 'never'\nreason = 'x'"),
            "my.toml: expect[1]: cases: is missing; accepted: a glob over ids"
        );
        assert_eq!(
            second("cases = '['\nresult = 'never'\nreason = 'x'"),
            "my.toml: expect[1]: cases: \"[\" is no glob (unclosed character class; missing ']'); \
             accepted: a glob such as '*/int64/*'"
        );
        assert_eq!(
            second("cases = 3\nresult = 'never'\nreason = 'x'"),
            "my.toml: expect[1]: cases: 3 is not accepted; accepted: a glob"
        );
        assert_eq!(
            second("case = '*'"),
            "my.toml: expect[1]: case: is unknown; accepted: cases, device, driver, profile, \
             outcome, result, reason"
        );
        assert_eq!(
            second("cases = '*'\noutcome = 'pass'\nresult = 'never'\nreason = 'x'"),
            "my.toml: expect[1]: outcome: \"pass\" is not accepted; accepted: fail, crash, timeout, \
             unsupported"
        );
    }

    #[test]
    fn files_are_refused_as_a_whole() {
        assert_eq!(error("expected = 1"), "my.toml: expected: is unknown; accepted: expect");
        assert!(error("expect = 1").contains("accepted: [[expect]] tables"));
        assert!(error("expect = [1]").contains("accepted: [[expect]] tables"));
        assert!(error("\n[[expect").starts_with("my.toml: line 2: "), "{}", error("\n[[expect"));
        let twice = "[[expect]]\ncases = '*'\ncases = '*'\n";
        assert!(error(twice).starts_with("my.toml: line 3: "), "{}", error(twice));
    }

    #[test]
    fn a_file_may_have_no_entries() {
        assert!(entries("my.toml", "# nothing\n").unwrap().is_empty());
    }
}
