//! The names of output files.

use std::collections::HashSet;

/// The most bytes of a name: file systems allow 255, including a number and `.npy`.
const LONGEST: usize = 200;

/// A file name for each output, without its folder. An output's name is kept if it is a valid file name;
/// otherwise invalid characters become `_`, and a number makes the name unique.
pub(super) fn file_names(outputs: &[&str]) -> Vec<String> {
    let cleaned: Vec<String> = outputs.iter().map(|output| clean(output)).collect();
    let mut taken = HashSet::new();
    let mut names = vec![None; outputs.len()];
    for (index, output) in outputs.iter().enumerate() {
        if cleaned[index] == *output && taken.insert(folded(output)) {
            names[index] = Some((*output).to_owned());
        }
    }
    for (name, cleaned) in names.iter_mut().zip(cleaned).filter(|(name, _)| name.is_none()) {
        let mut unique = cleaned.clone();
        let mut number = 2;
        while !taken.insert(folded(&unique)) {
            unique = format!("{cleaned}_{number}");
            number += 1;
        }
        *name = Some(unique);
    }
    names.into_iter().flatten().map(|name| name + ".npy").collect()
}

/// The name with `_` in place of characters that are special in file systems.
fn clean(output: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "._- ".contains(c) { c } else { '_' };
    let mut name: String = output.chars().map(plain).collect();
    name.truncate(name.floor_char_boundary(LONGEST));
    if name.trim_matches(['.', ' ']).is_empty() {
        return "output".to_owned();
    }
    if is_device(&name) { format!("_{name}") } else { name }
}

/// Whether the name, without its extension, is that of a device in Windows.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = |kind| {
        let number = stem.strip_prefix(kind).unwrap_or_default();
        number.chars().count() == 1 && number.contains(|c| "123456789¹²³".contains(c))
    };
    ["CON", "PRN", "AUX", "NUL"].contains(&stem.as_str()) || numbered("COM") || numbered("LPT")
}

/// A form of the name that is equal for names that differ only in case.
fn folded(name: &str) -> String {
    name.to_lowercase().to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_names_come_before_cleaned_ones() {
        assert_eq!(file_names(&["a/b", "a_b", "y"]), ["a_b_2.npy", "a_b.npy", "y.npy"]);
        assert_eq!(file_names(&["a:b", "a/b"]), ["a_b.npy", "a_b_2.npy"]);
        let names = ["a/b", "a_b_2", "a_b", "a?b"];
        assert_eq!(file_names(&names), ["a_b_3.npy", "a_b_2.npy", "a_b.npy", "a_b_4.npy"]);
    }

    #[test]
    fn names_that_differ_by_case_alone_get_a_number() {
        assert_eq!(file_names(&["y", "Y", "y_2"]), ["y.npy", "Y_3.npy", "y_2.npy"]);
        assert_eq!(file_names(&["straße", "STRASSE"]), ["straße.npy", "STRASSE_2.npy"]);
        assert_eq!(file_names(&["same", "same"]), ["same.npy", "same_2.npy"]);
    }

    #[test]
    fn names_of_no_file_are_replaced() {
        let names =
            ["..", "", ".", " ", "../../etc/passwd", "\u{1b}[2J\n", "\u{202e}x", "e\u{301}"];
        let expected = [
            "output.npy",
            "output_2.npy",
            "output_3.npy",
            "output_4.npy",
            ".._.._etc_passwd.npy",
            "__2J_.npy",
            "_x.npy",
            "e_.npy",
        ];
        assert_eq!(file_names(&names), expected);
    }

    #[test]
    fn devices_of_windows_are_no_files() {
        for (name, expected) in [
            ("CON", "_CON.npy"),
            ("nul.x", "_nul.x.npy"),
            ("com1", "_com1.npy"),
            ("lpt³.1", "_lpt³.1.npy"),
            ("aux .x", "_aux .x.npy"),
            ("com", "com.npy"),
            ("com10", "com10.npy"),
            ("console", "console.npy"),
        ] {
            assert_eq!(file_names(&[name]), [expected]);
        }
    }

    #[test]
    fn long_names_are_cut_between_characters_and_kept_apart() {
        let folder = tempfile::tempdir().unwrap();
        let long = ["ü".repeat(1000), "ü".repeat(2000), "a".to_owned() + &"漢".repeat(1000)];
        let names = file_names(&long.each_ref().map(String::as_str));
        for name in &names {
            assert!((200..=206).contains(&name.len()), "{}", name.len());
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
