//! Modules have no circular dependencies: sibling modules, each taken together with its submodules, must not
//! use each other in a loop. A parent and its child may, and the crate's root is not counted.
//!
//! Paths are read as tokens, so those within macros count. Re-exports are followed to the definition. Code
//! for tests is skipped.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The names of a module from the crate's root, which is the empty list.
type Module = Vec<String>;

/// The paths that one module of a crate names.
#[derive(Default)]
struct Names {
    /// Paths from the crate's root, each the names after `crate::`.
    paths: BTreeSet<Vec<String>>,
    /// The last name of each `use`, and the path that it stands for.
    uses: BTreeMap<String, Vec<String>>,
}

/// One crate: its modules and the paths that they name.
#[derive(Default)]
pub(crate) struct Crate {
    modules: BTreeMap<Module, Names>,
}

impl Crate {
    /// Reads the file `path`, relative to the crate's `src`.
    pub(crate) fn add(&mut self, path: &str, text: &str) {
        let mut module: Module =
            path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        if ["lib", "main", "mod"].contains(&module.last().map_or("", String::as_str)) {
            module.pop();
        }
        let is_test = module.last().is_some_and(|it| it == "tests" || it.ends_with("_tests"));
        if let (false, Ok(tokens)) = (is_test, text.parse()) {
            self.read(&module, tokens);
        }
    }

    fn read(&mut self, module: &Module, tokens: TokenStream) {
        let mut names = Names::default();
        let submodules = names.read(module, tokens.into_iter().collect());
        let known = self.modules.entry(module.clone()).or_default();
        known.paths.append(&mut names.paths);
        known.uses.append(&mut names.uses);
        for (name, tokens) in submodules {
            self.read(&[module.as_slice(), &[name]].concat(), tokens);
        }
    }

    /// The circles, one line each, such as `a -> b -> a (a: b::Thing)`.
    pub(crate) fn circles(&self) -> Vec<String> {
        // The uses between the children of one module, each with an example.
        let mut arrows: BTreeMap<Module, BTreeMap<(String, String), String>> = BTreeMap::new();
        for (module, names) in self.modules.iter().filter(|(it, _)| !it.is_empty()) {
            for path in &names.paths {
                let target = self.home(path);
                let common = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
                if let (Some(from), Some(to)) = (module.get(common), target.get(common)) {
                    let example = format!("{}: {}", module.join("::"), path.join("::"));
                    let siblings = arrows.entry(target[..common].to_vec()).or_default();
                    siblings.entry((from.clone(), to.clone())).or_insert(example);
                }
            }
        }
        arrows.values().flat_map(circles_of).collect()
    }

    /// The module in which the last name of `path` is defined, as far as the `use`s tell.
    fn home(&self, path: &[String]) -> Module {
        let mut path = path.to_vec();
        // A bound for two re-exports of each other.
        for _ in 0..8 {
            let inside = (0..=path.len()).rev().find(|&it| self.modules.contains_key(&path[..it]));
            let module = path[..inside.unwrap_or(0)].to_vec();
            let used =
                path.get(module.len()).and_then(|it| self.modules.get(&module)?.uses.get(it));
            match used {
                Some(used) if *used != path => {
                    path = [used.as_slice(), &path[module.len() + 1..]].concat();
                }
                _ => return module,
            }
        }
        path
    }
}

impl Names {
    /// Reads `tokens` of `module`, and returns the modules that are defined within it.
    fn read(&mut self, module: &Module, tokens: Vec<TokenTree>) -> Vec<(String, TokenStream)> {
        let mut inner = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let word = |offset: usize| match tokens.get(at + offset) {
                Some(TokenTree::Ident(ident)) => ident.to_string(),
                _ => String::new(),
            };
            match &tokens[at] {
                TokenTree::Punct(punct)
                    if punct.as_char() == '#' && is_for_tests(&tokens[at..]) =>
                {
                    at = end_of_item(&tokens, at + 2);
                    continue;
                }
                TokenTree::Ident(ident) if ident == "mod" => {
                    if let Some(TokenTree::Group(body)) = tokens.get(at + 2) {
                        inner.push((word(1), body.stream()));
                        at += 2;
                    }
                }
                TokenTree::Ident(ident) if ident == "use" => {
                    let end = end_of_item(&tokens, at);
                    self.read_use(module, &[], &tokens[at + 1..end]);
                    at = end;
                    continue;
                }
                TokenTree::Ident(ident) if ["crate", "super"].iter().any(|it| ident == it) => {
                    let path = path_of(&tokens[at..]);
                    self.paths.extend(from_root(module, &path));
                }
                TokenTree::Group(group) => {
                    inner.extend(self.read(module, group.stream().into_iter().collect()));
                }
                _ => {}
            }
            at += 1;
        }
        inner
    }

    /// Reads the tokens after `use`, or one part of its braces, after the path `before`.
    fn read_use(&mut self, module: &Module, before: &[String], tokens: &[TokenTree]) {
        for part in tokens.split(|it| matches!(it, TokenTree::Punct(it) if it.as_char() == ',')) {
            let path = [before, path_of(part).as_slice()].concat();
            let group = part.iter().find_map(|it| match it {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
                _ => None,
            });
            if let Some(group) = group {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                self.read_use(module, &path, &inside);
                continue;
            }
            let mut words = part.iter().filter_map(|it| match it {
                TokenTree::Ident(ident) => Some(ident.to_string()),
                _ => None,
            });
            let Some(root) = from_root(module, &path) else { continue };
            self.uses.extend(words.next_back().map(|name| (name, root.clone())));
            self.paths.insert(root);
        }
    }
}

