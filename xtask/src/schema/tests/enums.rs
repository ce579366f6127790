//! Enumerations, and the operators that hold them.

use super::{generated, here, with};
use crate::schema::resolve::schema;

const ENUMS: &str = "crates/dml-core/schema/enums.toml";

/// An enumeration that DirectML has not, and an operator that is not implemented and holds it.
const COLOUR: &str = "\n[colour-2d]\nsummary = \"which\"\nvalues = [\"RED\", \"DARK_BLUE\"]\n";
const COLOURED: &str = r#"
[COLOURED]
number = 904
summary = "holds an enumeration"
in_place = false
fields = [
    { name = "OutputTensor", kind = "output", type = "tensor" },
    { name = "Type", type = "uint", enum = "colour-2d" },
]
support.6_4."*" = { ranks = "1-8", types = "FLOAT32" }
"#;

#[test]
fn enumerations_are_generated_with_the_operators_that_hold_them() {
    let mut sources = with(COLOURED);
    sources.enums.text += COLOUR;
    let generated = generated(&sources);
    let has = |path: &str, wanted: &[&str]| {
        let file = generated.iter().find(|file| file.path.ends_with(path)).unwrap();
        wanted.iter().for_each(|line| assert!(file.text.contains(line), "{line}\n{}", file.text));
    };
    let variants = "    /// DML_COLOUR_2D_RED\n    Red = 0, \"RED\";\n    \
                    /// DML_COLOUR_2D_DARK_BLUE\n    DarkBlue = 1, \"DARK_BLUE\";\n";
    has("types/enums.rs", &["    /// DML_COLOUR_2D: which.\n", "    Colour2d,\n", variants]);
    has("schema/enums/tables.rs", &["values: &[(\"RED\", 0), (\"DARK_BLUE\", 1)]"]);
    has("operators/tables/more.rs", &[".with_enumeration(&COLOUR_2D)", "implemented: false"]);
    has(
        "operators/descs/more.rs",
        &[
            "use crate::types::enums::Colour2d;",
            "/// This runtime does not execute it yet.\n",
            "    /// DirectML's Type.\n    pub r#type: Colour2d,",
            "FieldValue::Uint(desc.r#type.dml_value())",
        ],
    );
    has(
        "directml_types.h",
        &[
            "typedef enum DML_COLOUR_2D {\n    DML_COLOUR_2D_RED = 0,\n",
            "    const DML_TENSOR_DESC *OutputTensor;\n    DML_COLOUR_2D Type;\n",
        ],
    );
}

#[test]
fn mistakes_in_enumerations_are_found_with_their_line() {
    let start = here().read().unwrap().enums.text.lines().count() + 1;
    let cases = [
        ("colour-2d", "Colour", 1, "Colour: is not a key; accepted: DirectML's name as"),
        ("colour-2d", "tensor-data-type", 1, "tensor-data-type: is there already"),
        ("colour-2d", "axis-direction", 1, "duplicate key"),
        ("summary", "text", 2, "unknown field `text`"),
        ("which", "", 1, "has no summary or no value"),
        ("\"RED\", \"DARK_BLUE\"", "", 1, "has no summary or no value"),
        ("DARK_BLUE", "RED", 3, "colour-2d: RED is there a second time"),
        ("RED", "Red", 3, "colour-2d: Red is not a value; accepted"),
    ];
    for (from, to, line, wanted) in cases {
        let mut sources = here().read().unwrap();
        sources.enums.text += &COLOUR.replacen(from, to, 1);
        let found = schema(&sources).unwrap_err().to_string();
        let place = format!("{ENUMS}:{}: ", start + line);
        assert!(found.starts_with(&place) && found.contains(wanted), "{from} -> {to}: {found}");
    }
}
