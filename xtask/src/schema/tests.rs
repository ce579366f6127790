mod enums;
mod families;
mod varied;

use std::path::Path;

use dml_core::schema::TENSOR_DATA_TYPE;
use dml_core::{DataType, FeatureLevel, MAX_DIMENSION_COUNT};

use super::Folders;
use super::descs::comment;
use super::model::{Enumeration, Operator, Table};
use super::names::{DATA_TYPES, LEVELS, MAX_RANK};
use super::resolve::schema;
use super::source::{File, Sources};

const TOML: &str = "crates/dml-core/schema/diagonal.toml";
const TABLES: &str = "crates/dml-core/src/operators/tables/diagonal.rs";
const ROOT: &str = "crates/dml-core/src/operators/tables.rs";
/// The tables of the operators in `MORE`.
const MORE_TABLES: &str = "crates/dml-core/src/operators/tables/more.rs";
const MORE: &str = "crates/dml-core/schema/more.toml";

/// An operator with a field of every type, and a shared count.
const EVERYTHING: &str = r#"
[EVERYTHING1]
number = 900
summary = "has a field of every type"
in_place = true
implemented = true
comparison = "bit-exact"
rule = "inputs_are_parts_of_output"
fields = [
    { name = "InputCount", type = "uint", doc = "n" },
    { name = "ATensors", kind = "input", type = "tensor-array", count = "InputCount", type_of = "OutputTensor", sizes_of = "OutputTensor", doc = "Reads." },
    { name = "OutputTensor", kind = "output", type = "tensor", optional = true, doc = "Writes." },
    { name = "FusedActivation", type = "operator-desc", optional = true, doc = "Fused." },
    { name = "ActivationDescs", type = "operator-desc-array", count = "InputCount", doc = "Steps." },
    { name = "BiasTensor", kind = "input", type = "tensor", optional_from = "6_4", doc = "Bias." },
    { name = "ValueDataType", type = "uint", enum = "tensor-data-type", doc = "Type." },
    { name = "Value", type = "scalar-union", scalar_type = "ValueDataType", doc = "Value." },
    { name = "Seed", type = "uint64", doc = "Seed." },
    { name = "Scales", type = "float-array", count = "InputCount", optional = true, doc = "Scales." },
    { name = "ScaleBias", type = "scale-bias", doc = "Scale." },
    { name = "Size", type = "size-2d", doc = "Size." },
    { name = "Normalize", type = "bool", doc = "Whether." },
]
support.6_4."*" = { ranks = "1-8", types = "FLOAT32 int-8-32" }
"#;

/// One operator of the usual kind, to make mistakes in.
const ORDINARY: &str = r#"
[ORDINARY]
number = 901
summary = "an operator of the usual kind"
in_place = false
implemented = true
comparison = "bit-exact"
fields = [
    { name = "OutputTensor", kind = "output", type = "tensor", doc = "What is written." },
    { name = "Offset", type = "int", doc = "An integer." },
    { name = "Value", type = "float", doc = "A number." },
]

[ORDINARY.support]
2_0.OutputTensor = { ranks = "4", types = "FLOAT16" }
2_1.OutputTensor = { ranks = "4", types = "scalar-8-32" }
4_0.OutputTensor = { ranks = "2-4", types = "scalar-8-32" }
5_1.OutputTensor = { ranks = "2-4", types = "scalar-8-64" }
"#;