/// The names of the path that `tokens` begin with.
fn path_of(tokens: &[TokenTree]) -> Vec<String> {
    let mut path = Vec::new();
    let mut is_next = true;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if is_next => path.push(ident.to_string()),
            TokenTree::Punct(punct) if punct.as_char() == ':' => {}
            _ => break,
        }
        is_next = matches!(token, TokenTree::Punct(_));
    }
    path
}

/// `path` as the names after `crate::`; `None` for one of another crate.
fn from_root(module: &Module, path: &[String]) -> Option<Vec<String>> {
    let mut base = module.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => (base, rest) = (Vec::new(), &path[1..]),
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|it| it == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        // A child of the module, or another crate: not a sibling, but `home` follows it.
        _ => {}
    }
    let rest = rest.iter().filter(|it| *it != "self");
    Some(base.into_iter().chain(rest.cloned()).collect())
}

fn is_for_tests(tokens: &[TokenTree]) -> bool {
    matches!(tokens.get(1), Some(TokenTree::Group(group))
        if group.stream().to_string().replace(' ', "").starts_with("cfg(test)"))
}

/// The position after the item that begins at `at`: after its braces or its semicolon.
fn end_of_item(tokens: &[TokenTree], at: usize) -> usize {
    let is_use = matches!(&tokens.get(at), Some(TokenTree::Ident(it)) if it == "use");
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => !is_use && group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    };
    tokens[at..].iter().position(ends).map_or(tokens.len(), |it| at + it + 1)
}

/// Every pair of siblings that reach each other, with the path and an example of each step.
fn circles_of(arrows: &BTreeMap<(String, String), String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut reported = BTreeSet::new();
    for (from, to) in arrows.keys() {
        let Some(way) = way(arrows, to, from) else { continue };
        let circle = [std::slice::from_ref(from), &way].concat();
        if reported.insert(circle.iter().cloned().collect::<BTreeSet<_>>()) {
            let examples =
                circle.windows(2).map(|it| arrows[&(it[0].clone(), it[1].clone())].as_str());
            let examples: Vec<&str> = examples.collect();
            found.push(format!("{} ({})", circle.join(" -> "), examples.join("; ")));
        }
    }
    found
}

/// The shortest path from one sibling to another along `arrows`, both ends included.
fn way(arrows: &BTreeMap<(String, String), String>, from: &str, to: &str) -> Option<Vec<String>> {
    let mut ways = vec![vec![from.to_owned()]];
    let mut seen = BTreeSet::from([from.to_owned()]);
    while !ways.is_empty() {
        if let Some(found) = ways.iter().find(|it| it.last().is_some_and(|it| it == to)) {
            return Some(found.clone());
        }
        let mut longer = Vec::new();
        for way in &ways {
            let next = arrows.keys().filter(|(it, _)| Some(it) == way.last());
            for (_, next) in next.filter(|(_, it)| seen.insert(it.clone())) {
                longer.push([way.as_slice(), std::slice::from_ref(next)].concat());
            }
        }
        ways = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let mut it = Crate::default();
        files.iter().for_each(|(path, text)| it.add(path, text));
        it.circles()
    }

    #[test]
    fn siblings_that_use_each_other_are_a_circle() {
        let a = ("a.rs", "use crate::b::Thing; struct Other;");
        for b in ["use super::a::Other;", "fn f() { println!(\"{}\", crate::a::x()) }"] {
            let found = circles(&[("lib.rs", "mod a; mod b;"), a, ("b.rs", b)]);
            assert_eq!(found.len(), 1, "{b}: {found:?}");
            assert!(found[0].starts_with("a -> b -> a (a: b::Thing; b: a::"), "{found:?}");
        }
        assert!(circles(&[a, ("b.rs", "struct Thing;")]).is_empty());
    }

    #[test]
    fn a_module_counts_with_its_submodules() {
        let found = circles(&[
            ("lib.rs", ""),
            ("a/mod.rs", ""),
            ("a/deep.rs", "use crate::{b::{C, D}, c};"),
            ("b.rs", "struct C;"),
            ("c.rs", "mod inner { use super::super::a; }"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a -> c -> a"), "{found:?}");
    }

    #[test]
    fn what_is_re_exported_is_followed_home() {
        let root =
            ("lib.rs", "mod a; mod b; pub use a::Thing; pub use self::b::deep::{Other as O};");
        let files = [("a.rs", "use crate::O;"), ("b.rs", ""), ("b/deep.rs", "use crate::Thing;")];
        assert_eq!(circles(&[&[root], files.as_slice()].concat()).len(), 1);
    }

    #[test]
    fn parents_children_and_tests_are_no_circles() {
        let child = ("a/child.rs", "use super::Thing; use crate::a::Other;");
        let tests = "use crate::b::C; #[cfg(test)] mod tests { use crate::c::D; } fn f() {}";
        let a = ("a.rs", "mod child; use child::It; struct Thing;");
        let c = ("c.rs", "use crate::b::C;");
        let files = [a, child, ("b.rs", tests), c, ("c/tests.rs", "use crate::b;")];
        assert_eq!(circles(&files), [""; 0]);
    }
}
