use dml::core::{Capabilities, Tuning};
use dml_ops::TransferUse;
use serde_json::Value;

use super::*;
use crate::cases::Finder;
use crate::execute::Interpreter;

fn case(id: &str) -> Case {
    Finder::default().find(&id.parse().unwrap()).unwrap()
}

/// The dump of a case on the interpreter.
fn dumped(id: &str, tuning: Tuning) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let capabilities = Capabilities::vulkan_minimum();
    let interpreter = Interpreter::new(&capabilities, TransferUse::Allowed, None);
    let case = case(id);
    prepare(&case, folder.path()).unwrap();
    write(&case, "a device", &interpreter.with_tuning(tuning), folder.path()).unwrap();
    folder
}

fn read(folder: &Path, name: &str) -> Vec<u8> {
    let path = folder.join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json(folder: &Path, dispatch: usize) -> Value {
    serde_json::from_slice(&read(folder, &format!("dispatch_{dispatch}/dispatch.json"))).unwrap()
}

#[test]
fn a_dispatch_has_all_that_a_replay_needs() {
    let folder = dumped("5_1/diagonal_matrix/int32/rank2/offset_right", Tuning::new());
    let folder = folder.path();
    let readme = String::from_utf8(read(folder, "README.txt")).unwrap();
    assert_eq!(readme.lines().count(), 5, "{readme}");
    assert!(readme.contains("on a device: 2 dispatches by strategy kernel. "), "{readme}");
    let text = String::from_utf8(read(folder, "case.txt")).unwrap();
    assert!(text.ends_with("\nthe expected bytes are those of the reference\n"), "{text}");

    let dispatch = json(folder, 0);
    let spirv = read(folder, dispatch["spirv"].as_str().unwrap());
    assert!(spirv.starts_with(&0x0723_0203_u32.to_le_bytes()) && spirv.len().is_multiple_of(4));
    assert_eq!(dispatch["entry_point"], "main");
    let written = &dispatch["bindings"][0];
    assert_eq!((&written["memory"], &written["access"]), (&"output 0".into(), &"write".into()));
    let before = read(folder, "dispatch_0/binding_0.before.bin");
    assert!(before.len() == 5 * 7 * 4 && before.iter().all(|byte| *byte == 0xa5));
    assert!(read(folder, "dispatch_0/binding_0.expected.bin").iter().all(|byte| *byte == 0));
    let expected = read(folder, "output_0.expected.bin");
    let words = expected[256..256 + before.len()].as_chunks::<4>().0;
    let words: Vec<u32> = words.iter().copied().map(u32::from_le_bytes).collect();
    assert_eq!((words[1], words[2], words.iter().sum::<u32>()), (0, 1, 5));
    let fields = dispatch["push_constants"].as_array().unwrap();
    let end = |field: &Value| field["offset"].as_u64().unwrap() + field["size"].as_u64().unwrap();
    let size = fields.iter().map(end).max().unwrap_or(0);
    assert_eq!(read(folder, "dispatch_0/push_constants.bin").len() as u64, size);
    // The interpreter is the host: its bytes are what it expects, and nothing was replayed.
    assert_eq!(read(folder, "output_0.actual.bin"), read(folder, "output_0.expected.bin"));
    assert!(!folder.join("dispatch_0/binding_0.actual.bin").exists());
}

#[test]
fn each_dispatch_finds_what_those_before_it_left() {
    let folder = dumped("5_1/gemm/float32/rank2/with_all_20_12_24", Tuning::new());
    let folder = folder.path();
    let count = (0..).take_while(|it| folder.join(format!("dispatch_{it}")).exists()).count();
    assert!(count > 1, "this product is several dispatches");
    let mut left = std::collections::HashMap::new();
    let mut found = 0;
    for number in 0..count {
        for binding in json(folder, number)["bindings"].as_array().unwrap() {
            let file = |moment: &str| {
                let path = format!("dispatch_{number}/binding_{}.{moment}.bin", binding["binding"]);
                folder.join(path)
            };
            let key = (binding["memory"].to_string(), binding["range"].to_string());
            let before = std::fs::read(file("before")).unwrap();
            if let Some(left) = left.get(&key) {
                assert_eq!(left, &before, "dispatch {number}");
                found += 1;
            }
            if let Ok(expected) = std::fs::read(file("expected")) {
                left.insert(key, expected);
            }
        }
    }
    assert!(found > 0, "no dispatch reads what another one wrote");
}

#[test]
fn nothing_is_overwritten() {
    let case = case("5_1/diagonal_matrix/int32/rank2/offset_right");
    let folder = tempfile::tempdir().unwrap();
    prepare(&case, folder.path()).unwrap();
    prepare(&case, &folder.path().join("new/folder")).unwrap();
    let refused = prepare(&case, folder.path());
    assert!(matches!(&refused, Err(DumpError::NotEmpty(path)) if path == folder.path()));
    let file = folder.path().join("file");
    std::fs::write(&file, "kept").unwrap();
    assert!(matches!(prepare(&case, &file), Err(DumpError::Io { .. })));
    // Not even where something appears in between.
    let files = Folder::new(folder.path(), dml::core::capabilities::Features::NONE);
    assert!(matches!(files.write("file", b"other"), Err(DumpError::Io { .. })));
    assert_eq!(std::fs::read(&file).unwrap(), b"kept");
}

#[test]
fn a_refusal_has_nothing_to_dump() {
    let folder = tempfile::tempdir().unwrap();
    let refused = case("1_0/diagonal_matrix/int8/rank2/refused_operator");
    let error = prepare(&refused, &folder.path().join("new")).unwrap_err();
    assert!(error.to_string().ends_with("expected a case with outputs"), "{error}");
    assert!(!folder.path().join("new").exists());
}