fn here() -> Folders {
    Folders::of_workspace(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")))
}

fn generated(sources: &Sources) -> Vec<File> {
    here().generate(sources).unwrap()
}

/// The schema with another file of operators.
fn with(text: &str) -> Sources {
    let mut sources = here().read().unwrap();
    sources.operators.push(File { path: MORE.to_owned(), text: text.to_owned() });
    sources
}

/// The generated file at `path` for a schema with another file of operators.
fn generated_with(text: &str, path: &str) -> String {
    let mut files = generated(&with(text)).into_iter();
    files.find(|file| file.path == path).unwrap().text
}

/// The error for another file of operators.
fn refused(text: &str) -> String {
    schema(&with(text)).unwrap_err().to_string()
}

/// The row of the operator `name` in another file.
fn operator(text: &str, name: &str) -> Operator {
    let operators = schema(&with(text)).unwrap().operators;
    operators.into_iter().find(|operator| operator.name == name).unwrap()
}

/// A folder in which every generated file is up to date.
fn copy(files: &[File]) -> (tempfile::TempDir, Folders) {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { root: folder.path().to_owned(), ..here() };
    assert_eq!(folders.write(files).unwrap().len(), files.len());
    (folder, folders)
}

#[test]
fn the_checked_in_files_are_what_the_toml_files_say() {
    let stale = here().stale(&generated(&here().read().unwrap()));
    assert!(stale.is_empty(), "{}\nRun `cargo xtask generate-schema`.", stale.join("\n"));
}

#[test]
fn a_changed_row_makes_the_generated_files_stale() {
    let mut sources = here().read().unwrap();
    let (_folder, folders) = copy(&generated(&sources));
    let file = sources.operators.iter_mut().find(|file| file.path == TOML).unwrap();
    file.text = file.text.replacen("in_place = false", "in_place = true", 1);
    let generated = generated(&sources);
    let stale = folders.stale(&generated);
    let [message] = stale.as_slice() else { panic!("{stale:?}") };
    let (place, problem) = message.split_once(": ").unwrap();
    assert!(place.starts_with(&format!("{TABLES}:")), "{message}");
    assert_eq!(problem, format!("is not what {TOML} says"));
    assert_eq!(folders.write(&generated).unwrap(), [TABLES]);
    assert!(folders.stale(&generated).is_empty());
}

#[test]
fn a_changed_byte_makes_its_generated_file_stale() {
    let generated = generated(&here().read().unwrap());
    let (_folder, folders) = copy(&generated);
    for File { path, text } in &generated {
        let changed = text.replacen("EnumSchema", "Enum", 1).replacen("DML_", "DMI_", 1);
        let changed = if changed == *text { text.replacen("mod ", "mob ", 1) } else { changed };
        assert_ne!(changed, *text, "{path}");
        std::fs::write(folders.root.join(path), changed).unwrap();
        let stale = folders.stale(&generated);
        let [message] = stale.as_slice() else { panic!("{stale:?}") };
        assert!(message.starts_with(path) && message.ends_with(".toml says"), "{message}");
        assert_eq!(folders.write(&generated).unwrap(), [path]);
    }
}

#[test]
fn a_missing_generated_file_is_stale() {
    let generated = generated(&here().read().unwrap());
    let (_folder, folders) = copy(&generated);
    let path = ROOT;
    std::fs::remove_file(folders.root.join(path)).unwrap();
    let message = format!("{path}:1: is not what crates/dml-core/schema/*.toml says");
    assert_eq!(folders.stale(&generated), [message]);
}

#[test]
fn mistakes_are_found_with_their_line() {
    let line = |wanted: &str| ORDINARY.lines().position(|line| line.contains(wanted)).unwrap() + 1;
    let cases = [
        ("in_place", "inplace", "in_place", "unknown field `inplace`"),
        ("number = 901", "number = 901\nnumber = 901", "summary", "duplicate key"),
        ("type = \"int\"", "type = \"integer\"", "Offset", "unknown variant `integer`"),
        ("\"Offset\"", "\"OutputTensor\"", "Offset", "is a second field of this name"),
        ("\"Offset\"", "\"offset\"", "Offset", "offset: is not a field name"),
        ("kind = \"output\", ", "", "\"OutputTensor\"", "kind input or output for tensors"),
        ("type = \"int\"", "type = \"int\", optional = true", "Offset", "passes it by value"),
        ("type = \"int\"", "type = \"int-array\"", "Offset", "needs the key count"),
        ("type = \"int\"", "type = \"int\", enum = \"mode\"", "Offset", "for the type uint"),
        ("type = \"int\"", "type = \"uint\", enum = \"mode\"", "Offset", "mode is not an enum"),
        ("type = \"int\"", "type = \"scalar-union\"", "Offset", "needs the key scalar_type"),
        ("type = \"int\"", "type = \"int\", count = \"Value\"", "Offset", "for other types"),
        ("5_1.Out", "5_3.Out", "5_1", "5_3 is not a feature level"),
        ("5_1.Out", "3_1.Out", "5_1", "3_1 stands below 4_0"),
        ("5_1.Out", "4_0.Out", "5_1", "duplicate key"),
        ("2_0.Output", "2_0.Input", "2_0", "InputTensor is not a tensor; accepted: OutputTensor"),
        ("ranks = \"2-4\"", "ranks = \"2-9\"", "4_0", "'2-9' are not ranks"),
        ("ranks = \"2-4\"", "ranks = \"3\"", "4_0", "4_0: OutputTensor loses what 2_1 accepts"),
        ("scalar-8-64", "scalars", "5_1", "'scalars' is not a data type"),
        ("scalar-8-64", "INT64", "5_1", "loses what 4_0 accepts"),
        ("implemented", "rule = \"none\"\nimplemented", "implemented", "rules.rs has no function"),
        ("comparison = \"bit-exact\"", "", "[ORDINARY]", "without comparison"),
        ("\"bit-exact\"", "\"close\"", "comparison", "\"close\" is unknown; accepted: bit-exact"),
        ("\"bit-exact\"", "\"ulp -1\"", "comparison", "\"ulp -1\" is unknown; accepted"),
        ("\"bit-exact\"", "3", "comparison", "comparison is 3; accepted: bit-exact, ulp"),
        (
            "\"bit-exact\"",
            "{ FLOAT16 = \"ulp 0\", scalar-8-32 = \"bit-exact\" }",
            "comparison",
            "a type stands in two of the sets",
        ),
        ("\"bit-exact\"", "{ FLOAT8 = \"ulp 0\" }", "comparison", "'FLOAT8' is not a data type"),
        (
            "\"bit-exact\"",
            "{ scalar-8-32 = \"bit-exact\" }",
            "comparison",
            "comparison has nothing for FLOAT64, UINT64, INT64",
        ),
        ("number = 901\n", "", "[ORDINARY]", "missing field `number`"),
        (
            "implemented",
            "fields_complete = false\nimplemented",
            "implemented",
            "unknown field `fields_",
        ),
        ("comparison", "support_by = \"Offset\"\ncomparison", "[ORDINARY]", "support_by with"),
        ("\"int\"", "\"int\", sizes_of = \"OutputTensor\"", "Offset", "sizes_of is for tensors"),
        ("\"int\"", "\"int\", type_of = \"OutputTensor\"", "Offset", "type_of is for tensors and"),
        (
            "\"tensor\"",
            "\"tensor\", type_of = \"OutputTensor\"",
            "\"OutputTensor\"",
            "OutputTensor is not a tensor without type_of",
        ),
        ("\"int\"", "\"int\", optional_from = \"4_0\"", "Offset", "passes it by value"),
        (
            "\"tensor\"",
            "\"tensor\", optional_from = \"4_2\"",
            "\"OutputTensor\"",
            "4_2 is not a feature",
        ),
        ("scalar-8-64", "undocumented", "5_1", "loses what 4_0 accepts"),
    ];
    for (from, to, place, wanted) in cases {
        assert!(ORDINARY.contains(from), "{from}");
        let found = refused(&ORDINARY.replacen(from, to, 1));
        let start = format!("{MORE}:{}: ", line(place));
        assert!(found.starts_with(&start) && found.contains(wanted), "{from} -> {to}: {found}");
    }
}

#[test]
fn a_comparison_by_types_is_one_for_each_set_and_the_rest() {
    let text = "{ \"FLOAT16 FLOAT32\" = \"ulp 2\", \"*\" = \"bit-exact\" }";
    let schema = schema(&with(&ORDINARY.replace("\"bit-exact\"", text))).unwrap();
    let operator = schema.operators.iter().find(|operator| operator.name == "ORDINARY").unwrap();
    let rendered: Vec<String> =
        super::tables::render(&schema).into_iter().map(|(_, text)| text).collect();
    let rendered = rendered.concat();
    let row = rendered.split("pub static ORDINARY").nth(1).unwrap();
    let expected = "comparisons: &[(DataTypeSet::of(&[DataType::Float32, DataType::Float16]), \
                    Comparison::Ulp(2)), (DataTypeSet::of(&[DataType::Uint32, ";
    assert!(row.contains(expected), "{row}");
    assert_eq!(operator.comparisons.len(), 2);
    let [both, rest] = [0, 1].map(|at| operator.comparisons[at].0.0);
    assert_eq!((both & rest, both | rest), (0, 0x1fff));
}

#[test]
fn fast_numerics_allow_no_more_unless_the_row_says_so() {
    let rows = |text: &str| {
        let rendered = super::tables::render(&schema(&with(text)).unwrap()).into_iter();
        let rendered: String = rendered.map(|(_, text)| text).collect();
        rendered.split("pub static ORDINARY").nth(1).unwrap().to_owned()
    };
    assert!(rows(ORDINARY).contains("fast: FastComparison::AsExact"));
    let key = "comparison = \"bit-exact\"\n";
    let text = ORDINARY.replace(key, &format!("{key}fast = \"sums-of-products\"\n"));
    assert!(rows(&text).contains("fast: FastComparison::SumsOfProducts"));
    let wrong = refused(&ORDINARY.replace(key, &format!("{key}fast = \"any\"\n")));
    assert!(wrong.contains("sums-of-products"), "{wrong}");
}

#[test]
fn undocumented_types_are_no_types() {
    let text = EVERYTHING.replace("FLOAT32 int-8-32", "undocumented");
    let tables = generated_with(&text, MORE_TABLES);
    let line = "TensorSupport::new(\"ATensors\", RankSet::range(1, 8), DataTypeSet::NONE)";
    assert!(tables.contains(line));
    let found = refused(&EVERYTHING.replace("FLOAT32 int", "undocumented int"));
    assert!(found.contains("'undocumented' is not a data type"), "{found}");
}

/// The first row of the schema that a page shows, as the operator EXAMPLE.
fn shown(page: &str, name: &str, number: u32) -> Operator {
    let (_, row) = page.split_once("```toml\n").unwrap();
    let (row, _) = row.split_once("```").unwrap();
    let row = row.replace(&format!("[{name}"), "[EXAMPLE");
    operator(&row.replace(&format!("number = {number}"), "number = 902"), "EXAMPLE")
}

/// The examples are FILL_VALUE_CONSTANT, which may be in the schema already, and an operator that DirectML lacks.
#[test]
fn the_examples_of_documents_are_accepted() {
    let readme = include_str!("../../../crates/dml-core/schema/README.md");
    let example = shown(readme, "FILL_VALUE_CONSTANT", 103);
    assert_eq!((example.fields.len(), example.tables.len()), (3, 2));
    let page = include_str!("../../../docs/adding-an-operator.md");
    let example = shown(page, "RMS_NORMALIZATION", 900);
    assert_eq!((example.fields.len(), example.tables.len()), (6, 1));
}

#[test]
fn tables_cover_every_tensor() {
    let message = refused(&EVERYTHING.replace("\"*\"", "OutputTensor"));
    assert!(message.contains("EVERYTHING1: 6_4: ATensors has no support"), "{message}");
    for (types, ranks) in [("FLOAT16", "1-8"), ("FLOAT32 int-8-32", "4")] {
        let cell =
            format!("support.6_4.ATensors = {{ ranks = \"{ranks}\", types = \"{types}\" }}\n");
        let message = refused(&format!("{EVERYTHING}{cell}"));
        let wanted = "EVERYTHING1: 6_4: ATensors is like OutputTensor, whose cell differs";
        assert!(message.contains(wanted), "{message}");
    }
}

#[test]
fn operators_are_unique() {
    for (from, to) in [("900", "93"), ("EVERYTHING1", "DIAGONAL_MATRIX")] {
        let message = refused(&EVERYTHING.replace(from, to));
        assert!(message.starts_with(&format!("{MORE}:2: ")), "{message}");
        assert!(message.ends_with("in diagonal.toml"), "{message}");
    }
}

#[test]
fn every_type_of_field_is_generated() {
    let has = |file: &str, wanted: &[&str]| {
        let text = generated_with(EVERYTHING, file);
        wanted.iter().for_each(|line| assert!(text.contains(line), "{line}\nin\n{text}"));
    };
    has(
        "crates/dml-core/src/operators/tables/more.rs",
        &[
            "FieldType::TensorArray)\n            .with_count(\"InputCount\")",
            ".with_enumeration(&TENSOR_DATA_TYPE)",
            ".with_scalar_type(\"ValueDataType\")",
            ".optional_from(FeatureLevel::V6_4)",
            "check: rules::inputs_are_parts_of_output",
            ".with_type_of(\"OutputTensor\")\n            .with_sizes_of(\"OutputTensor\")",
        ],
    );
    has(
        "crates/dml-core/src/operators/tables.rs",
        &["    &EVERYTHING1,\n];", "mod more;", "pub use more::*;"],
    );
    has(
        "crates/dml-core/src/operators/descs/more.rs",
        &[
            "pub struct Everything1Desc {\n    /// Reads.\n    pub a_tensors: Vec<TensorDesc>,",
            "let input_count = count(&desc.a_tensors);",
            "pub value_data_type: DataType,",
            "FieldValue::Uint(desc.value_data_type.dml_value())",
            "FieldValue::OperatorDesc(desc.fused_activation.map(Box::new))",
            "pub activation_descs: Vec<AbstractOperator>,",
            "FieldValue::OperatorDescArray(desc.activation_descs)",
            "pub bias_tensor: Option<TensorDesc>,",
            "FieldValue::ScaleBias(Some(desc.scale_bias))",
            "pub scales: Vec<f32>,",
        ],
    );
    has(
        "crates/dml-capi/include/dmlvk/directml_types.h",
        &[
            "    UINT InputCount;",
            "    const DML_TENSOR_DESC *ATensors;",
            "    const DML_OPERATOR_DESC *ActivationDescs;",
            "    DML_TENSOR_DATA_TYPE ValueDataType;",
            "    DML_SCALAR_UNION Value;",
            "    BOOL Normalize;",
        ],
    );
}

#[test]
fn names_are_those_of_dml_core() {
    assert_eq!(DATA_TYPES.map(|it| it.0.to_owned()), DataType::ALL.map(|it| it.to_string()));
    assert_eq!(DATA_TYPES.map(|it| it.1.to_owned()), DataType::ALL.map(|it| format!("{it:?}")));
    assert_eq!(LEVELS.map(str::to_owned), FeatureLevel::ALL.map(|level| level.to_string()));
    assert_eq!(MAX_RANK, MAX_DIMENSION_COUNT);
    assert_eq!(Enumeration::of_data_types().table(), TENSOR_DATA_TYPE.name);
}

#[test]
fn comments_are_wrapped_and_keep_their_breaks() {
    assert_eq!(comment("one\n\ntwo", 0), "/// one\n///\n/// two\n");
    let wrapped = comment(&"word ".repeat(40), 4);
    assert!(wrapped.lines().all(|line| line.len() + 4 <= 100), "{wrapped}");
    assert_eq!(wrapped.matches("word").count(), 40);
}
