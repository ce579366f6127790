//! The answers as tables of at most 100 columns.

use std::collections::BTreeMap;

use dml::DataType;
use dml::core::operators::OPERATORS;
use dml::core::schema::OperatorSchema;
use dml::support::Support;

use super::Subject;
use super::answers::{self, Answer, RANKS};

/// Every answer for one operator.
pub(super) fn operator(subject: &Subject, schema: &'static OperatorSchema) -> String {
    let mut legend = Legend::default();
    let mut lines = wrapped(&format!("{}: {}", schema.name, schema.summary));
    lines.extend(heading(subject));
    if schema.introduced() > subject.level {
        lines.push(format!("{} needs feature level {}", schema.name, schema.introduced()));
    }
    for answers in answers::Operator::of(subject, schema).tensors() {
        lines.push(String::new());
        lines.extend(wrapped(&answers.fields.join(", ")));
        let ranks: String = RANKS.map(|rank| format!("{:<9}", format!("rank {rank}"))).collect();
        lines.push(format!("{:10}{ranks}", ""));
        for (data_type, row) in &answers.rows {
            let cells: String = row.iter().map(|it| format!("{:<9}", cell(it.support))).collect();
            lines.push(format!("{data_type:<10}{cells}"));
            row.iter().for_each(|it| legend.add(*data_type, it));
        }
    }
    lines.push(String::new());
    lines.extend(legend.lines(cell));
    finish(&lines)
}

/// One line for each operator, with the best answer of any rank for each data type.
pub(super) fn overview(subject: &Subject) -> String {
    let mut legend = Legend::default();
    let mut lines: Vec<String> = heading(subject).collect();
    let width = OPERATORS.iter().map(|schema| schema.name.len()).max().unwrap_or(0);
    let types: String = DataType::ALL.map(|it| format!("{:<4}", abbreviation(it))).concat();
    lines.extend([String::new(), format!("{:width$} {types}", "")]);
    let mut running = 0;
    for schema in OPERATORS {
        let operator = answers::Operator::of(subject, schema);
        let row = DataType::ALL.map(|it| (it, operator.best(it)));
        let cells = row.iter().map(|(_, it)| format!("{:<4}", short_cell(it.support)));
        lines.push(format!("{:width$} {}", schema.name, cells.collect::<String>()));
        row.iter().for_each(|(data_type, it)| legend.add(*data_type, it));
        running += usize::from(row.iter().any(|(_, it)| it.support.runs()));
    }
    lines.push(String::new());
    lines.push(format!(
        "{running} of {} operators run; each cell is for the best rank.",
        OPERATORS.len()
    ));
    lines.extend(legend.lines(short_cell));
    finish(&lines)
}

fn heading(subject: &Subject) -> impl Iterator<Item = String> {
    let beyond = match subject.shortfalls.as_slice() {
        [] => vec![],
        shortfalls => {
            let mut lines = vec!["The profile states more than this device has:".to_owned()];
            lines.extend(shortfalls.iter().map(|shortfall| format!("  {shortfall}")));
            lines
        }
    };
    wrapped(&subject.name)
        .into_iter()
        .chain([format!("created at feature level {}", subject.level)])
        .chain(beyond)
}

/// Words in lines of at most 100 columns.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= 100 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn finish(lines: &[String]) -> String {
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

fn cell(support: Support) -> String {
    match support {
        Support::Never => "-".to_owned(),
        Support::Undocumented => "?".to_owned(),
        Support::NeedsLevel(level) => level.to_string(),
        Support::NotImplemented => "not yet".to_owned(),
        Support::Emulated(_) => "emulated".to_owned(),
        Support::Native => "native".to_owned(),
    }
}

fn short_cell(support: Support) -> String {
    match support {
        Support::NotImplemented => ".".to_owned(),
        Support::Emulated(_) => "E".to_owned(),
        Support::Native => "N".to_owned(),
        other => cell(other),
    }
}

/// A short name, such as `F32` for FLOAT32.
fn abbreviation(data_type: DataType) -> String {
    let letter = data_type.name().chars().next().unwrap_or_default();
    format!("{letter}{}", data_type.bits())
}

/// The kinds of answers in a table, for its legend.
#[derive(Default)]
struct Legend {
    /// The first answer of each kind, in the order of the legend's lines.
    given: BTreeMap<u8, Support>,
    /// The types of each emulation, by its text and the features that would make them native.
    emulated: BTreeMap<String, Vec<DataType>>,
}

impl Legend {
    fn add(&mut self, data_type: DataType, Answer { support, native_with }: &Answer) {
        let support = *support;
        let position = match support {
            Support::Native => 0,
            Support::Emulated(_) => 1,
            Support::NeedsLevel(_) => 2,
            Support::NotImplemented => 3,
            Support::Undocumented => 4,
            Support::Never => 5,
        };
        self.given.entry(position).or_insert(support);
        if let Support::Emulated(emulation) = support {
            let features: Vec<&str> = native_with.iter().map(|feature| feature.name()).collect();
            let native = match features.as_slice() {
                [] => String::new(),
                features => format!("; native with {}", features.join(" or ")),
            };
            let types = self.emulated.entry(format!("{emulation}{native}")).or_default();
            if !types.contains(&data_type) {
                types.push(data_type);
            }
        }
    }

    fn lines(&self, cell: fn(Support) -> String) -> Vec<String> {
        let mut lines = Vec::new();
        for support in self.given.values() {
            lines.push(format!("{:10}{}", cell(*support), meaning(*support)));
            if matches!(support, Support::Emulated(_)) {
                lines.extend(self.emulated.iter().map(|(how, types)| {
                    let types: Vec<&str> = types.iter().map(|data_type| data_type.name()).collect();
                    format!("{:10}  {}: {how}", "", types.join(", "))
                }));
            }
        }
        lines
    }
}

fn meaning(support: Support) -> &'static str {
    match support {
        Support::Native => "runs, by kernels that use the hardware's type",
        Support::Emulated(_) => "runs with the same bits, by kernels that make the type of others:",
        Support::NeedsLevel(_) => "such a number is the feature level that it needs",
        Support::NotImplemented => "the level accepts it, but this runtime lacks the operator",
        Support::Undocumented => "DirectML's reference does not state it",
        Support::Never => "no feature level accepts it",
    }
}
