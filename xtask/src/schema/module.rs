//! Generated modules: one for each file of operators, beside a root that has them all.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Operator, Schema};

/// A generated Rust file before formatting and without its header: its path without `.rs`, and its text.
pub(crate) type Module = (String, String);

/// `root` with a module for each file of operators, whose items are what `item` makes of each
/// operator. What the items use of `names`, which are paths by their last part, is imported.
pub(crate) fn modules(
    schema: &Schema,
    root: (&str, String),
    names: &BTreeMap<String, String>,
    item: impl Fn(&Operator) -> String,
) -> Vec<Module> {
    let (path, text) = root;
    let files = schema.by_file();
    let declared: String = files.keys().map(|name| format!("mod {name};\n")).collect();
    let exported: String = files.keys().map(|name| format!("pub use {name}::*;\n")).collect();
    let mut modules = vec![(path.to_owned(), format!("{declared}\n{exported}\n{text}"))];
    for (name, operators) in files {
        let items: Vec<String> = operators.iter().map(|operator| item(operator)).collect();
        let origin = operators.first().map(|it| it.origin()).unwrap_or_default();
        let items = items.concat();
        modules.push((
            format!("{path}/{name}"),
            format!("{origin}{}\n{items}", imports(&items, names)),
        ));
    }
    modules
}

/// `use` lines for the names that stand in `text` outside of its comments.
fn imports(text: &str, names: &BTreeMap<String, String>) -> String {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let in_word = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let words: BTreeSet<&str> = code.flat_map(|line| line.split(|it| !in_word(it))).collect();
    let mut paths: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, path) in names.iter().filter(|(name, _)| words.contains(name.as_str())) {
        paths.entry(path).or_default().push(name);
    }
    let line =
        |(path, names): (&str, Vec<&str>)| format!("use {path}::{{{}}};\n", names.join(", "));
    paths.into_iter().map(line).collect()
}

/// `names`, all from the module `path`.
pub(crate) fn from<'a>(
    path: &'a str,
    names: impl IntoIterator<Item = impl Into<String>> + 'a,
) -> impl Iterator<Item = (String, String)> + 'a {
    names.into_iter().map(move |name| (name.into(), path.to_owned()))
}
